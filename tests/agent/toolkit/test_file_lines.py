from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.toolkit import file_lines
from yohaku.agent.toolkit.file_lines import read_lines, split_lines


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp", "utf-16"])
@pytest.mark.parametrize("whole", [file_lines.MAX_WHOLE_BYTES, 10_000])
def test_lines_are_the_same_however_the_file_is_read(
    tmp_path: Path, encoding: str, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lines, "MAX_WHOLE_BYTES", 100_000 if encoding == "utf-16" else whole)
    monkeypatch.setattr(file_lines, "BLOCK_BYTES", 1_000)
    path = tmp_path / "資料.txt"
    path.write_bytes("".join(f"{number}行目の日本語\n" for number in range(1, 1_001)).encode(encoding))
    found = read_lines(path, 500, 3, 10_000)
    assert found is not None
    assert (found.lines, found.first, found.total, found.more) == (
        ["500行目の日本語", "501行目の日本語", "502行目の日本語"], 500, 1_000, 503,
    )  # fmt: skip


def test_a_line_of_many_megabytes_is_not_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lines, "MAX_WHOLE_BYTES", 1_000)
    monkeypatch.setattr(file_lines, "BLOCK_BYTES", 1_000)
    path = tmp_path / "a"
    path.write_bytes(b"first\n" + b"x" * 100_000 + b"\nlast\n")
    found = read_lines(path, 1, 10, 1_000_000)
    assert found is not None
    assert [len(line) for line in found.lines] == [5, len(found.lines[1]), 4]
    assert 1_000 <= len(found.lines[1]) <= 3_000


def test_reading_stops_when_there_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("0123456789\n" * 10_000)
    found = read_lines(path, 1, 2_000, 100)
    assert found is not None
    assert (len(found.lines), found.total, found.more) == (10, 10_000, 11)


def test_lines_are_counted_as_editors_count_them() -> None:
    assert split_lines("a\x0cb\u2028c\nd\n") == ["a\x0cb\u2028c", "d"]
    assert split_lines("a\r\nb\r\n", "\r\n") == ["a", "b"]
    assert split_lines("a\rb", "\r") == ["a", "b"]
    assert split_lines("") == []
