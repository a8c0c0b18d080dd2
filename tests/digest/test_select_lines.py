from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yohaku.analysis.entities import extract_names, split_words
from yohaku.digest.select_lines import (
    MAX_SCANNED_CHARS,
    MAX_SOURCE_CHARS,
    NUMBER_TOKENS,
    Source,
    SpanCache,
    choose_spans,
)
from yohaku.digest.spans import MAX_SPAN_CHARS, Span, render_spans

PLENTY = 1_000_000.0


def source(text: str, age: int = 1, **how: object) -> Source:
    return Source(text, age, 1.0, title_tokens=0, **how)  # type: ignore[arg-type]


def chosen(*sources: Source, tokens: float = PLENTY, covered: tuple[str, ...] = (), topic: str = "") -> list[list[str]]:
    """For each source what of it is shown, as it was."""
    spans, _ = choose_spans(sources, covered, tokens, split_words(topic))
    return [[of.text[span.start : span.end] for span in some] for of, some in zip(sources, spans, strict=True)]


def cost(source: Source, spans: list[Span]) -> float:
    lines = sum(source.rate * (span.end - span.start + 1) + NUMBER_TOKENS for span in spans)
    return lines + source.title_tokens if spans else 0


WORDS = st.sampled_from("get_rows|src/app.py|3.14|12345|サーバー|開発環境構築|the|is|`make all`|JobId7|| ".split("|"))
LINES = st.lists(WORDS, max_size=60).map(" ".join)
TEXTS = st.one_of(
    st.lists(LINES, max_size=12).map("\n".join), st.text(max_size=300), st.text("ab_/.1 \n", max_size=400)
)
SOURCES = st.builds(
    Source,
    TEXTS,
    st.integers(1, 50),
    st.sampled_from((0.0, 0.25, 1.0, 3.0)),
    st.booleans(),
    title_tokens=st.integers(0, 30),
)
MANY = st.lists(SOURCES, max_size=6)
COVERED = st.frozensets(WORDS, max_size=4)
TOKENS = st.one_of(st.floats(0, 500), st.just(PLENTY))


# Laws


@given(MANY, COVERED, TOKENS)
def test_what_is_chosen_lies_in_its_text_in_order_and_no_character_twice(
    sources: list[Source], covered: frozenset[str], tokens: float
) -> None:
    found, _ = choose_spans(sources, covered, tokens)
    assert len(found) == len(sources)
    for one, spans in zip(sources, found, strict=True):
        ends = [0, *(place for span in spans for place in (span.start, span.end)), len(one.text)]
        assert ends == sorted(ends)
        for span in spans:
            assert one.text[: span.start].count("\n") == span.line - 1
            assert "\n" not in one.text[span.start : span.end]
            assert 0 < span.end - span.start <= 2 * MAX_SPAN_CHARS


@given(MANY, COVERED, TOKENS)
def test_what_is_chosen_and_what_is_left_add_up_to_the_tokens_given(
    sources: list[Source], covered: frozenset[str], tokens: float
) -> None:
    found, left = choose_spans(sources, covered, tokens)
    assert left >= 0
    assert sum(map(cost, sources, found)) + left == pytest.approx(tokens)


@given(MANY, COVERED, TOKENS)
def test_the_same_sources_give_the_same_choice_looked_into_or_not(
    sources: list[Source], covered: frozenset[str], tokens: float
) -> None:
    again = [Source(s.text, s.age, s.rate, s.own, s.quotes, s.title_tokens) for s in sources]
    looked: SpanCache = {}
    first = choose_spans(sources, covered, tokens, cache=looked)
    assert first == choose_spans(again, sorted(covered, reverse=True), tokens)
    assert first == choose_spans(sources, covered, tokens, cache=looked)


@given(MANY, COVERED)
def test_with_tokens_enough_every_name_is_shown_and_no_line_is_that_names_nothing_new(
    sources: list[Source], covered: frozenset[str]
) -> None:
    sources = [Source(s.text, s.age, s.rate, title_tokens=s.title_tokens) for s in sources]
    found = chosen(*sources, covered=tuple(covered))
    short = [line for s in sources for line in s.text.split("\n") if len(line) <= MAX_SPAN_CHARS]
    told = [extract_names(line) for lines in found for line in lines]
    assert frozenset[str]().union(*map(extract_names, short)) - covered <= frozenset[str]().union(*told)
    assert all(some - covered for some in told)


@given(MANY, COVERED, TOKENS)
@example([Source("00A\r\na_b \\\nc_d", 1, 0.0, title_tokens=0)], frozenset(), PLENTY)
def test_lines_are_shown_as_they_were(sources: list[Source], covered: frozenset[str], tokens: float) -> None:
    found, _ = choose_spans(sources, covered, tokens)
    for one, spans in zip(sources, found, strict=True):
        lines = render_spans(one.text, spans, numbered=False)
        text = re.sub("[\r\v\f\x1c-\x1e\x85\u2028\u2029]", " ", one.text)  # a line is one line whatever it holds
        whole = [span.line for span in spans]
        assert len(lines) == len(set(whole))
        for number, line in zip(dict.fromkeys(whole), lines, strict=True):
            pieces = line.split(" … ")
            assert all(piece.removeprefix(" ") in text.split("\n", number - 1)[-1] for piece in pieces)


