"""Random changes, by tools and by commands, with kills in between: an undo brings every file back byte for byte."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.file_history import worker
from yohaku.agent.file_history.file_history import FileHistory

SEQUENCES = int(os.environ.get("YOHAKU_UNDO_SEQUENCES", "6"))
WORKER = Path(worker.__file__)


def tree(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """Every path with its mode and its bytes, the target of a link for a link."""
    found: dict[bytes, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            found[os.fsencode(path)] = 0, os.fsencode(os.readlink(path))  # noqa: PTH115
        else:
            found[os.fsencode(path)] = about.st_mode, path.read_bytes() if path.is_file() else b""
    return found


def run_worker(chance: random.Random, data: Path, root: Path, what: str, *, kill: bool) -> None:
    words = [sys.executable, str(WORKER), str(data), str(root), what, str(chance.randrange(10**9))]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    if kill:
        time.sleep(chance.random() * 0.15)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash and POSIX modes")
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_whatever_was_done_and_killed_every_file_comes_back(tmp_path: Path, seed: int) -> None:
    root, data, chance = tmp_path / "project", tmp_path / "data", random.Random(seed)
    root.mkdir()
    worker.make_project(root, seed)
    before = tree(root)
    FileHistory(data, root).prepare()
    for _ in range(3):
        run_worker(chance, data, root, "work", kill=chance.random() < 0.6)
    run_worker(chance, data, root, "undo", kill=chance.random() < 0.6)
    history = FileHistory(data, root)
    while (plan := history.plan_undo()).changes:
        assert plan.touched == plan.impossible == ()
        assert history.undo(plan) == []
    history.close()
    assert tree(root) == before
