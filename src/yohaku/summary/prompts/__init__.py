"""What is said to a model that is asked: one text a file, so that each can be read, changed and tried by itself."""
