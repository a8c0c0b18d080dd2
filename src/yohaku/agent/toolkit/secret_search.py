"""Searches below folders (`grep -r`, `rg`, `diff`): whether they would read secrets, or leave the project by a link.

Law: at least the files that the program would read are looked at; where they are too many the answer is yes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit import program_rules
from yohaku.agent.toolkit.project_files import walk_files
from yohaku.agent.toolkit.secrets import holds_secrets

MAX_WALKED_FILES = 30_000
_PUBLIC_KEYS = frozenset("cacert.pem ca-bundle.pem ca-certificates.pem".split())
"""Lists of certificates that come with packages."""


class FolderSearch(NamedTuple):
    hidden: bool
    """Whether hidden and ignored files are read."""
    follow: bool
    """Whether links are entered."""
    included: tuple[str, ...] = ()
    """Patterns of names, one of which must match; empty: all files."""
    excluded: tuple[str, ...] = ()
    """Patterns of folders that are left out."""

    @classmethod
    def from_words(cls, words: list[str]) -> FolderSearch:
        included = tuple(word.partition("=")[2] for word in words if word.startswith("--include="))
        excluded = tuple(word.partition("=")[2].rstrip("/") for word in words if word.startswith("--exclude-dir="))
        simple = not any("[" in pattern or "\\" in pattern for pattern in (*included, *excluded))
        return cls(
            program_rules.reads_hidden(words),
            program_rules.follows_links(words),
            included if simple else (),
            excluded if simple else (),
        )

    def meets_secrets(self, top: Path, root: Path) -> bool:
        heeds_git = not self.hidden and not self.follow and (root / ".git").exists()
        heeds_git = heeds_git and not any((root / name).exists() for name in (".ignore", ".rgignore"))
        files = self._walk_unignored(top, root) if heeds_git else self._walk(top)
        for number, entry in enumerate(files):
            if number > MAX_WALKED_FILES:
                return True
            if entry.is_symlink() and not _stays_inside(entry.path, root):
                return True
            chosen = not self.included or any(fnmatchcase(entry.name, pattern) for pattern in self.included)
            if chosen and holds_secrets(entry.path) and entry.name not in _PUBLIC_KEYS:
                return True
        return False

    def _walk_unignored(self, top: Path, root: Path) -> Iterator[os.DirEntry[str]]:
        for found in walk_files(top.resolve(), root, skipped=frozenset((".git",))):
            if not found.entry.is_symlink() and not any(part.startswith(".") for part in found.parts):
                yield found.entry

    def _walk(self, top: Path) -> Iterator[os.DirEntry[str]]:
        """Yield all files, and links where they are followed."""
        waiting = [str(top.resolve())]
        while waiting:
            try:
                with os.scandir(waiting.pop()) as scanned:
                    entries = list(scanned)
            except OSError:  # deleted, or not readable
                continue
            for entry in entries:
                if entry.name.startswith(".") and not self.hidden:
                    continue
                if entry.is_symlink():
                    if self.follow:
                        yield entry
                elif not entry.is_dir():
                    yield entry
                elif not any(fnmatchcase(entry.name, pattern) for pattern in self.excluded):
                    waiting.append(entry.path)


def _stays_inside(path: str, root: Path) -> bool:
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError):  # a loop
        return True
    return real.is_relative_to(root) and not holds_secrets(str(real))
