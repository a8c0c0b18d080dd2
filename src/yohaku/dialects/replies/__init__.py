"""Replies for a client in its own dialect, from the answer of a server that speaks another. One dialect a file."""
