from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.sentences import lower_in_place, mask_quotes, split_sentences, strip_pasted


def test_sentences_end_where_they_end_in_english_and_japanese() -> None:
    text = "Fix v1.2 of a.py. Then stop! なぜ？ 直して。頼む。\n- one item\n2) another one, e.g. this"
    assert list(split_sentences(text)) == [
        "Fix v1.2 of a.py.",
        "Then stop!",
        "直して。",
        "one item",
        "another one, e.g. this",
    ]


def test_code_and_what_stands_between_tags_of_others_is_not_ones_own() -> None:
    text = "a\n```\nb\n```\nc\n<stdout>d</stdout>e<log>f<log>g</log>h</stdout>\n<div>i</div>\n<output>j"
    assert strip_pasted(text) == "a\nc\n\ne\nh</stdout>\n<div>i</div>\n<output>j"


def test_lines_of_shells_logs_and_code_are_no_prose() -> None:
    noise = (
        '$ ls\n> quoted\nERROR: it broke\n  File "a.py", line 3\nx = foo(1);\n2024-01-02 10:00:00 started\n| a | b |'
    )
    assert list(split_sentences(f"Look here.\n{noise}\nThat is all.")) == ["Look here.", "That is all."]


def test_only_lines_worth_it_are_looked_at() -> None:
    assert list(split_sentences("one line\nanother line", lambda line: "other" in line)) == ["another line"]


def test_what_is_quoted_is_blotted_out_and_nothing_moves() -> None:
    assert mask_quotes('Say `never` and "you must do it now" 「必ず」!') == "Say `xxxxx` and `xxxxxxxxxxxxxxxxxx` `xx`!"


@given(st.text())
def test_a_sentence_is_a_slice_of_the_text(text: str) -> None:
    assert all(sentence in text for sentence in split_sentences(text))


@given(st.text())
def test_small_letters_stand_where_the_others_were(text: str) -> None:
    assert len(lower_in_place(text)) == len(text)
    assert lower_in_place("Nie ÜBER Иван İ") == "nie über иван i"
