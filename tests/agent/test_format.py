"""The gauge in letters, as the documents draw it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.events import Gauge
from yohaku.agent.format import (
    abridge,
    call_title,
    clip,
    count_columns,
    draw_bar,
    draw_progress,
    format_counts,
    format_gauge,
    format_headline,
    format_tokens,
    gauge_rows,
    remaining_row,
    wrap,
    wrap_lines,
)
from yohaku.core.budget import Budget
from yohaku.core.model import Call

DRAWN = Gauge(used=4218, window=9216, reserve=1024, system=2014, tools=1487, turns=717, last=205, messages=12)


def test_the_head_of_the_panel_is_as_it_is_drawn() -> None:
    assert format_headline(DRAWN, "en") == "4.2K / 8K (51%)"
    assert format_headline(DRAWN, "en", whole=True) == "4,218 / 8,192 tokens (51%)"
    assert (
        format_headline(Gauge(used=4218, window=8192, exact=False), "ja", whole=True) == "~4,218 / 8,192 トークン (51%)"
    )


def test_the_rows_of_the_debug_panel_are_as_they_are_drawn_and_add_up() -> None:
    table = gauge_rows(DRAWN, "en")
    assert [tuple(row) for row in table] == [
        ("system", 2014, 25),
        ("tools def", 1487, 18),
        ("history", 512, 6),
        ("last out", 205, 3),
    ]
    assert sum(row.tokens for row in table) == DRAWN.used
    assert tuple(remaining_row(DRAWN, "en")) == ("remaining", 3974, 49)
    assert format_counts(DRAWN, "en") == ("msgs: 12  compact: 0", "truncated: 0  warnings: 0")


@given(*(st.integers(0, 10**6) for _ in range(5)))
def test_the_rows_add_up_whatever_the_provider_reports(
    used: int, system: int, tools: int, turns: int, last: int
) -> None:
    table = gauge_rows(Gauge(used, 8192, system, tools, turns, last), "en")
    if used >= system + tools + last or turns >= last:
        assert sum(row.tokens for row in table) == used
        assert min(row.tokens for row in table) >= 0


def test_percent_and_level_are_shares_of_the_limit_as_in_the_core() -> None:
    gauge = Gauge(used=7300, window=8192, reserve=1024)
    assert (gauge.limit, gauge.level) == (7168, "over") == (7168, Budget(8192, 1024).level(7300))
    assert format_headline(gauge, "en") == "7.3K / 7K (102%)"
    assert Gauge(used=4400, window=8192, reserve=1024).level == "warm"
    assert tuple(remaining_row(gauge, "en")) == ("remaining", 0, 0)


def test_numbers_are_as_people_say_them() -> None:
    said = [
        format_tokens(n) for n in (0, 999, 1000, 4218, 8192, 32_768, 131_072, 200_000, 999_960, 1_000_000, 1_048_576)
    ]
    assert said == ["0", "999", "1K", "4.2K", "8K", "32K", "128K", "200K", "1M", "1M", "1M"]


def test_a_bar_is_full_only_when_the_window_is() -> None:
    assert [draw_bar(share, 5) for share in (0, 0.001, 0.5, 0.999, 1, 1.7)] == [
        "░░░░░", "█░░░░", "███░░", "████░", "█████", "█████",
    ]  # fmt: skip


def test_a_download_says_how_far_it_is_and_a_start_only_what_it_is() -> None:
    assert draw_progress("qwen", 512 * 2**20, 1024 * 2**20) == "qwen  ██████████░░░░░░░░░░ 512 / 1,024 MB (50%)"
    assert draw_progress("Loading qwen …", 0, 1) == "Loading qwen …"


def test_one_line_says_the_level_without_colours_and_what_comes_next() -> None:
    gauge = Gauge(used=7000, window=8192, coming="old outputs fold at 7,168 tokens")
    assert format_gauge(gauge, "en", 60) == "7K / 8K (85%) !! ████████████░░  old outputs fold at 7,168 …"


@pytest.mark.parametrize(
    ("width", "told"),
    [(80, "no folding until 99 % (28,385 tokens)"), (64, "no folding until 99 %"), (45, "no folding until…")],
)
def test_what_comes_next_ends_where_a_part_of_the_sentence_does(width: int, told: str) -> None:
    coming = "no folding until 99 % (28,385 tokens); then folds"
    line = format_gauge(Gauge(used=6200, window=32768, reserve=4096, coming=coming), "en", width)
    assert line.partition("░  ")[2] == told


@given(st.text(), st.integers(1, 60))
def test_what_is_clipped_fits(text: str, width: int) -> None:
    assert count_columns(clip(text, width)) <= width


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.text(), st.integers(20, 200))
def test_a_line_fits_its_columns(used: int, window: int, coming: str, width: int) -> None:
    assert count_columns(format_gauge(Gauge(used=used, window=window, coming=coming), "ja", width)) <= max(width, 24)


def test_of_a_long_text_both_ends_are_shown_and_how_long_it_is() -> None:
    assert abridge("x" * 20_000, "en") == "x" * 20_000
    text = "".join(f"line {number}\n" for number in range(1_000_000))
    shown = abridge(text, "en")
    assert len(shown) < 4_000 and shown.startswith("line 0\nline 1\n") and shown.endswith("\nline 999999\n")
    assert "\n… 11.3 MB, 1,000,001 lines in all; /export writes all of it …\n" in shown
    assert len(abridge("余" * 10**6, "ja")) < 4_000


def test_a_huge_text_is_clipped_by_its_beginning() -> None:
    assert clip("word " * 10**7, 12) == "word word w…"
    assert clip(" " * 10**7, 12) == "…"


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("bash", '{"command": "ls -la"}', "$ ls -la"),
        ("bash", '{"cmd": ["ls"]}', '$ ["ls"]'),
        ("bash", "ls", "$ ls"),
        ("edit", '{"path": "a.py", "old_string": "a", "new_string": "b"}', "Edit a.py"),
        ("Read", '{"file_path": "a"}', 'Read {"file_path": "a"}'),
        ("read", '{"path": 5}', None),
        ("edit", "[]", "edit []"),
    ],
)
def test_a_call_is_named_as_its_tool_says_or_as_it_was_asked(name: str, arguments: str, title: str | None) -> None:
    told = call_title(Call("1", name, arguments))
    assert told == title if title else told


def test_a_title_is_bounded() -> None:
    assert len(call_title(Call("1", "x", "y" * 10_000))) == 200


def test_a_text_is_wrapped_at_blanks_and_between_wide_characters() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("読むのは自由に、変更や実行の前には確認します。", 12) == [
        "読むのは自由",
        "に、変更や実",
        "行の前には確",
        "認します。",
    ]
    assert wrap("確認します。", 10) == ["確認します。"]  # a full stop does not begin a line
    assert wrap("--all で全フォルダー", 9) == ["--all で", "全フォル", "ダー"]
    assert wrap("", 5) == [""] and wrap("unbreakable", 4) == ["unbreakable"]
    assert wrap_lines("short\n  one two three", 9) == ["short", "  one two", "  three"]


def test_the_second_column_of_a_table_stays_one_where_it_is_wrapped() -> None:
    assert wrap_lines("/clear  start over and again", 20) == ["/clear  start over", "        and again"]
    assert wrap_lines("消去    最初からやり直します", 20) == ["消去    最初からや", "        り直します"]
    assert wrap_lines("a first column too long  one two", 25) == ["a first column too long", "one two"]
