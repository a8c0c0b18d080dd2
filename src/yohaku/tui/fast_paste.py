"""Terminal parser that reads a paste in blocks: letter by letter ten megabytes take minutes.

Law: a paste is one event, whatever it contains; everything else is left to Textual's parser.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

START, END = "\x1b[200~", "\x1b[201~"
KEPT = len(END) - 1
"""Letters searched again with the next block, because the end mark may be cut in two."""


class FastPaste(XTermParser):
    _pasting: list[str] | None = None
    """Blocks so far; None outside a paste."""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:  # the end of all input
            yield from super().feed(data)
        while data:
            if self._pasting is None:
                before, start, data = data.partition(START)
                self._pasting = [""] if start else None
                if before:
                    yield from super().feed(before)
                continue
            text, end, data = (self._pasting.pop() + data).partition(END)
            if end:
                whole, self._pasting = "".join([*self._pasting, text]), None
                yield events.Paste(whole.replace("\x00", ""))
            else:
                self._pasting += [text[:-KEPT], text[-KEPT:]]
