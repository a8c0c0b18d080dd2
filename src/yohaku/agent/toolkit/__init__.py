"""Everything tools share: files, texts, patterns, permissions, and the budget of their output."""
