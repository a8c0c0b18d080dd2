"""A paste from a terminal, in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from tests.tui.fake import begins
from yohaku.tui.app import YohakuApp
from yohaku.tui.fast_paste import END, START, FastPaste


def told(found: Iterable[Message]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__, event.text if isinstance(event, events.Paste) else getattr(event, "key", ""))
        for event in found
    ]


def in_pieces(data: str, cuts: list[int]) -> list[tuple[str, str]]:
    parser, found, at = FastPaste(), [], 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        if cut > at:
            found += told(parser.feed(data[at:cut]))
            at = cut
    return found


@given(st.text("ab日\n\r\t 1;~[", max_size=30), st.lists(st.integers(0, 100), max_size=8))
def test_it_comes_out_as_textual_would_read_it_however_it_is_cut(text: str, cuts: list[int]) -> None:
    data = f"x{START}{text}{END}y{START}{text}{END}"
    assert in_pieces(data, cuts) == told(XTermParser().feed(data))


def test_keys_are_read_as_before() -> None:
    keys = "a\x1b[A\x1b\rb\r\x1b[1;5C\x1b[<0;3;4M"
    assert told(FastPaste().feed(keys)) == told(XTermParser().feed(keys))


def test_no_key_is_pressed_by_what_stands_in_a_paste() -> None:
    coloured = "\x1b[31mred\x1b[0m\r\x1b[A\x03"
    assert in_pieces(f"{START}{coloured}{END}", [8, 12, 30]) == [("Paste", coloured)]


def test_the_screen_reads_by_it_in_a_terminal() -> None:
    from pathlib import Path

    from textual.drivers import linux_driver

    YohakuApp(begins(Path()))
    assert getattr(linux_driver, "XTermParser") is FastPaste  # noqa: B009 - not said to be exported
