"""What happens, on its way to the surface; and the one thing going on at a moment, which can be stopped.

Law: whatever is stopped ends before anything else begins. A model that repeats the same words is stopped by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from yohaku.agent.events import Event, TextDelta, UserNotice
from yohaku.agent.small_models.repetition import LOOKED, endless

T = TypeVar("T")

EVERY = 500
"""Characters after which a reply is looked at again for words without end."""


ENDS = "}>`)"
"""Signs behind which a call that is written as text may be whole."""


class Stopped(Exception):
    """By the user."""


class Endless(Exception):
    """The model cannot find an end."""


class Enough(Exception):
    """What the model has said is all that is wanted of it."""


class EventQueue:
    def __init__(self) -> None:
        self.enough: Callable[[str], bool] | None = None
        """Whether what was said so far will do; asked where something may have come to its end."""
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._now: asyncio.Future[Any] | None = None
        self._stopping = False
        self.forget()

    def forget(self) -> None:
        """A new reply begins."""
        self._said: list[str] = []
        self._tail = ""
        self._fresh = 0
        self._endless = self._enough = False

    @property
    def said(self) -> str:
        """What the model has said of its reply so far."""
        return "".join(self._said)

    @property
    def behind(self) -> int:
        """Events nobody has looked at yet."""
        return self._events.qsize()

    def hear(self, event: Event) -> None:
        self._events.put_nowait(event)
        if isinstance(event, TextDelta):
            self._said.append(event.text)
            self._listen(event.text)
            if (self._endless or self._enough) and self._now:
                self._now.cancel()

    def _listen(self, text: str) -> None:
        self._tail = (self._tail + text)[-LOOKED:]
        self._fresh += len(text)
        if self._fresh >= EVERY:
            self._fresh, self._endless = 0, endless(self._tail)
        if self.enough and any(sign in text for sign in ENDS):
            self._enough = self.enough(self.said)

    async def of(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[Event, None]:
        """Everything that is heard while `work` is done. Closing this stops it."""
        self._begin()
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                yield event
            await task
        finally:
            if not task.done():
                self.stop()
                await asyncio.wait([task])

    def _begin(self) -> None:
        """What was told since the last work, when nobody listened, is still to be read."""
        told = [event for event in self._left() if isinstance(event, UserNotice)]
        self._events, self._stopping = asyncio.Queue(), False
        for event in told:
            self._events.put_nowait(event)

    def _left(self) -> Iterator[Event | None]:
        while not self._events.empty():
            yield self._events.get_nowait()

    async def doing(self, work: Coroutine[Any, Any, T]) -> T:
        """What may be stopped."""
        if self._stopping:
            work.close()
            raise Stopped
        self._now = task = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            if self._stopping:
                raise Stopped from None
            if self._enough:
                raise Enough from None
            if self._endless:
                raise Endless from None
            raise
        finally:
            self._now = None

    def stop(self) -> None:
        self._stopping = True
        if self._now:
            self._now.cancel()
