"""How a file is touched by a call."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

AccessKind: TypeAlias = Literal["read", "created", "modified", "deleted"]
LineRange: TypeAlias = tuple[int, int]
"""First and last, from 1; a last of -1 is the end of the file."""


class FileAccess(NamedTuple):
    path: str
    how: AccessKind
    lines: LineRange | None = None
    """The lines that were read, where not all were."""
    ok: bool = True


def clean_path(path: str) -> str:
    """A path as it was said, without what says nothing."""
    path = path.strip().rstrip("/") or "/"
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path or "."
