from __future__ import annotations

import os
from pathlib import Path

import pytest

from yohaku.agent.toolkit import seen_files
from yohaku.agent.toolkit.seen_files import SeenFiles, StaleFile


def test_a_file_changed_since_it_was_read_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    seen = SeenFiles(tmp_path)
    seen.saw(path)
    path.write_text("one\n2\n")
    with pytest.raises(StaleFile, match=r"a\.txt has changed since you read it\. What changed:\n(?s:.*)-two\n\+2"):
        seen.check(path, path.read_bytes())
    seen.check(path, path.read_bytes())  # the model has seen the difference now


def test_a_difference_too_long_to_show_asks_for_reading_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n" * 5_000)
    seen = SeenFiles(tmp_path)
    seen.saw(path)
    path.write_text("y\n" * 5_000)
    for _ in range(2):
        with pytest.raises(StaleFile, match="Read it again"):
            seen.check(path, path.read_bytes())


def test_each_change_is_told_once(tmp_path: Path) -> None:
    kept, gone, same = tmp_path / "kept.py", tmp_path / "日本.txt", tmp_path / "same"
    seen = SeenFiles(tmp_path)
    for path in (kept, gone, same):
        path.write_text("1")
        seen.saw(path)
    assert seen.changed() == ()
    kept.write_text("22")
    gone.unlink()
    os.utime(same, ns=(1, 1))
    assert seen.changed() == ("kept.py", "日本.txt (deleted)")
    assert seen.changed() == ()
    kept.write_text("333")
    assert seen.changed() == ("kept.py",)


def test_writing_keeps_the_mode_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o755)
    seen_files.write_atomically(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o755)
    assert [each.name for each in tmp_path.iterdir()] == ["run.sh"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(TypeError):
        seen_files.write_atomically(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_new_file_has_the_mode_others_have(tmp_path: Path) -> None:
    seen_files.write_atomically(tmp_path / "deep" / "er" / "a", b"x")
    (tmp_path / "b").write_bytes(b"x")
    assert (tmp_path / "deep/er/a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_files, "MAX_TOTAL_BYTES", 1_000)
    seen = SeenFiles(tmp_path)
    for number in range(20):
        path = tmp_path / str(number)
        path.write_text("x" * 100)
        seen.saw(path)
    assert seen._held <= 1_000
    assert seen.knows(tmp_path / "0")
