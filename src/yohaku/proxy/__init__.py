"""The proxy: stands between an unmodified client and any upstream, and keeps each request inside the window.

`routes` says what a path asks for; `fitting` folds a body; `upstream` relays bytes; `app` puts them together.
"""
