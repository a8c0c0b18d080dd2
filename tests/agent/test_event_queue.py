from __future__ import annotations

import asyncio

import pytest

from yohaku.agent.event_queue import Endless, EventQueue, Stopped
from yohaku.agent.events import Event, TextDelta, UserNotice


async def heard(ear: EventQueue, *events: Event) -> list[Event]:
    async def work() -> None:
        for event in events:
            ear.hear(event)

    return [event async for event in ear.of(work())]


def test_everything_is_heard_in_order() -> None:
    events = (TextDelta("a"), UserNotice("b"), TextDelta("c"))
    assert asyncio.run(heard(EventQueue(), *events)) == list(events)


def test_what_was_told_while_nobody_listened_is_heard_first() -> None:
    ear = EventQueue()
    ear.hear(TextDelta("lost"))
    ear.hear(UserNotice("kept"))
    assert asyncio.run(heard(ear, TextDelta("new"))) == [UserNotice("kept"), TextDelta("new")]


def test_what_goes_wrong_comes_out() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    async def run() -> None:
        async for _ in EventQueue().of(work()):
            pass

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_what_is_being_done_can_be_stopped_and_nothing_begins_after_it() -> None:
    async def run() -> list[str]:
        ear, log = EventQueue(), []

        async def work() -> None:
            asyncio.get_running_loop().call_soon(ear.stop)
            for name in ("first", "second"):
                try:
                    await ear.doing(asyncio.sleep(3_600))
                except Stopped:
                    log.append(name)

        _ = [event async for event in ear.of(work())]
        return log

    assert asyncio.run(run()) == ["first", "second"]


def test_words_without_end_end_what_is_being_done() -> None:
    async def run() -> None:
        ear = EventQueue()

        async def babbles() -> None:
            while True:
                ear.hear(TextDelta("again and again "))
                await asyncio.sleep(0)

        await ear.doing(babbles())

    with pytest.raises(Endless):
        asyncio.run(run())
