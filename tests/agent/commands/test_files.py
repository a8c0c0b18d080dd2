"""/undo, /redo and /diff for files, as a user meets them."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.agent.commands.test_slash_commands import Desk
from tests.tui.fake import FakeAgent, begins
from yohaku.agent.commands.slash_commands import run_command
from yohaku.agent.file_history import file_state
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.session.session import Session


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\n")
    agent = FakeAgent(root=root)
    agent.file_history = FileHistory(tmp_path / "data", root)
    return Desk(begins(tmp_path / "data", agent), agent)


def do(desk: Desk, command: str) -> Path:
    assert desk.agent
    change = desk.agent.file_history.begin(command)
    subprocess.run(["bash", "-c", command], cwd=desk.agent.root, check=True)
    desk.agent.file_history.end(change)
    return desk.agent.root


def run(desk: Desk, typed: str) -> str:
    return asyncio.run(run_command(desk, typed)).text


def test_undo_shows_what_it_would_do_and_does_it_after_a_yes(desk: Desk) -> None:
    root = do(desk, "sed -i s/two/2/ a.py; touch new")
    desk.answers = ["Yes"]
    assert run(desk, "/undo") == "Taken back: 2 files. /redo does it again."
    (shown,) = desk.shown
    assert "sed -i s/two/2/ a.py; touch new" in shown
    assert "changes     a.py  +1 −1" in shown and "is deleted  new" in shown
    assert (root / "a.py").read_text() == "one\ntwo\n" and not (root / "new").exists()
    desk.answers = ["Yes"]
    assert run(desk, "/redo") == "Done again: 2 files." and (root / "new").exists()


def test_undo_tells_what_is_of_another_session_or_was_broken_off(desk: Desk, tmp_path: Path) -> None:
    assert desk.agent
    root = desk.agent.root
    other = FileHistory(tmp_path / "data", root)
    change = other.begin("echo 1 > a.py")
    (root / "a.py").write_text("1")
    other._database().mark_broken(change)
    other.end(change)
    desk.answers = ["No, leave everything"]
    run(desk, "/undo")
    assert (
        "echo 1 > a.py  (another session)  (broken off: what you changed before the next start counts" in desk.shown[0]
    )


def test_undo_tells_what_is_moved_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.agent
    (desk.agent.root / "big").write_bytes(b"x" * 200)
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 100)
    root = do(desk, "mv big moved")
    desk.answers = ["Yes"]
    assert run(desk, "/undo").startswith("Taken back: ") and (root / "big").exists()
    assert "moves back  moved to big" in desk.shown[0] and "is deleted" not in desk.shown[0]


def test_undo_without_a_yes_changes_nothing(desk: Desk) -> None:
    root = do(desk, "rm a.py")
    assert run(desk, "/undo") == "Nothing was changed." and not (root / "a.py").exists()


def test_undo_asks_about_files_that_somebody_else_changed(desk: Desk) -> None:
    root = do(desk, "echo ours > a.py; echo ours > b.py")
    (root / "a.py").write_text("theirs")
    desk.answers = ["Yes, but leave the files that somebody else has changed since"]
    assert run(desk, "/undo").splitlines()[1] == "Left as it is, changed since by somebody else: a.py"
    assert "a.py  +2 −1  (changed since by somebody else)" in desk.shown[0]
    assert (root / "a.py").read_text() == "theirs" and not (root / "b.py").exists()


def test_undo_goes_further_back_and_takes_a_number(desk: Desk) -> None:
    root = do(desk, "echo 1 > a.py")
    do(desk, "echo 2 > a.py")
    do(desk, "echo 3 > a.py")
    desk.answers = ["Yes", "Yes"]
    run(desk, "/undo")
    assert (root / "a.py").read_text() == "2\n"
    run(desk, "/undo files 2")
    assert (root / "a.py").read_text() == "one\ntwo\n"
    assert run(desk, "/undo") == "There is nothing to take back."


def test_undo_asks_which_where_there_is_a_folding_too(desk: Desk) -> None:
    assert desk.agent
    session = desk.agent.session = Session(window=8192, model="gpt-4o")
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " * 900} for n in range(15)]
    session.fit({"model": "gpt-4o", "messages": messages}, fold=True)
    root = do(desk, "rm a.py")
    assert run(desk, "/undo") == "Nothing was changed."
    (labels,) = desk.asked
    assert labels[0].endswith("rm a.py") or labels[1].endswith("rm a.py")
    folding = next(label for label in labels if label.startswith("the last folding"))
    desk.answers = [folding]
    assert run(desk, "/undo").startswith("Taken back: 1 (")
    desk.answers = ["Yes"]
    assert run(desk, "/undo").startswith("Taken back: 1 file.") and (root / "a.py").exists()


def test_diff_shows_all_changes_of_the_session(desk: Desk) -> None:
    assert run(desk, "/diff") == "No file was changed in this session."
    do(desk, "sed -i s/one/1/ a.py")
    do(desk, "sed -i s/two/2/ a.py; printf '\\0' > b.bin; chmod 755 a.py")
    shown = run(desk, "/diff")
    assert shown.splitlines()[:3] == [
        "Changed in this session: 2",
        "  changed  a.py  +2 −2  644 → 755",
        "  new      b.bin",
    ]
    assert "-one\n-two\n+1\n+2" in shown
