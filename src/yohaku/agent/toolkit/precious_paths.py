"""Paths whose loss nobody gets over: a home, the root, system folders, disks, the project and the folders around it.

Law: a path is judged after links are resolved, as the kernel would; a wildcard counts for all it could match.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

from yohaku.agent.toolkit.bash_wildcards import compile_wildcards
from yohaku.agent.toolkit.dry_run.shell_state import normalize
from yohaku.agent.toolkit.dry_run.values import (
    ANY,
    CLOSE,
    OPEN,
    QUESTION,
    SOME,
    SOMEWHERE,
    STAR,
    has_wildcard,
    show_value,
)


class PathWorth(IntEnum):
    ORDINARY = 0
    UNKNOWN = 1
    """In a variable that cannot be read beforehand."""
    PROJECT = 2
    """The project as a whole, or its history."""
    HOME = 3
    """A home, a system folder, a disk, or a folder around the project."""


HOME_FOLDERS = frozenset(
    "Desktop Documents Downloads Pictures Music Videos Movies Public Library Applications Dropbox OneDrive "
    "デスクトップ ドキュメント 書類 ダウンロード ピクチャ ミュージック ビデオ".split()
)
"""Folders of a home in which people keep their own things."""
_HOMES = re.compile(r"/(?:home|Users|export/home|var/home)/[^/]+$|/(?:root|var/root)$")
_MOUNTS = re.compile(r"/(?:mnt|media|Volumes)/[^/]+$|/(?:run/)?media/[^/]+/[^/]+$")
_TEMPORARY = frozenset(("/tmp", "/private/tmp", "/var/tmp", "/private/var/tmp"))
_BRACKET = re.compile(f"{OPEN}[^{CLOSE}/]*{CLOSE}")
_SELF = re.compile(r"(?:^|/)\.{1,2}/*$|/$")


class PreciousPaths:
    def __init__(self, root: str, home: str) -> None:
        self.root, self.home = normalize(root), normalize(home)
        self._around = {"/", *_with_parents(self.home), *_with_parents(self.root)} - {self.root}
        if self.root in _with_parents(self.home):
            self._around.add(self.root)

    def worth(self, word: str, folders: tuple[str, ...], *, follow: bool = False) -> PathWorth:
        """Judge what a program that deletes is given; `follow`: a link counts as what it leads to."""
        if word.startswith(ANY):
            return PathWorth.UNKNOWN
        found = PathWorth.ORDINARY
        for folder in folders:
            for path in _readings(word if word.startswith("/") else f"{folder}/{word}"):
                found = max(found, self._worth_of(path, follow or bool(_SELF.search(word))))
        return found

    def _worth_of(self, path: str, follow: bool) -> PathWorth:
        head, _, last = path.rstrip("/").rpartition("/")
        if has_wildcard(last) and _takes_everything(last):
            path, follow = head or "/", True
        if SOMEWHERE in path:
            return PathWorth.UNKNOWN if normalize(path) == SOMEWHERE or "/.." in path else PathWorth.ORDINARY
        if has_wildcard(path):
            return self._worth_of_pattern(normalize(path))
        return max(self._worth_of_literal(each) for each in _resolve(path, follow))

    def _worth_of_literal(self, path: str) -> PathWorth:
        if path in self._around or _HOMES.match(path) or _MOUNTS.match(path):
            return PathWorth.HOME
        if path.count("/") == 1 and path not in _TEMPORARY and path != self.root:
            return PathWorth.HOME
        if path.startswith(f"{self.home}/") and path.removeprefix(f"{self.home}/") in HOME_FOLDERS:
            return PathWorth.HOME
        if path in (self.root, f"{self.root}/.git"):
            return PathWorth.PROJECT
        return PathWorth.HOME if SOME not in path and _is_mount(path) else PathWorth.ORDINARY

    def _worth_of_pattern(self, path: str) -> PathWorth:
        """Judge a path with wildcards in the middle, or that match a part of a name."""
        patterns = [compile_wildcards(segment) for segment in path.split("/")]

        def matches(other: str) -> bool:
            names = other.split("/")
            return len(names) == len(patterns) and all(map(re.Pattern.fullmatch, patterns, names))

        if any(map(matches, self._around)) or (path.count("/") == 2 and re.match(r"/(?:home|Users)/", path)):
            return PathWorth.HOME
        return PathWorth.PROJECT if matches(self.root) or matches(f"{self.root}/.git") else PathWorth.ORDINARY


def _with_parents(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        yield path
        path = path.rpartition("/")[0]


def _readings(path: str) -> Iterator[str]:
    """Yield a path as it would be if what is unknown in it were empty, and if it were some name."""
    yield path.replace(ANY, SOME)
    if ANY in path:
        yield path.replace(ANY, "")


def _takes_everything(name: str) -> bool:
    """Return whether a wildcard names no file in particular: `*`, `.*`, `[!.]*`, `*.*`."""
    return not _BRACKET.sub("", name).translate({ord(mark): None for mark in (STAR, QUESTION, OPEN, CLOSE)}).strip(".")


def _resolve(path: str, follow: bool) -> set[str]:
    """Return a path as it is written, and as the kernel finds it: `a/..` may be elsewhere if `a` is a link."""
    written = normalize(path)
    if SOME in path or "\0" in path:
        return {written}
    head, _, last = path.rstrip("/").rpartition("/")
    try:
        real = Path(show_value(path)).resolve() if follow else Path(show_value(head or "/")).resolve() / last
        return {written, normalize(str(real))}
    except (OSError, RuntimeError, ValueError):
        return {written}


def _is_mount(path: str) -> bool:
    try:
        return os.path.ismount(path) and not path.startswith(("/tmp/", "/var/tmp/", "/dev/shm", "/proc/", "/sys/"))
    except (OSError, ValueError):
        return False
