"""Parts of a text that is too big: all of it, in order, cut where a reader would cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.parts import InputPart, find_question, note_line, split_parts
from yohaku.agent.toolkit.source_outline import declarations
from yohaku.testing import ByteMeter

COUNT = ByteMeter().count


@given(st.text(max_size=3_000), st.integers(8, 500))
def test_the_parts_are_the_text_and_each_fits(text: str, tokens: int) -> None:
    parts = split_parts(text, tokens, COUNT)
    assert "".join(part.text for part in parts) == text
    assert all(COUNT(part.text) <= tokens or len(part.text) == 1 for part in parts)
    lines = text.split("\n")
    for part in parts:
        assert part.text.split("\n")[0] in lines[part.first - 1]


@given(st.lists(st.integers(1, 12), min_size=2, max_size=30))
def test_no_function_that_fits_into_a_part_is_torn(lengths: list[int]) -> None:
    blocks = [
        "\n".join([f"def f{n}():", *[f"    x{line} = {line}" for line in range(size)], "", ""])
        for n, size in enumerate(lengths)
    ]
    source = "".join(blocks)
    parts = split_parts(source, 300, COUNT, declarations(source, "a.py"))
    assert "".join(part.text for part in parts) == source
    for block in blocks:
        assert any(block.strip() in part.text for part in parts)
    assert [name for part in parts for name in part.names] == [f"f{n}" for n in range(len(lengths))]


def test_the_question_stands_before_or_after_what_it_is_about() -> None:
    log = "2026-01-01 something happened here\n" * 400
    assert find_question(f"Why does it fail?\n\n{log}") == "Why does it fail?"
    assert find_question(f"Why does it fail?\n{log}") == "Why does it fail?"
    assert find_question(f"{log}\nWhat is wrong here?").endswith("What is wrong here?")
    assert find_question(f"次のログを要約してください\n\n{log}") == "次のログを要約してください"
    assert find_question("x" * 100_000) == ""


def test_a_part_with_nothing_in_it_leaves_no_line() -> None:
    part = InputPart(3, 9, "", ("main", "run"))
    assert note_line(part, " Nothing. ") == note_line(part, "なし") == note_line(part, "") == ""
    assert note_line(part, "It fails in 7.") == "- lines 3-9 (main, run): It fails in 7."


def test_a_part_with_more_functions_than_are_named_says_so() -> None:
    part = InputPart(3, 9, "", tuple("abcdef"))
    assert note_line(part, "It fails.") == "- lines 3-9 (a, b, c, d, …): It fails."
