"""Calls of a reply: what is stopped, at whatever moment, leaves a conversation that can be sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import checkers
from tests.agent.scripted import HERE, READ, agent, calls, ended, play, says, sent, tool
from yohaku.agent.events import TextDelta, ToolFinished, TurnEnded
from yohaku.agent.loop import Agent
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.agent.tools import tools_for
from yohaku.core.errors import StoreFailed
from yohaku.dialects.dialect import Answer
from yohaku.session.session import Session
from yohaku.stores.memory import MemoryStore
from yohaku.testing import ByteMeter

TICKS = 400
"""More turns of the event loop than the script takes."""


async def lazily(bench: ToolContext, arguments: Arguments) -> ToolResult:
    bench.show("half")
    for _ in range(5):
        await asyncio.sleep(0)
    return ToolResult("done")


async def slowly(hear: Callable[[TextDelta], None]) -> Answer:
    for word in ("It ", "works"):
        hear(TextDelta(word))
        await asyncio.sleep(0)
    return says("")


def scripted(root: Path, dialect: str) -> Agent:
    endpoint = replace(HERE, dialect=dialect, local=False)  # type: ignore[arg-type]
    session = Session(20_000, dialect=dialect, meter=ByteMeter())
    reads = (calls("read", 1, path="a"), calls("read", 2, path="b"), calls("bash", 3, path="c"))
    lines = (says("First.", *reads), says("", calls("bash", 4, path="d")), slowly, *(says("Fine."),) * 4)
    tools = (READ, tool("bash", lazily, "run"))
    return agent(root, *lines, endpoint=endpoint, session=session, tools=tools)


async def stopped_after(one: Agent, ticks: int) -> TurnEnded:
    async def stop() -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)
        one.stop()

    stopping = asyncio.create_task(stop())
    last = [event async for event in one.work("Go.")][-1]
    stopping.cancel()
    assert isinstance(last, TurnEnded)
    return last


@pytest.mark.parametrize("dialect", sorted(checkers.DIALECTS))
def test_stopped_at_any_moment_the_conversation_can_go_on(tmp_path: Path, dialect: str) -> None:
    problems: dict[int, Any] = {}
    endings = set()
    for ticks in range(TICKS):
        one = scripted(tmp_path, dialect)
        why = asyncio.run(stopped_after(one, ticks)).why
        endings.add(why)
        one.talk.lines[:] = [says("Fine.")]  # type: ignore[attr-defined]
        assert ended(play(one, "Go on.")).why == "done"
        if found := checkers.DIALECTS[dialect].problems(sent(one)[-1]):
            problems[ticks] = found
        if why == "done":
            break
    assert (problems, endings) == ({}, {"stopped", "done"})


class Full(MemoryStore):
    def put(self, ref: str, original: str | bytes) -> None:
        raise StoreFailed("here", "the disk is full", "make room")


def test_a_store_that_is_full_costs_the_ref_and_not_the_step(tmp_path: Path) -> None:
    async def floods(bench: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult("line\n" * 50_000)

    session = Session(8_192, dialect="openai_chat", meter=ByteMeter(), store=Full())
    flood = (tool("read", floods),)
    one = agent(tmp_path, says("", calls("read")), says("Done."), window=8_192, tools=flood, session=session)
    events = play(one, "Go.")
    (called,) = [event for event in events if isinstance(event, ToolFinished)]
    assert "more than there is room for …]" in called.result.text


def test_the_small_tier_can_open_every_ref_it_is_shown(tmp_path: Path) -> None:
    """What is cut as it arrives is shown with a ref; the six tools of a small window open it."""
    (tmp_path / "log.txt").write_text(
        "".join(f"request {number} took {number * 7 % 97} ms\n" for number in range(3_000))
    )
    opened: list[str] = []

    async def opens(hear: Callable[[TextDelta], None]) -> Answer:
        (ref,) = set(re.findall(r"ref=(\w+)", sent(one)[-1]["messages"][-1]["content"]))
        opened.append(ref)
        return says("", calls("read", 2, path=f"ref={ref}", offset=1_500, limit=3))

    lines = (says("", calls("bash", command="cat log.txt")), opens, says("Done."))
    session = Session(16_384, dialect="openai_chat", meter=ByteMeter())
    one = agent(
        tmp_path, *lines, window=16_384, tools=tools_for("small"), session=session, permissions=Permissions("yolo")
    )
    results = [event.result.text for event in play(one, "Go.") if isinstance(event, ToolFinished)]
    assert results[1] == (
        f"[ref={opened[0]}: lines 1,500-1,502 of 3,000]\n  1500: request 1499 took 17 ms\n"
        "  1501: request 1500 took 24 ms\n  1502: request 1501 took 31 ms\n[more from offset=1503]"
    )
