"""Branch and number of changed files of a git repository, for a panel.

Law: nothing of the repository is written, not even the index that `git status` would refresh.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit.ordinary_files import read_ordinary

TIMEOUT_SECONDS = 3
MAX_FILE_BYTES = 4096


class GitStatus(NamedTuple):
    branch: str
    """Name of the branch, or the first letters of a commit."""
    changed: int | None
    """Files that differ from the last commit, new ones included; None where that cannot be told."""


def read_git_status(root: Path) -> GitStatus | None:
    """Return the status of the repository around a folder; None outside of one."""
    for folder in (root, *root.parents):
        if branch := _read_branch(folder / ".git"):
            return GitStatus(branch, _count_changed(root))
    return None


def _read_branch(git: Path) -> str:
    try:
        if git.is_file():  # a worktree or a submodule
            git = git.parent / _read_text(git).removeprefix("gitdir:").strip()
        head = _read_text(git / "HEAD").strip()
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]


def _read_text(path: Path) -> str:
    """Return the beginning of a small file of git; `OSError` for a pipe or a device."""
    return read_ordinary(path, MAX_FILE_BYTES).decode("utf-8", "replace")


def _count_changed(root: Path) -> int | None:
    git = shutil.which("git")
    if git is None:
        return None
    words = [git, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--no-renames"]
    try:
        done = subprocess.run(
            words, cwd=root, capture_output=True, timeout=TIMEOUT_SECONDS, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.count(b"\0") if done.returncode == 0 else None
