from __future__ import annotations

from pathlib import Path

from yohaku.tui.input_history import MAX_LINES, InputHistory


def test_what_was_typed_comes_back_in_order_with_the_draft_at_the_end(tmp_path: Path) -> None:
    typed = InputHistory(tmp_path / "typed.jsonl")
    assert typed.back("x") is None and typed.on() is None
    for text in ("one", "two\nlines", "two\nlines"):
        typed.add(text)
    assert typed.lines == ["one", "two\nlines"]
    assert [typed.back("draft"), typed.back(""), typed.back("")] == ["two\nlines", "one", None]
    assert [typed.on(), typed.on(), typed.on()] == ["two\nlines", "draft", None]


def test_it_is_kept_for_another_day_for_its_owner_only_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "typed.jsonl"
    typed = InputHistory(path)
    for number in range(2 * MAX_LINES + 10):
        typed.add(f"日本 {number}")
    assert path.stat().st_mode & 0o777 == 0o600
    again = InputHistory(path)
    assert again.back("") == f"日本 {2 * MAX_LINES + 9}" and len(again.lines) <= 2 * MAX_LINES


def test_a_file_that_is_broken_or_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    broken = tmp_path / "typed.jsonl"
    broken.write_bytes(b'"good"\n{\xff\n5\n"also"\n')
    assert InputHistory(broken).lines == ["good", "also"]
    (tmp_path / "file").write_text("")
    typed = InputHistory(tmp_path / "file" / "typed.jsonl")
    typed.add("x")
    assert typed.back("") == "x"
