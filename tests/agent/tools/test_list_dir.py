from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench


def test_folders_come_first_and_files_have_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "一.txt").write_text("12345")
    (tmp_path / "big").write_bytes(bytes(3_000_000))
    (tmp_path / "link").symlink_to("big")
    given = ABench(tmp_path).use("list_dir")
    assert given.text == "./\n  src/\n  big (2.9 MB)\n  link -> big (3 bytes)\n  一.txt (5 bytes)"


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert ABench(tmp_path).use("list_dir", path="a").text == "a/ is empty"


def test_a_folder_of_thousands_is_cut(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"{number:03}").touch()
    given = ABench(tmp_path).use("list_dir")
    assert given.text.partition("\n[600 entries, not all shown; ref=")[0].endswith("  499 (0 bytes)")
    assert given.cut


def test_outside_is_asked_for_and_files_are_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    bench = ABench(tmp_path, "no")
    assert bench.use("list_dir", path="..").error
    assert bench.use("list_dir", path="f").text == "f is a file: read it."
    assert bench.use("list_dir", path="none").error
    assert len(bench.asked) == 1
