"""Asks once more, when an answer could not be used."""

REPAIR = """\
Your last answer could not be used: {reason}. Answer again, with real content from the record above."""
