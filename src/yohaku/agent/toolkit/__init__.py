"""What tools work with: files, texts, patterns, permissions, and the room there is for what they give."""
