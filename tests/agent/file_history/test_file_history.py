"""The history of files: what a change was, taking it back, and what is left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from yohaku.agent.file_history import file_state, kept_files, scan
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.file_history.git_status import read_git_status


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_bytes(b"one\r\n\xff")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("two")
    return folder


@pytest.fixture
def history(tmp_path: Path, root: Path) -> FileHistory:
    return FileHistory(tmp_path / "data", root)


def run(history: FileHistory, command: str) -> None:
    change = history.begin(command)
    subprocess.run(["bash", "-c", command], cwd=history.root, check=True, capture_output=True)
    history.end(change)


def take_back(history: FileHistory, count: int = 1) -> None:
    assert history.undo(history.plan_undo(count)) == []


def test_a_command_is_taken_back_the_last_one_first(history: FileHistory, root: Path) -> None:
    run(history, "rm a.py")
    run(history, "echo three > sub/b.txt; touch new; chmod 700 sub")
    take_back(history)
    assert (root / "sub" / "b.txt").read_text() == "two" and not (root / "new").exists()
    assert not (root / "a.py").exists()
    take_back(history)
    assert (root / "a.py").read_bytes() == b"one\r\n\xff"
    assert history.plan_undo().changes == ()


def test_a_redo_does_it_again_and_a_new_change_ends_that(history: FileHistory, root: Path) -> None:
    run(history, "rm a.py")
    take_back(history)
    assert history.redo(history.plan_redo()) == [] and not (root / "a.py").exists()
    take_back(history)
    run(history, "touch other")
    assert history.plan_redo().changes == ()


def test_a_file_that_somebody_else_changed_is_left_unless_said(history: FileHistory, root: Path) -> None:
    run(history, "echo ours > a.py; echo ours > sub/b.txt")
    (root / "a.py").write_text("theirs")
    plan = history.plan_undo()
    assert [each.path for each in plan.touched] == [b"a.py"]
    history.undo(plan)
    assert (root / "a.py").read_text() == "theirs" and (root / "sub" / "b.txt").read_text() == "two"


def test_what_is_overwritten_on_request_comes_back_by_redo(history: FileHistory, root: Path) -> None:
    run(history, "echo ours > a.py")
    (root / "a.py").write_text("theirs")
    history.undo(history.plan_undo(), overwrite=True)
    assert (root / "a.py").read_bytes() == b"one\r\n\xff"
    history.redo(history.plan_redo())
    assert (root / "a.py").read_text() == "theirs"


def test_a_change_between_two_of_ours_is_noticed_when_both_are_taken_back(history: FileHistory, root: Path) -> None:
    run(history, "echo 1 > a.py")
    (root / "a.py").write_text("theirs")
    run(history, "echo 2 >> a.py")
    assert [each.path for each in history.plan_undo(2).touched] == [b"a.py"]


def test_files_that_only_come_into_sight_are_not_deleted(history: FileHistory, root: Path) -> None:
    (root / ".gitignore").write_text("secret.env\n")
    (root / "secret.env").write_text("KEY=1")
    (root / "venv").mkdir()
    (root / "venv" / "pyvenv.cfg").write_text("")
    (root / "venv" / "lib.py").write_text("x")
    run(history, ": > .gitignore; rm venv/pyvenv.cfg")
    take_back(history)
    assert (root / "secret.env").read_text() == "KEY=1" and (root / "venv" / "lib.py").exists()
    assert (root / ".gitignore").read_text() == "secret.env\n"


def test_an_ignored_file_that_was_moved_into_sight_is_not_deleted(history: FileHistory, root: Path) -> None:
    (root / ".gitignore").write_text("*.env\nbuild\n")
    (root / "secret.env").write_text("KEY=1")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("slow to build")
    for path in (root / "secret.env", root / "build" / "out"):
        os.utime(path, (1, 1))
    time.sleep(scan.CLOCK_NANOSECONDS * 1.5 / 1e9)  # the clock of the file system, by which they are old
    run(history, "mv secret.env shown.txt; mv build dist")
    history.undo(history.plan_undo())
    assert (root / "shown.txt").read_text() == "KEY=1" and (root / "dist" / "out").read_text() == "slow to build"


def test_files_that_become_ignored_do_not_count_as_deleted(history: FileHistory, root: Path) -> None:
    run(history, "echo '*.py' > .gitignore")
    assert [part.path for part in history.parts(history.changes()[0])] == [b".gitignore"]


def test_an_edit_of_one_file_is_kept_wherever_it_is(history: FileHistory, root: Path, tmp_path: Path) -> None:
    outside, new = tmp_path / "outside.txt", root / "x" / "y" / "z.txt"
    outside.write_text("old")
    for path in (outside, new):
        change = history.begin(f"edit {path}", [path])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("new")
        history.end(change)
    take_back(history, 2)
    assert outside.read_text() == "old" and not (root / "x").exists()


def test_a_change_that_changed_nothing_is_forgotten(history: FileHistory) -> None:
    run(history, "true")
    assert history.changes() == []


def test_links_modes_empty_folders_and_odd_names_come_back(history: FileHistory, root: Path) -> None:
    (root / "empty").mkdir(mode=0o750)
    (root / "link").symlink_to("sub//./b.txt")
    (root / "two\nlines").write_bytes(b"\0")
    (root / "a.py").chmod(0o600)
    run(history, "chmod 755 a.py; rmdir empty; ln -sfn a.py link; rm two*; rm -r sub; ln -s /tmp sub")
    take_back(history)
    assert stat.S_IMODE((root / "a.py").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "empty").stat().st_mode) == 0o750
    assert os.readlink(root / "link") == "sub//./b.txt"  # noqa: PTH115
    assert (root / "two\nlines").read_bytes() == b"\0" and (root / "sub" / "b.txt").read_text() == "two"
    assert not (root / "sub").is_symlink()


def test_nothing_is_written_through_a_link_that_the_user_put_there(
    history: FileHistory, root: Path, tmp_path: Path
) -> None:
    run(history, "echo ours > sub/b.txt")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.txt").write_text("ours\n")
    (root / "sub" / "b.txt").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(tmp_path / "elsewhere")
    failures = history.undo(history.plan_undo(), overwrite=True)
    assert [each.path for each in failures] == [b"sub/b.txt"]
    assert (tmp_path / "elsewhere" / "b.txt").read_text() == "ours\n"


def test_a_folder_that_became_a_file_comes_back(history: FileHistory, root: Path) -> None:
    run(history, "rm -r sub; echo flat > sub")
    take_back(history)
    assert (root / "sub" / "b.txt").read_text() == "two"


def test_a_big_file_is_named_as_what_cannot_come_back(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 100)
    (root / "big").write_bytes(b"x" * 101)
    run(history, "rm big a.py")
    plan = history.plan_undo()
    assert [each.path for each in plan.impossible] == [b"big"]
    assert history.undo(plan) == [] and (root / "a.py").exists()


def test_a_project_that_is_too_big_is_said_and_edits_are_kept_all_the_same(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "MAX_PATHS", 2)
    assert history.prepare() == "too_big" and history.begin("rm -r .") == 0
    change = history.begin("edit a.py", [root / "a.py"])
    (root / "a.py").write_text("new")
    history.end(change)
    take_back(history)
    assert (root / "a.py").read_bytes() == b"one\r\n\xff"


def test_without_a_folder_nothing_is_kept(root: Path) -> None:
    history = FileHistory(Path(), root)
    assert history.begin("rm a.py") == 0 and history.begin("edit a.py", [root / "a.py"]) == 0
    assert history.trouble == "no_folder" and history.changes() == []
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "sub"]


def test_with_a_folder_inside_the_project_edits_are_kept_and_commands_are_not(root: Path) -> None:
    """As in the home folder."""
    history = FileHistory(root / "data", root)
    assert history.begin("rm a.py") == 0 and history.trouble == "inside"
    change = history.begin("edit a.py", [root / "a.py"])
    (root / "a.py").write_text("new")
    history.end(change)
    take_back(history)
    assert (root / "a.py").read_bytes() == b"one\r\n\xff"


def test_a_database_that_is_damaged_is_said(history: FileHistory) -> None:
    history._path.parent.mkdir(parents=True)
    history._path.write_bytes(b"no database" * 100)
    assert history.begin("rm a.py") == 0 and history.trouble == "failed"


def test_all_changes_of_a_run_are_known_together(tmp_path: Path, history: FileHistory, root: Path) -> None:
    earlier = FileHistory(tmp_path / "data", root)
    run(earlier, "touch before")
    run(history, "echo 1 > a.py; touch brief")
    run(history, "echo 2 > a.py; rm brief sub/b.txt")
    found = history.net_changes()
    assert [part.path for part in found] == [b"a.py", b"sub/b.txt"]
    assert history.content(found[0], "before") == b"one\r\n\xff" and history.content(found[0], "after") == b"2\n"
    assert len(history.changes()) == 3 and len(history.changes(own=True)) == 2


def test_only_its_owner_can_read_what_is_kept(history: FileHistory) -> None:
    run(history, "rm a.py")
    assert stat.S_IMODE(history._path.stat().st_mode) == 0o600
    assert stat.S_IMODE(history._path.parent.stat().st_mode) == 0o700


def hash_folder(folder: Path) -> str:
    found = sha256()
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        found.update(repr((str(path), about.st_mode, about.st_mtime_ns, about.st_ino)).encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def test_nothing_of_the_users_repository_is_touched(history: FileHistory, root: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "-b", "main"], ["add", "a.py"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    (root / "a.py").write_text("stashed")
    subprocess.run([*git, "stash", "-q"], cwd=root, check=True)
    subprocess.run([*git, "add", "sub"], cwd=root, check=True)
    os.utime(root / "a.py")  # an index that a careless `git status` would refresh
    before = hash_folder(root / ".git")
    run(history, "echo 1 > a.py; rm -r sub; touch new")
    status = read_git_status(root)
    assert status is not None and (status.branch, status.changed) == ("main", 3)
    take_back(history)
    assert hash_folder(root / ".git") == before
    assert read_git_status(root / "sub") is not None and read_git_status(root.parent) is None


def fill_big(monkeypatch: pytest.MonkeyPatch, path: Path) -> bytes:
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 100)
    path.write_bytes(b"x" * 101)
    os.utime(path, (1, 1))
    return path.read_bytes()


def test_a_big_file_that_was_moved_goes_back_and_is_never_deleted(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = fill_big(monkeypatch, root / "sub" / "big")
    run(history, "mv sub other; mv other/big moved; echo small > other/big")
    plan = history.plan_undo()
    assert plan.impossible == () and history.undo(plan) == []
    assert (root / "sub" / "big").read_bytes() == content
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "sub"]
    assert history.redo(history.plan_redo()) == []
    assert (root / "moved").read_bytes() == content and (root / "other" / "big").read_text() == "small\n"


def test_a_big_file_is_not_deleted_where_it_cannot_go_back(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_big(monkeypatch, root / "big")
    run(history, "mv big moved; echo more >> moved")
    history.undo(history.plan_undo())
    assert (root / "moved").stat().st_size == 106

    fill_big(monkeypatch, root / "second")
    run(history, "mv second third")
    (root / "second").write_text("theirs")
    history.undo(history.plan_undo())
    assert (root / "second").read_text() == "theirs" and (root / "third").stat().st_size == 101


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("mv big a.py", ""),
        ("mv big second; mv more big; mv second third", ""),
        ("mv big a.py; mv more big", ""),
        ("mv big a.py; echo x >> a.py", "big"),
        ("mv big t; mv more big; mv t more", "big"),
    ],
)
def test_what_is_too_big_is_never_replaced(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch, command: str, left: str
) -> None:
    fill_big(monkeypatch, root / "big")
    (root / "more").write_bytes(b"y" * 150)
    numbers = {name: (root / name).stat().st_ino for name in ("big", "more")}
    before = (root / "a.py").read_bytes()
    run(history, command)
    failures = history.undo(history.plan_undo())
    assert bool(left) == bool(failures)
    there = {path.stat().st_ino for path in root.iterdir()}
    assert there >= {*numbers.values()}, "both are somewhere"
    if not left:
        assert {name: (root / name).stat().st_ino for name in numbers} == numbers
        assert (root / "a.py").read_bytes() == before


def test_a_big_file_that_came_from_outside_is_not_deleted(
    history: FileHistory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_big(monkeypatch, tmp_path / "download")
    time.sleep(scan.CLOCK_NANOSECONDS * 1.5 / 1e9)
    run(history, "mv ../download .; head -c 200 /dev/zero > made")
    history.undo(history.plan_undo())
    assert (root / "download").exists() and not (root / "made").exists()


def test_what_is_edited_while_the_plan_is_read_is_left_alone(history: FileHistory, root: Path) -> None:
    run(history, "echo ours > a.py; echo ours > new; rm sub/b.txt")
    plan = history.plan_undo()
    (root / "a.py").write_text("theirs")
    (root / "new").write_text("theirs")
    (root / "sub" / "b.txt").write_text("theirs")
    left = history.undo(plan, overwrite=True)
    assert [(each.path, each.why) for each in left] == [(b"a.py", ""), (b"new", ""), (b"sub/b.txt", "")]
    assert {path.read_text() for path in root.rglob("*") if path.is_file()} == {"theirs"}


def test_what_is_edited_after_a_broken_off_undo_is_left_alone(history: FileHistory, root: Path, tmp_path: Path) -> None:
    run(history, "echo ours > a.py; echo ours > sub/b.txt")
    history._database().set_status(history.changes()[0].id, "undoing")
    history.close()
    (root / "a.py").write_text("theirs")
    assert FileHistory(tmp_path / "data", root).changes() == []
    assert (root / "a.py").read_text() == "theirs" and (root / "sub" / "b.txt").read_text() == "two"


def test_an_undo_that_was_killed_between_a_folder_and_a_file_is_finished(
    history: FileHistory, root: Path, tmp_path: Path
) -> None:
    run(history, "rm a.py; mkdir a.py")
    history._database().set_status(history.changes()[0].id, "undoing")
    history.close()
    (root / "a.py").rmdir()
    again = FileHistory(tmp_path / "data", root)
    assert again.changes() == [] and (root / "a.py").read_bytes() == b"one\r\n\xff"
    run(again, "rm -r sub")
    again._database().set_status(again.changes()[0].id, "undoing")
    again.close()
    (root / "sub").mkdir(mode=0o700)
    assert FileHistory(tmp_path / "data", root).changes() == []
    assert stat.S_IMODE((root / "sub").stat().st_mode) == 0o755 and (root / "sub" / "b.txt").read_text() == "two"


def test_what_is_overwritten_of_an_older_change_comes_back_by_redo_too(history: FileHistory, root: Path) -> None:
    run(history, "echo ours > a.py")
    run(history, "echo ours > sub/b.txt")
    (root / "a.py").write_text("theirs")
    history.undo(history.plan_undo(2), overwrite=True)
    assert (root / "a.py").read_bytes() == b"one\r\n\xff"
    history.redo(history.plan_redo(2))
    assert (root / "a.py").read_text() == "theirs"


def test_two_sessions_of_one_process_do_not_end_each_others_changes(
    history: FileHistory, root: Path, tmp_path: Path
) -> None:
    other = FileHistory(tmp_path / "data", root)
    long = history.begin("a long command")
    edit = other.begin("edit b.txt", [root / "sub" / "b.txt"])
    (root / "sub" / "b.txt").write_text("other")
    other.end(edit)
    (root / "a.py").write_text("long")
    history.end(long)
    assert [change.title for change in history.changes()] == ["edit b.txt", "a long command"]
    while (plan := history.plan_undo()).changes:
        assert history.undo(plan) == []
    assert (root / "a.py").read_bytes() == b"one\r\n\xff" and (root / "sub" / "b.txt").read_text() == "two"


def test_a_change_that_was_broken_off_is_marked(history: FileHistory, root: Path, tmp_path: Path) -> None:
    code = "import sys, pathlib; from yohaku.agent.file_history.file_history import FileHistory; "
    code += "FileHistory(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])).begin('sed')"
    subprocess.run([sys.executable, "-c", code, tmp_path / "data", root], check=True)
    (root / "a.py").write_text("whose?")
    run(history, "rm sub/b.txt")
    assert [(change.title, change.broken) for change in history.changes()] == [("rm sub/b.txt", False), ("sed", True)]


def test_old_changes_go_for_room_and_the_newest_never(
    history: FileHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "MAX_DATABASE_BYTES", 1_000_000)
    for number in range(12):
        change = history.begin(f"edit {number}", [root / "a.py"])
        (root / "a.py").write_bytes(os.urandom(200_000))
        history.end(change)
    assert 2 <= len(history.changes()) <= 6
    change = history.begin("edit", [root / "a.py"])
    (root / "a.py").write_bytes(os.urandom(2_000_000))
    history.end(change)
    assert [each.title for each in history.changes()] == ["edit"]
    take_back(history)
