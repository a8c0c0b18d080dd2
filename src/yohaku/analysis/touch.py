"""How a file is touched by a call."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

How: TypeAlias = Literal["read", "created", "modified", "deleted"]
Lines: TypeAlias = tuple[int, int]
"""First and last, from 1; a last of -1 is the end of the file."""


class FileAccess(NamedTuple):
    path: str
    how: How
    lines: Lines | None = None
    """The lines that were read, where not all were."""
    ok: bool = True


def clean(path: str) -> str:
    """A path as it was said, without what says nothing."""
    path = path.strip().rstrip("/") or "/"
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path or "."
