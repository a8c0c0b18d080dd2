"""What a terminal sends while something is pasted, taken in pieces: letter by letter ten megabytes take a long time.

Law: a paste is one event, whatever stands in it; everything else is left to the parser of Textual.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

START, END = "\x1b[200~", "\x1b[201~"
KEPT = len(END) - 1
"""Letters that are looked at again with the next piece, as the end may come in two."""


class FastPaste(XTermParser):
    _pasting: list[str] | None = None
    """What has come so far; None where nothing is being pasted."""

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
