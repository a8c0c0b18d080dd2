"""Taking back where folders and files may not be read or written; root, who may do everything, becomes nobody."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from yohaku.agent.file_history.file_history import FileHistory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
NOBODY = 65534


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def as_nobody(work: Callable[[], None]) -> None:
    """Do it in a process without the rights of root."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    "command",
    [
        "echo 2 > s/c; chmod 500 s",
        "chmod 700 ro; echo 2 > ro/d; chmod 500 ro",
        "rm s/c; chmod 500 s",
        "chmod 000 s",
        "rm a; chmod 500 .",
        "chmod 000 a; mv a z",
        "mv secret shown; mv other secret",
    ],
)
def test_modes_stand_in_the_way_of_no_undo(home: Path, command: str) -> None:
    def work() -> None:
        root = home / "project"
        for name in ("a", "s/c", "ro/d", "secret", "other"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
        for name in ("secret", "other"):
            (root / name).chmod(0)
        (root / "ro").chmod(0o500)
        numbers = {name: (root / name).stat().st_ino for name in ("secret", "other")}
        before = modes(root)
        history = FileHistory(home / "data", root)
        change = history.begin(command)
        subprocess.run(["/bin/sh", "-c", command], cwd=root, check=True)
        history.end(change)
        assert history.undo(history.plan_undo()) == []
        root.chmod(0o700)
        assert modes(root) == before
        assert numbers == {name: (root / name).stat().st_ino for name in numbers}
        assert [(root / name).read_text() for name in ("a", "s/c", "ro/d")] == ["a", "s/c", "ro/d"]

    as_nobody(work)


def modes(root: Path) -> dict[str, int]:
    return {str(path): stat.S_IMODE(path.lstat().st_mode) for path in sorted(root.rglob("*"))}
