"""A reply while it streams, in Markdown.

Law: it is drawn at most fifteen times a second, less often when drawing is slow, and only its end is drawn again. When
the reply ends all of it is shown.
"""

from __future__ import annotations

from time import monotonic

from textual import events
from textual.containers import Vertical
from textual.widgets import Static

from yohaku.agent.format import strip_controls
from yohaku.tui.markdown import render_markdown, split_markdown

DRAW_INTERVAL = 1 / 15
"""Seconds between two drawings."""
MAX_DRAW_SHARE = 3
"""Pause after a drawing, as a multiple of its duration."""
DEFAULT_WIDTH = 78
"""Columns, before the width is known."""


class ReplyBlock(Static):
    """A part of the reply, drawn for the width there is."""

    def __init__(self, text: str, width: int) -> None:
        super().__init__("", markup=False)
        self.text = text
        self._drawn = 0
        self.draw(width)

    def say(self, text: str) -> None:
        if text != self.text:
            self.text, width = text, self._drawn
            self._drawn = 0
            self.draw(width)

    def draw(self, width: int) -> None:
        if width and width != self._drawn:
            self._drawn = width
            self.update(render_markdown(self.text, width, dark=self.app.current_theme.dark))

    def on_resize(self, event: events.Resize) -> None:
        self.draw(event.size.width)


class ReplyEntry(Vertical):
    def __init__(self) -> None:
        super().__init__()
        self._heard: list[str] = []
        self._waiting: list[str] = []
        self._tail = ""
        self._due = 0.0
        self.drawings = 0

    @property
    def source(self) -> str:
        return "".join(self._heard)

    def on_mount(self) -> None:
        self._ticking = self.set_interval(DRAW_INTERVAL, self._tick)

    def hear(self, text: str) -> None:
        self._waiting.append(text)

    async def end(self) -> None:
        """Draw what is left and stop."""
        self._ticking.stop()
        await self._draw()

    async def _tick(self) -> None:
        if self._waiting and monotonic() >= self._due:
            await self._draw()

    async def _draw(self) -> None:
        if not self._waiting:
            return
        text, self._waiting = strip_controls("".join(self._waiting)), []
        self._heard.append(text)
        begun = monotonic()
        done, self._tail = split_markdown(self._tail + text)
        pieces = list(self.query(ReplyBlock))
        if pieces:
            pieces[-1].say([*done, self._tail][0])
        new = [*done, self._tail][1 if pieces else 0 :]
        width = pieces[-1].size.width if pieces else 0
        await self.mount_all(
            self._piece(each, width or self._width, bool(pieces) or each is not new[0]) for each in new
        )
        self.drawings += 1
        self._due = monotonic() + MAX_DRAW_SHARE * (monotonic() - begun)

    def _piece(self, text: str, width: int, follows: bool) -> ReplyBlock:
        piece = ReplyBlock(text, width)
        piece.set_class(follows, "-follows")
        return piece

    @property
    def _width(self) -> int:
        return self.content_size.width or DEFAULT_WIDTH
