from __future__ import annotations

import asyncio

import pytest

from yohaku.agent.event_queue import EndlessReply, EventQueue, Stopped
from yohaku.agent.events import Event, TextDelta, UserNotice


async def collect(queue: EventQueue, *events: Event) -> list[Event]:
    async def work() -> None:
        for event in events:
            queue.emit(event)

    return [event async for event in queue.run(work())]


def test_everything_is_heard_in_order() -> None:
    events = (TextDelta("a"), UserNotice("b"), TextDelta("c"))
    assert asyncio.run(collect(EventQueue(), *events)) == list(events)


def test_what_was_told_while_nobody_listened_is_heard_first() -> None:
    queue = EventQueue()
    queue.emit(TextDelta("lost"))
    queue.emit(UserNotice("kept"))
    assert asyncio.run(collect(queue, TextDelta("new"))) == [UserNotice("kept"), TextDelta("new")]


def test_what_goes_wrong_comes_out() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    async def run() -> None:
        async for _ in EventQueue().run(work()):
            pass

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_what_is_being_done_can_be_stopped_and_nothing_begins_after_it() -> None:
    async def run() -> list[str]:
        queue, log = EventQueue(), []

        async def work() -> None:
            asyncio.get_running_loop().call_soon(queue.stop)
            for name in ("first", "second"):
                try:
                    await queue.run_cancellable(asyncio.sleep(3_600))
                except Stopped:
                    log.append(name)

        _ = [event async for event in queue.run(work())]
        return log

    assert asyncio.run(run()) == ["first", "second"]


def test_words_without_end_end_what_is_being_done() -> None:
    async def run() -> None:
        queue = EventQueue()

        async def babbles() -> None:
            while True:
                queue.emit(TextDelta("again and again "))
                await asyncio.sleep(0)

        await queue.run_cancellable(babbles())

    with pytest.raises(EndlessReply):
        asyncio.run(run())
