"""Path patterns as in shells and .gitignore: `*`, `?`, `[…]`, and `**` for any folders; `{a,b}` in shells only.

Law: a pattern is matched segment by segment, in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple, TypeAlias

PathMatcher: TypeAlias = Callable[[Sequence[str]], bool]
"""Tests a path, given as its segments."""

MAX_BRACE_EXPANSIONS = 64


@lru_cache(256)
def compile_glob(pattern: str, *, braces: bool = True) -> PathMatcher:
    """Compile a pattern; one without a slash matches in every folder. `braces`: `{a,b}` means one of them."""
    ways = [_compile_one(way) for way in (_expand_braces(pattern) if braces else [pattern])]
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
    """Follow the set of positions each segment of the pattern can reach."""
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
    """Whether it begins with `!` and takes files back."""
    folders: bool


def parse_gitignore(text: str) -> list[IgnoreRule]:
    """Return the rules of a .gitignore, the last first: it decides."""
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
        matches = _compile_anchored(inside) if anchored else compile_glob(inside, braces=False)
        found.append(IgnoreRule(matches, keeps, folders))
    return found[::-1]


def _compile_anchored(pattern: str) -> PathMatcher:
    if "/" in pattern:
        return compile_glob(pattern, braces=False)
    segment = _compile_segment(pattern)
    return lambda path: len(path) == 1 and segment(path[0]) is not None
