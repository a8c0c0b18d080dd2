"""`yohaku undo --files` after `yohaku -p`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agent.fakes import FakeServer, spoken

from yohaku.cli import main

REMOVE = ("bash", {"command": "rm a.txt; mkdir made; echo x > made/b.txt"})


@pytest.fixture
def done(serve: Callable[..., FakeServer], project: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    (project / "a.txt").write_text("a\n")
    server = serve(spoken("openai_chat", calls=[REMOVE]), spoken("openai_chat", "Removed."))
    assert main.main(["--model", f"{server.url}/v1#m", "-p", "remove it", "--yolo"]) == 0
    capfd.readouterr()
    assert not (project / "a.txt").exists()
    return project


def test_a_dry_run_lists_and_leaves_everything(done: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.main(["undo", "--files", "--dry-run"]) == 0
    said = capfd.readouterr().out.splitlines()
    assert said[0] == "This would be taken back:" and said[1].endswith("rm a.txt; mkdir made; echo x > made/b.txt")
    assert said[2:] == ["  comes back  a.txt  +1 −0", "  is deleted  made/", "  is deleted  made/b.txt  +0 −1"]
    assert not (done / "a.txt").exists()


def test_without_a_yes_nothing_is_done_where_nobody_can_be_asked(done: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.main(["undo", "--files"]) == 2
    assert capfd.readouterr().err == "yohaku: nothing was changed: add --yes to do it\n"
    assert not (done / "a.txt").exists()


def test_with_yes_it_is_taken_back_and_then_there_is_nothing_more(
    done: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["undo", "--files", "--yes"]) == 0
    assert sorted(path.name for path in done.iterdir()) == ["a.txt"]
    capfd.readouterr()
    assert main.main(["undo", "--files", "--yes"]) == 0
    assert capfd.readouterr().out == "no change of files in this folder can be taken back\n"


def test_what_somebody_else_changed_is_left_and_is_exit_1(done: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (done / "made" / "b.txt").write_text("theirs")
    assert main.main(["undo", "--files", "--yes"]) == 1
    assert "Left as it is, changed since by somebody else: made/b.txt" in capfd.readouterr().out
    assert (done / "made" / "b.txt").read_text() == "theirs" and (done / "a.txt").exists()


@pytest.mark.parametrize("flags", [["--files", "--session", "x"], ["--dry-run"], ["--yes"], ["--overwrite"]])
def test_flags_that_do_not_go_together_are_misuse(project: Path, flags: list[str]) -> None:
    assert main.main(["undo", *flags]) == 2
