"""Talking with a server: a body out, a reply heard as it comes, and what goes wrong on the way."""
