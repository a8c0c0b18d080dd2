"""Markdown drawn for a width, and cut into pieces that read as the whole did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.format import count_columns
from yohaku.tui.markdown import render_markdown, split_markdown

PAGE = """# Title

Some *text* with `code`, 日本語の長い文章がここにあります。

- one
- two

```python
def f(x):
    return x
```

| a | b |
|---|---|
| 1 | 2 |
"""


def test_a_page_is_drawn_with_its_parts_at_the_left_and_code_in_colours() -> None:
    page = render_markdown(PAGE, 40)
    lines = [line.rstrip() for line in page.plain.split("\n")]
    assert lines[:4] == ["Title", "", "Some text with code,", "日本語の長い文章がここにあります。"]
    assert " • one" in lines and "     return x" in lines and " a  b" in lines
    code = page.plain.index("def f")
    assert any(span.start <= code < span.end and getattr(span.style, "foreground", None) for span in page.spans)


@pytest.mark.parametrize("width", [20, 40, 200])
def test_no_line_is_wider_than_it_may_be(width: int) -> None:
    assert max(count_columns(line) for line in render_markdown(PAGE + "x" * 500, width).plain.split("\n")) <= width


def test_markup_is_only_letters() -> None:
    assert render_markdown("[bold]a[/bold] <b>", 40).plain == "[bold]a[/bold] <b>"


@given(st.lists(st.sampled_from(["a b\n", "\n", "- x\n", "  y\n", "> q\n", "word"])).map("".join), st.integers(1, 20))
def test_pieces_of_a_text_without_code_are_the_text(text: str, most: int) -> None:
    done, rest = split_markdown(text, most)
    assert "".join(done) + rest == text
    assert all(piece.endswith("\n") for piece in done)


@given(st.integers(0, 60), st.integers(1, 40))
def test_a_long_piece_of_code_is_closed_and_opened_again(count: int, most: int) -> None:
    code = [f"line{number}\n" for number in range(count)]
    done, rest = split_markdown("```py\n" + "".join(code) + "```\n\nend\n", most)
    pieces = [*done, rest]
    assert [line + "\n" for piece in pieces for line in piece.split("\n") if line.startswith("line")] == code
    assert all(piece.count("```") == 2 for piece in pieces if "line" in piece)
    assert all("```py\n```" not in piece for piece in pieces if count)


def test_what_is_written_bit_by_bit_is_parted_as_the_whole() -> None:
    text = "\n\n".join(f"paragraph {number}" for number in range(50)) + "\n"
    whole = split_markdown(text, 40)
    done, rest = [], ""
    for letter in text:
        more, rest = split_markdown(rest + letter, 40)
        done += more
    assert (done, rest) == whole


def test_code_in_a_sentence_has_no_black_box_on_a_light_background() -> None:
    for dark in (True, False):
        drawn = render_markdown("Call `percent` now.", 40, dark=dark)
        assert drawn.plain == "Call percent now."
        boxes = [style.background for span in drawn.spans if not isinstance(style := span.style, str)]
        assert any(boxes) is dark
