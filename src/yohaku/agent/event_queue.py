"""The agent's events on their way to a user interface, and the one task at a time that can be stopped.

Law: a stopped task has ended before anything else begins. A reply that repeats the same words without end is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from typing import Any, Literal, TypeVar

from yohaku.agent.events import Event, TextDelta, UserNotice
from yohaku.agent.small_models.held_text import HeldText
from yohaku.agent.small_models.repetition import MAX_TAIL_CHARS, is_endless
from yohaku.agent.small_models.text_calls import CALL_END
from yohaku.messages import say

T = TypeVar("T")

ENDLESS_CHECK_CHARS = 500
"""Characters after which a reply is checked again for repetition without end."""


class Stopped(Exception):
    """The user stopped the turn."""


class EndlessReply(Exception):
    """The reply repeats itself without end."""


class ReplyComplete(Exception):
    """The rest of the reply is not needed."""


class EventQueue:
    def __init__(self, lang: str = "en") -> None:
        self._lang = lang
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Future[Any] | None = None
        self._stopping = False
        self.start_reply()

    def start_reply(
        self, is_complete: Callable[[str], bool] | None = None, holding_calls_of: Iterable[str] = ()
    ) -> None:
        """Forget the text of the last reply. `is_complete` is tried on the text of the new one as it grows.

        `holding_calls_of`: names of tools; what may be a call of one, written as text, is shown by `show_held` only.
        """
        self._is_complete = is_complete
        tools = tuple(holding_calls_of)
        self._held = HeldText(tools) if tools else None
        self._pieces: list[str] = []
        self._tail = ""
        self._unchecked = 0
        self._endless = self._complete = False

    @property
    def reply_text(self) -> str:
        """The text of the current reply so far."""
        return "".join(self._pieces)

    def show_held(self, is_call: Callable[[str], bool]) -> None:
        """Show what was held back of the reply, unless it is a call."""
        held = self._held.take() if self._held else ""
        if held and not is_call(held):
            self._events.put_nowait(TextDelta(held))

    @property
    def backlog(self) -> int:
        """Events that the user interface has not taken yet."""
        return self._events.qsize()

    def emit(self, event: Event) -> None:
        if not isinstance(event, TextDelta):
            self._events.put_nowait(event)
        elif shown := self._held.feed(event.text) if self._held else event.text:
            self._events.put_nowait(TextDelta(shown))
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
            self._check_reply(event.text)
            if (self._endless or self._complete) and self._task:
                self._task.cancel()

    def notify(self, name: str, kind: Literal["note", "warning", "error"] = "note", /, **facts: object) -> None:
        """Emit the message `name` in the user's language."""
        self.emit(UserNotice(say(name, self._lang, **facts), kind))

    def _check_reply(self, piece: str) -> None:
        self._tail = (self._tail + piece)[-MAX_TAIL_CHARS:]
        self._unchecked += len(piece)
        if self._unchecked >= ENDLESS_CHECK_CHARS:
            self._unchecked, self._endless = 0, is_endless(self._tail)
        if self._is_complete and CALL_END.search(piece):
            self._complete = self._is_complete(self.reply_text)

    async def run(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[Event, None]:
        """Yield the events emitted while `work` runs. Closing the generator stops the work."""
        self._restart()
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

    def _restart(self) -> None:
        """Keep the notices emitted since the last `run`: the user has not seen them."""
        notices = [event for event in self._drain() if isinstance(event, UserNotice)]
        self._events, self._stopping = asyncio.Queue(), False
        for event in notices:
            self._events.put_nowait(event)

    def _drain(self) -> Iterator[Event | None]:
        while not self._events.empty():
            yield self._events.get_nowait()

    async def run_cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`; raises `Stopped`, `ReplyComplete` or `EndlessReply` when it was cancelled for that."""
        if self._stopping:
            work.close()
            raise Stopped
        self._task = task = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            if self._stopping:
                raise Stopped from None
            if self._complete:
                raise ReplyComplete from None
            if self._endless:
                raise EndlessReply from None
            raise
        finally:
            self._task = None

    def stop(self) -> None:
        self._stopping = True
        if self._task:
            self._task.cancel()
