"""Asks for the lines that should be kept as they are, beside the summary."""

RETAIN = """\
Before the summary, list what has to be kept to the letter: requirements and preferences of the user, decisions, \
names, values and error lines that later work depends on. One per line, as they stand in the record."""
