"""A reply as it comes, in Markdown.

Law: however fast the model speaks, the page is drawn at most fifteen times a second, and more seldom when drawing is
slow; what was heard is all there when the reply is whole.
"""

from __future__ import annotations

from time import monotonic

from textual.widgets import Markdown

from yohaku.agent.showing import clean

PAUSE = 1 / 15
"""Seconds between two drawings."""
SHARE = 3
"""A drawing may take one part in so many of the time."""


class Reply(Markdown):
    def __init__(self, text: str = "") -> None:
        super().__init__(clean(text), open_links=False)
        self._waiting: list[str] = []
        self._due = 0.0
        self.drawn = 0

    def on_mount(self) -> None:
        self._ticking = self.set_interval(PAUSE, self._tick)

    def hear(self, text: str) -> None:
        self._waiting.append(text)

    async def end(self) -> None:
        """Nothing more will come."""
        self._ticking.stop()
        await self._draw()

    async def _tick(self) -> None:
        if self._waiting and monotonic() >= self._due:
            await self._draw()

    async def _draw(self) -> None:
        if not self._waiting:
            return
        text, self._waiting = clean("".join(self._waiting)), []
        begun = monotonic()
        await self.append(text)
        self.drawn += 1
        self._due = monotonic() + SHARE * (monotonic() - begun)
