"""Files of the project for `@`, found by the letters of their paths in order.

Law: the walk is bounded, and leaves out what git ignores.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

MAX_FILES = 20_000
"""Files looked at."""
MAX_SHOWN = 30
_MENTION = re.compile(r"(?<![\w.@-])@(\S*)$", re.ASCII)
"""Japanese has no space before it; an address as me@example.org is none."""


def mention_before(text: str) -> str | None:
    """Return what was typed after the `@` at the end of a text; None where there is none."""
    found = _MENTION.search(text)
    return found[1] if found else None


def list_files(root: Path) -> list[str]:
    from yohaku.agent.toolkit.project_files import walk_files

    return [file.name for file in islice(walk_files(root, root), MAX_FILES)]


def match_files(names: list[str], typed: str) -> list[str]:
    """Return the paths that hold the letters in order, the best first."""
    wanted = typed.lower()
    scored = sorted((score, len(name), name) for name in names if (score := _score(name.lower(), wanted)) is not None)
    return [name for _, _, name in scored[:MAX_SHOWN]]


def _score(name: str, wanted: str) -> int | None:
    """Return how far apart the letters lie; a file whose own name holds them together comes first."""
    own = name.rpartition("/")[2]
    if own.startswith(wanted):
        return 0
    if wanted in own:
        return 1
    if wanted in name:
        return 2
    at, gaps = -1, 0
    for letter in wanted:
        found = name.find(letter, at + 1)
        if found < 0:
            return None
        gaps += found - at - 1 if at >= 0 else 0
        at = found
    return 3 + gaps
