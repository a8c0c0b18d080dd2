"""Labels of big pastes: whatever is done with them, the text behind them is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.tui.pasted import MIN_LABELLED_CHARS, PastedTexts

LOG = "a line of a log\n" * 640_000


def test_a_small_paste_stands_for_itself() -> None:
    pasted = PastedTexts("en")
    assert pasted.label("x" * (MIN_LABELLED_CHARS - 1)) == "x" * (MIN_LABELLED_CHARS - 1)
    assert pasted.label("a\r\nb") == "a\r\nb" and pasted.standing("a") == frozenset()


@pytest.mark.parametrize(
    ("lang", "text", "label"),
    [
        ("en", LOG, "[pasted 9.8 MB, 640,000 lines]"),
        ("ja", LOG, "[貼り付け 9.8 MB、640,000 行]"),
        ("en", "y" * MIN_LABELLED_CHARS, "[pasted 48.8 KB, 1 line]"),
        ("en", "余" * MIN_LABELLED_CHARS + "\n白", "[pasted 146.5 KB, 2 lines]"),
    ],
)
def test_a_big_one_gets_a_label_that_becomes_it_again(lang: str, text: str, label: str) -> None:
    pasted = PastedTexts(lang)
    assert pasted.label(text) == label
    assert pasted.whole(f"Why? {label} Tell me.") == f"Why? {text} Tell me."
    assert (pasted.ending(f"see {label}"), pasted.ending(f"{label} "), pasted.beginning(f"{label}x")) == (
        label,
        "",
        label,
    )


def test_lines_are_ended_as_the_line_to_type_in_does_it() -> None:
    pasted = PastedTexts("en")
    assert pasted.whole(pasted.label("a\r\nb\rc\n" * MIN_LABELLED_CHARS)) == "a\nb\nc\n" * MIN_LABELLED_CHARS


def test_two_of_the_same_size_are_told_apart_and_the_same_one_is_known() -> None:
    pasted = PastedTexts("en")
    one, two = pasted.label("1" * MIN_LABELLED_CHARS), pasted.label("2" * MIN_LABELLED_CHARS)
    assert (one, two) == ("[pasted 48.8 KB, 1 line]", "[pasted 48.8 KB, 1 line #2]")
    assert pasted.label("1" * MIN_LABELLED_CHARS) == one
    assert pasted.whole(f"{two}{one}") == "2" * MIN_LABELLED_CHARS + "1" * MIN_LABELLED_CHARS
    assert pasted.standing(f"{two} and {one[1:]}") == {two}


def test_a_label_inside_what_was_pasted_stays_as_it_was_pasted() -> None:
    pasted = PastedTexts("en")
    first = pasted.label("1" * MIN_LABELLED_CHARS)
    about = f"{first}\n" * MIN_LABELLED_CHARS
    assert pasted.whole(pasted.label(about)) == about


def test_what_was_sent_can_be_typed_in_again_with_the_words_around_it() -> None:
    pasted = PastedTexts("en")
    typed = f"Why? {pasted.label(LOG)} Tell me."
    assert pasted.shown(pasted.whole(typed)) == typed
    assert pasted.shown("small") == "small"
    another_day = PastedTexts("en")
    label = another_day.shown(f"Why? {LOG}")
    assert label == "[pasted 9.8 MB, 640,000 lines]"
    assert another_day.whole(label) == f"Why? {LOG}"


@given(
    st.lists(
        st.sampled_from(["1" * MIN_LABELLED_CHARS, "2" * MIN_LABELLED_CHARS, "[pasted 48.8 KB, 1 line]", "x", "\n"]),
        max_size=6,
    )
)
def test_typing_in_again_never_loses_anything(parts: list[str]) -> None:
    pasted = PastedTexts("en")
    pasted.label("1" * MIN_LABELLED_CHARS)
    text = "".join(parts)
    if len(text) >= MIN_LABELLED_CHARS:
        assert pasted.whole(pasted.shown(text)) == text
