"""Files of a project, without .git, ignored files and virtual environments.

Law: the walk never leaves its folder, neither through a link nor through a name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit.globs import IgnoreRule, parse_gitignore
from yohaku.agent.toolkit.ordinary_files import open_ordinary, show_name

SKIPPED_NAMES = frozenset(
    ".git .hg .svn node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache .tox .nox .eggs .DS_Store".split()
)


class ProjectFile(NamedTuple):
    parts: tuple[str, ...]
    """Path from the start of the walk."""
    entry: os.DirEntry[str]

    @property
    def name(self) -> str:
        return show_name("/".join(self.parts))


class _Folder(NamedTuple):
    path: Path
    parts: tuple[str, ...]
    rules: tuple[tuple[int, list[IgnoreRule]], ...]
    """Rules of each .gitignore, the nearest first, with its depth below the start of the walk; negative above it."""


def walk_files(
    top: Path,
    root: Path,
    *,
    skipped: frozenset[str] = SKIPPED_NAMES,
    every_kind: bool = False,
    on_left_out: Callable[[ProjectFile], None] = lambda file: None,
) -> Iterator[ProjectFile]:
    """Yield files below `top`, folder by folder, sorted. Links to files are included, links to folders not entered.

    `skipped`: names left out beside those that git ignores; with others than usual, virtual environments are not.
    `every_kind`: folders and links to anything are yielded too. `on_left_out` is called with what is left out.
    """
    above, base = _read_rules_above(top, root)
    waiting = [_Folder(top, (), above)]
    while waiting:
        folder = waiting.pop()
        ruled = folder.rules
        try:
            with os.scandir(folder.path) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError:  # deleted, or not readable
            continue
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names and folder.parts and skipped is SKIPPED_NAMES:
            for entry in entries:
                on_left_out(ProjectFile((*folder.parts, entry.name), entry))
            continue
        if ".gitignore" in names and base is not None:
            ruled = ((len(folder.parts), _read_rules(folder.path)), *ruled)
        below: list[_Folder] = []
        for entry in entries:
            parts = (*folder.parts, entry.name)
            into = entry.is_dir(follow_symlinks=False)
            if entry.name in skipped or _is_ignored((*(base or ()), *parts), into, ruled, len(base or ())):
                on_left_out(ProjectFile(parts, entry))
                continue
            if into:
                below.append(_Folder(folder.path / entry.name, parts, ruled))
            if every_kind or (not into and (not entry.is_symlink() or _links_to_file(entry))):
                yield ProjectFile(parts, entry)
        waiting += reversed(below)


def is_left_out(path: Path, root: Path) -> bool:
    """Return whether a walk through the project leaves this path out; it need not be there."""
    rules, base = _read_rules_above(path.parent, root)
    if base is None:
        return True
    if (path.parent / ".gitignore").is_file():
        rules = ((0, _read_rules(path.parent)), *rules)
    return path.name in SKIPPED_NAMES or _is_ignored((*base, path.name), path.is_dir(), rules, len(base))


def _links_to_file(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_file()
    except OSError:  # a loop, or not readable
        return False


def _read_rules_above(top: Path, root: Path) -> tuple[tuple[tuple[int, list[IgnoreRule]], ...], tuple[str, ...] | None]:
    """Return the rules of folders from the project down to `top`, and its parts; None if `top` itself is ignored."""
    if not top.is_relative_to(root):
        return (), ()
    parts = top.relative_to(root).parts
    found: tuple[tuple[int, list[IgnoreRule]], ...] = ()
    for depth in range(len(parts)):
        folder = root.joinpath(*parts[:depth])
        if (folder / ".gitignore").is_file():
            found = ((depth - len(parts), _read_rules(folder)), *found)
        if _is_ignored(parts[: depth + 1], True, found, len(parts)) or parts[depth] in SKIPPED_NAMES:
            return (), None
    return found, parts


def _is_ignored(
    whole: tuple[str, ...], folder: bool, ruled: tuple[tuple[int, list[IgnoreRule]], ...], offset: int
) -> bool:
    """`whole`: path from the project on; depths count from `offset` parts below it."""
    for depth, lines in ruled:
        path = whole[depth + offset :]
        for rule in lines:
            if (folder or not rule.folders) and rule.matches(path):
                return not rule.keeps
    return False


def _read_rules(folder: Path) -> list[IgnoreRule]:
    try:
        with open_ordinary(folder / ".gitignore", follow=False) as file:  # git follows no link there either
            return parse_gitignore(file.read(200_000).decode("utf-8", "replace"))
    except OSError:
        return []
