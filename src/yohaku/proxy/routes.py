"""Recognise a request by its path: which dialect it is in, and whether its conversation must be fitted."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from yohaku import dialects


class Route(NamedTuple):
    dialect: str
    counts: bool
    """Asks for a token count instead of a reply."""
    model: str | None
    """From the path, where the dialect puts it there; otherwise it is in the body."""


def find_route(method: str, path: str) -> Route | None:
    """Return the route of a path, without its query; None for paths that are passed through."""
    if method != "POST":
        return None
    for name, counts, pattern in _patterns():
        if found := pattern.search(path):
            return Route(name, counts, unquote(found["model"]) if "model" in pattern.groupindex else None)
    return None


@cache
def _patterns() -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    found = []
    for name, dialect in dialects.DIALECTS.items():
        found += [(name, True, _pattern(path)) for path in dialect.proxied_count_paths]
        found += [(name, False, _pattern(path)) for path in dialect.proxied_paths]
    return tuple(found)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.escape(path).replace(r"\{model\}", r"(?P<model>[^/]+)") + "$")
