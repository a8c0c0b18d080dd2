"""Patterns of paths: `*`, `?`, `[…]`, `{a,b}`, and `**` for any folders, as shells and .gitignore write them.

Law: a pattern, whoever wrote it, is matched segment by segment, in time that grows with it and not beyond.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple, TypeAlias

PathMatcher: TypeAlias = Callable[[Sequence[str]], bool]
"""Of a path, as its segments."""

MAX_BRACE_EXPANSIONS = 64
"""Ways a pattern with braces can be read."""


@lru_cache(256)
def compile_glob(pattern: str) -> PathMatcher:
    """A pattern without a slash is looked for in every folder."""
    ways = [_compile_one(way) for way in _expand_braces(pattern)]
    return ways[0] if len(ways) == 1 else lambda path: any(way(path) for way in ways)


def _compile_one(pattern: str) -> PathMatcher:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if len(parts) == 1 and parts[0] != "**":
        parts = ["**", *parts]
    segments = [None if part == "**" else _compile_segment(part) for part in parts]
    if len(segments) == 2 and segments[0] is None and segments[1] is not None:
        name = segments[1]
        return lambda path: bool(path) and name(path[-1]) is not None
    return lambda path: _match_segments(segments, path)


def _match_segments(segments: Sequence[Callable[[str], object] | None], path: Sequence[str]) -> bool:
    """Where in the path each segment of the pattern can end, one after the other."""
    reach = {0}
    for segment in segments:
        if segment is None:
            reach = set(range(min(reach), len(path) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(path) and segment(path[at]) is not None}
    return len(path) in reach


@lru_cache(1024)
def _compile_segment(part: str) -> Callable[[str], object]:
    return re.compile(translate(re.sub(r"\\(.)", r"[\1]", part))).match


def _expand_braces(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= MAX_BRACE_EXPANSIONS:
        way = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", way)
        if found:
            waiting += [way[: found.start()] + choice + way[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(way)
    return done + waiting


class IgnoreRule(NamedTuple):
    """A line of a .gitignore."""

    matches: PathMatcher
    keeps: bool
    """Begins with `!`: what it names is not ignored after all."""
    folders: bool


def parse_gitignore(text: str) -> list[IgnoreRule]:
    """The last one first: it decides."""
    found: list[IgnoreRule] = []
    for line in text.splitlines()[:5_000]:
        said = line.rstrip() if not line.endswith("\\ ") else line
        if not said or said.startswith("#") or len(said) > 1_000:
            continue
        keeps = said.startswith("!")
        said = said[keeps:]
        folders = said.endswith("/")
        said = said.rstrip("/")
        anchored = "/" in said
        said = said.lstrip("/")
        if not said:
            continue
        inside = said + "/*" if said.endswith("**") and said != "**" else said
        found.append(IgnoreRule(_compile_anchored(inside) if anchored else compile_glob(inside), keeps, folders))
    return found[::-1]


def _compile_anchored(pattern: str) -> PathMatcher:
    if "/" in pattern:
        return compile_glob(pattern)
    segment = _compile_segment(pattern)
    return lambda path: len(path) == 1 and segment(path[0]) is not None
