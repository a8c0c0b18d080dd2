"""One pass a file. A pass looks at a view and proposes folds; it changes nothing."""
