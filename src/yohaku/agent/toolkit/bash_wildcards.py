"""Wildcards of bash: the files a pattern may match.

Law: all that bash would match is found, whatever its options and the locale; sometimes more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from yohaku.agent.toolkit.dry_run.values import CLOSE, OPEN, QUESTION, SOME, STAR, has_wildcard, unmark

MAX_ENTRIES = 5_000
"""Names of files compared with one pattern."""

_SIMPLE_BRACKET = re.compile(f"{OPEN}[!^]?[A-Za-z0-9_,@%+-]+{CLOSE}")
_FROM_BRACKET = re.compile(f"[{OPEN}{CLOSE}].*", re.DOTALL)
_MARKS = re.compile(f"([{STAR}{QUESTION}{SOME}\\ue020\\ue021])")
_MEANINGS = {STAR: ".*", QUESTION: ".", SOME: ".+", "\ue020": ".", "\ue021": ".*"}


@lru_cache(256)
def compile_wildcards(name: str) -> re.Pattern[str]:
    """Compile one segment of a path. `[…]` stands for any character; where one is not simple, for all that follows."""
    simple = _SIMPLE_BRACKET.sub("\ue020", name)
    name = _FROM_BRACKET.sub("\ue021", name if OPEN in simple or CLOSE in simple else simple)
    return re.compile(
        "".join(_MEANINGS.get(part, re.escape(part)) for part in _MARKS.split(name)), re.DOTALL | re.IGNORECASE
    )


def match_files(folder: Path, pattern: str, environ: Mapping[str, str]) -> list[Path] | None:
    """Return the paths a marked pattern may stand for, itself included; None where they are too many."""
    hidden = "dotglob" in environ.get("BASHOPTS", "") or bool(environ.get("GLOBIGNORE"))
    found = [Path("/") if pattern.startswith("/") else folder]
    seen = 0
    for segment in pattern.split("/"):
        if not has_wildcard(segment):
            found = [path / segment for path in found if segment] or found
            continue
        matches = compile_wildcards(segment).fullmatch
        deeper: list[Path] = []
        for path in found:
            try:
                names = [entry.name for entry in path.iterdir()]
            except OSError:
                continue
            seen += len(names)
            if seen > MAX_ENTRIES:
                return None
            with_hidden = hidden or segment[0] not in (STAR, QUESTION)
            deeper += [path / name for name in names if matches(name) and (with_hidden or name[0] != ".")]
            deeper += [path / dots for dots in (".", "..") if with_hidden and matches(dots)]
        found = deeper
    return [folder / unmark(pattern), *found]