# What is worth showing


def test_lines_that_name_nothing_are_never_shown() -> None:
    assert chosen(source("the quick brown fox\n\n   \nsee get_rows there\n---- ====")) == [["see get_rows there"]]


def test_a_name_that_is_covered_is_not_paid_for_again() -> None:
    text = "call get_rows\ncall put_rows"
    assert chosen(source(text), covered=("get_rows",)) == [["call put_rows"]]
    assert choose_spans([source(text)], ("get_rows", "put_rows"), PLENTY) == ([[]], PLENTY)


def test_a_name_in_two_sources_is_shown_once_in_the_shorter_line() -> None:
    assert chosen(source("a long line that says something of get_rows"), source("get_rows")) == [[], ["get_rows"]]


def test_what_the_model_named_itself_comes_before_what_it_was_shown() -> None:
    printed, own = source("get_rows of them", age=1), source("put_rows of them", age=9, own=True)
    one = cost(own, [Span(1, 0, len(own.text))])
    assert chosen(printed, own, tokens=one) == [[], ["put_rows of them"]]
    assert chosen(printed, own, tokens=2 * one) == [["get_rows of them"], ["put_rows of them"]]


def test_an_error_in_a_result_comes_before_other_lines_and_one_of_each_form_is_enough() -> None:
    errors = "12:01 ERROR no space left, 12 bytes", "12:02 ERROR no space left, 14 bytes"
    text = "\n".join(["the build of get_rows has begun now", *errors])
    assert chosen(source(text), tokens=40) == [[errors[0]]]
    assert chosen(source("an ERROR of the model", own=True)) == [[]]


def test_of_two_alike_the_newer_is_shown() -> None:
    old, new = source("old_rows", age=9), source("new_rows", age=2)
    assert chosen(old, new, tokens=12) == [[], ["new_rows"]]


def test_what_the_topic_is_made_of_comes_first() -> None:
    sources = source("one_rows\nlate_rows\nsix_rows"), source("two_rows\nlast_rows")
    assert chosen(*sources, tokens=13, topic="why are the ROWS late?") != chosen(*sources, tokens=13)
    assert chosen(*sources, tokens=13, topic="why are the rows late?") == [["late_rows"], []]


def test_a_source_of_which_nothing_is_shown_yet_costs_its_title_once() -> None:
    titled = Source("get_rows\nput_rows", 1, 1.0, title_tokens=10)
    assert choose_spans([titled], (), 9 + NUMBER_TOKENS) == ([[]], 9 + NUMBER_TOKENS)
    assert choose_spans([titled], (), 19 + NUMBER_TOKENS) == ([[Span(1, 0, 8)]], 0)
    assert choose_spans([titled], (), 28 + 2 * NUMBER_TOKENS) == ([[Span(1, 0, 8), Span(2, 9, 17)]], 0)


def test_a_line_too_dear_for_what_is_left_gives_way_to_a_cheaper_one() -> None:
    assert chosen(source("get_rows and put_rows and all_rows\nfew_rows"), tokens=12) == [["few_rows"]]


def test_without_tokens_or_sources_nothing_is_shown() -> None:
    assert choose_spans([source("get_rows")], (), 0) == ([[]], 0)
    assert choose_spans([source("get_rows")], (), -5) == ([[]], 0)
    assert choose_spans([], (), 10) == ([], 10)


def test_a_japanese_line_is_chosen_by_its_names() -> None:
    text = "これはそのままでよい。\n認証サーバーの設定を直す。\nそして終わる。"
    assert chosen(source(text)) == [["認証サーバーの設定を直す。"]]


# What the model said itself


def test_a_command_given_as_a_whole_is_shown_even_if_it_names_nothing() -> None:
    asked = "make all the tests\nand then more"
    assert chosen(source(asked, own=True)) == [[]]
    assert chosen(source(asked, own=True, quotes=frozenset(["make all the tests"]))) == [["make all the tests"]]


def test_what_it_put_in_quotes_is_a_name() -> None:
    text = 'I ran `make all` there.\nIt said "no such rule" then.\n`a` is too short.\nNothing here.'
    assert chosen(source(text, own=True)) == [["I ran `make all` there.", 'It said "no such rule" then.']]
    assert chosen(source(text)) == [[]]


def test_what_stands_between_two_quotations_is_none() -> None:
    assert chosen(source('return "", and then "of it all"', own=True)) == [['return "", and then "of it all"']]
    assert chosen(source('return "", and then ""', own=True)) == [[]]


# Where a line stands


def test_the_number_of_a_line_is_not_a_name() -> None:
    text = "<file>\n1041: # all is well\n1042: get_rows()\n1043: }\n1044:\n"
    assert chosen(source(text)) == [["1042: get_rows()"]]


