"""Names of the files git tracks, read from its index, and of those in its history."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from yohaku.agent.toolkit.ordinary_files import read_ordinary
from yohaku.agent.toolkit.secrets import holds_secrets

MAX_INDEX_BYTES = 64 * 1024 * 1024
HISTORY_SECONDS = 3
_HISTORY = (
    "--no-pager --no-optional-locks log --all --no-show-signature --format= --name-only --diff-filter=A --no-renames -z"
)
_MOVING_FILES = ("HEAD", "packed-refs", "FETCH_HEAD", "logs/HEAD", "logs/refs/stash", "refs/stash", "index")
"""Files in the folder of git that change when commits are added."""
_ENTRY_HEAD = 62
"""Bytes before the name of an entry."""


def read_tracked_names(folder: Path) -> tuple[str, ...] | None:
    """Return the files tracked by the repository of a folder; None where that cannot be told."""
    for parent in (folder, *folder.parents):
        index = _find_index(parent / ".git")
        if index:
            try:
                about = index.stat()
            except OSError:
                return ()  # a repository without a commit
            return _read_index(index, about.st_mtime_ns, about.st_size)
    return ()


def read_past_secrets(folder: Path) -> tuple[str, ...] | None:
    """Return the files with secrets that any commit ever added; None where that cannot be told in short time."""
    for parent in (folder, *folder.parents):
        if index := _find_index(parent / ".git"):
            places = [index.parent / name for name in _MOVING_FILES]
            return _search_history(parent, tuple(place.stat().st_mtime_ns if place.exists() else 0 for place in places))
    return ()


@lru_cache(8)
def _search_history(root: Path, state: tuple[int, ...]) -> tuple[str, ...] | None:
    """`state`: times that differ once there are other commits."""
    git = shutil.which("git")
    if git is None:
        return None
    nothing_else = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [git, *_HISTORY.split()], cwd=root, capture_output=True, timeout=HISTORY_SECONDS, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, **nothing_else},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return () if b"not a git repository" in done.stderr else None
    names = {os.fsdecode(name).strip("\n") for name in done.stdout.split(b"\0")}
    return tuple(sorted(name for name in names if name and holds_secrets(name)))


def _find_index(git: Path) -> Path | None:
    try:
        if git.is_file():  # a worktree or a submodule
            said = read_ordinary(git, 4096).decode("utf-8", "replace").removeprefix("gitdir:").strip()
            return git.parent / said / "index"
        return git / "index" if git.is_dir() else None
    except (OSError, ValueError):
        return None


@lru_cache(4)
def _read_index(path: Path, modified: int, size: int) -> tuple[str, ...] | None:
    if size > MAX_INDEX_BYTES:
        return None
    try:
        return tuple(_parse_index(read_ordinary(path)))
    except (OSError, ValueError, IndexError):
        return None


def _parse_index(data: bytes) -> list[str]:
    if data[:4] != b"DIRC":
        raise ValueError("not an index")
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4) or count * _ENTRY_HEAD > len(data):
        raise ValueError("unknown version")
    names: list[str] = []
    at, before = 12, b""
    for _ in range(count):
        start = at
        extended = version >= 3 and bool(data[at + 60] & 0x40)
        at += _ENTRY_HEAD + 2 * extended
        kept = b""
        if version == 4:
            dropped, at = _read_number(data, at)
            kept = before[: len(before) - dropped]
        end = data.index(b"\0", at)
        before = kept + data[at:end]
        names.append(before.decode("utf-8", "replace"))
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
    return names


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length and the place after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | data[at] & 0x7F
    return value, at + 1