def test_of_what_a_search_found_the_file_is_a_name_and_the_place_is_not() -> None:
    text = "src/app.py-1041-    all is well\nsrc/app.py:1042:def get_rows():\nsrc/app.py-1043-    return 2026"
    assert chosen(source(text)) == [["src/app.py:1042:def get_rows():", "src/app.py-1043-    return 2026"]]


def test_a_path_with_a_date_in_it_is_not_a_place() -> None:
    text = "plans/2026-07-01-parser.md is new"
    assert chosen(source(text), covered=("plans/2026", "01-parser.md")) == [[text]]
    assert chosen(source(text), covered=("plans/2026-07-01-parser.md", "2026-07-01-parser.md")) == [[]]


def test_a_size_a_time_or_a_hash_that_was_only_shown_comes_last() -> None:
    for passing in ("14.2s", "120MB", "48213", "9f8e7d6c5b"):
        assert chosen(source(f"{passing}\nget_rows"), tokens=13) == [["get_rows"]]
        assert chosen(source(f"{passing}\nget_every_row_there_is", own=True), tokens=14) == [[passing]]


def test_words_that_hyphens_join_come_after_other_names() -> None:
    for joined in ("react-dom", "--no-cache", "fix-the-parser"):
        assert chosen(source(f"{joined} is\nget_rows is"), tokens=16) == [["get_rows is"]]
        assert chosen(source(f"{joined} is\nall is well")) == [[f"{joined} is"]]
    assert chosen(source("a-b - and -- that")) == [[]]


# Long lines


def test_of_a_long_line_only_the_pieces_that_name_something_are_shown() -> None:
    filler = "and so on " * 30
    text = f"first line\n{filler}get_rows {filler}put_rows {filler}"
    one = source(text)
    (spans,), _ = choose_spans([one], (), PLENTY)
    (line,) = render_spans(text, spans)
    head, middle, tail = line.partition(" … ")
    assert head.startswith("2: and so on") and middle and "get_rows" in head and "put_rows" in tail
    assert len(line) < 200 < len(text) // 3


def test_pieces_that_follow_each_other_are_shown_as_one() -> None:
    text = ", ".join(f"name_{n}" for n in range(60))
    (spans,), _ = choose_spans([source(text)], (), PLENTY)
    assert len(spans) > 4 and all(span.line == 1 and span.end - span.start <= MAX_SPAN_CHARS for span in spans)
    assert render_spans(text, spans) == [f"1: {text}"]


def test_a_long_line_is_not_cut_in_the_middle_of_a_path() -> None:
    path = "/home/somebody/" + "a_folder/" * 12 + "file.py"
    (pieces,) = chosen(source(f"cp {path} {path[:-3]}.txt"))
    assert any(path in piece for piece in pieces)


# How lines are shown


# Whatever there is


MEGA = 1 << 20


@pytest.mark.parametrize(
    "text",
    [
        *(letter * MEGA for letter in "a 1_/`漢ア"),
        *("a." * (MEGA // 2), "get_rows " * (MEGA // 9), "1:\n" + " " * MEGA),
        *("\n" * (MEGA // 8), "a\r\n" * (MEGA // 12), "\ud800" * 9),
    ],
    ids=lambda text: repr(text[:9]),
)
def test_a_megabyte_of_anything_is_looked_at_and_done_with(text: str) -> None:
    for own in (False, True):
        found, left = choose_spans([source(text, own=own)], extract_names(text[:100]), 1_000)
        assert 0 <= left <= 1_000
        assert len(render_spans(text, found[0])) <= len(found[0])


def test_of_more_than_can_be_looked_into_the_newer_and_smaller_are() -> None:
    huge = "filler word " * (MAX_SOURCE_CHARS // 12)
    old, new = source(f"old_rows\n{huge}", age=50), source(f"{huge}\nnew_rows", age=2)
    between = [source(huge, age=40)] * (MAX_SCANNED_CHARS // MAX_SOURCE_CHARS)
    spare = [source(f"row_{n}", age=3) for n in range(3)]
    found = chosen(old, new, *between, *spare)
    assert found[:2] == [[], ["new_rows"]] and found[-3:] == [["row_0"], ["row_1"], ["row_2"]]


def test_what_the_model_said_is_looked_into_first() -> None:
    huge = "filler word " * (MAX_SOURCE_CHARS // 12)
    found = chosen(
        *[source(huge, age=2)] * (MAX_SCANNED_CHARS // MAX_SOURCE_CHARS), source("old_rows", age=30, own=True)
    )
    assert found[-1] == ["old_rows"]


def test_of_a_long_source_the_beginning_and_the_end_are_looked_into() -> None:
    text = "\n".join(
        ["first_row", *["plain"] * MAX_SOURCE_CHARS, "middle_row", *["plain"] * MAX_SOURCE_CHARS, "last_row"]
    )
    (found,), _ = choose_spans([source(text)], (), 1_000)
    assert render_spans(text, found) == ["1: first_row", f"{2 * MAX_SOURCE_CHARS + 3}: last_row"]


def test_one_source_is_looked_into_however_big_it_is() -> None:
    assert chosen(source("x\n" * MAX_SCANNED_CHARS + "last_rows")) == [["last_rows"]]
