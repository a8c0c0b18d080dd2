"""Calls of a reply: what is stopped, at whatever moment, leaves a conversation that can be sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import checkers
from tests.agent.scripted import HERE, READ, agent, calls, ended, play, says, sent, tool
from yohaku.agent.agent import Agent
from yohaku.agent.events import TextDelta, ToolFinished, ToolOutput, TurnEnded
from yohaku.agent.tool_calls import room_for_results, share_of_room
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import Arguments, PermissionRequest, ToolContext, ToolResult
from yohaku.agent.tools import tools_for
from yohaku.core.budget import Budget
from yohaku.core.errors import StoreFailed
from yohaku.core.weigh import Ledger
from yohaku.dialects.answer import Answer
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
        one.context.client.lines[:] = [says("Fine.")]  # type: ignore[attr-defined]
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


# -- the room of a step


def ledger(turns: int, fixed: int = 1_000) -> Ledger:
    return Ledger(system=fixed, tools=0, turns=turns, last=0, request=0)


def test_tools_may_give_six_tenths_of_what_remains() -> None:  # L2
    budget = Budget(100_000, 10_000)
    assert room_for_results(budget, ledger(19_000)) == int((100_000 - 20_000 - 10_000 - 10_000) * 0.6)


def test_a_full_window_still_leaves_room_for_a_result_since_older_things_make_way() -> None:
    budget = Budget(8_192, 1_024)
    assert room_for_results(budget, ledger(6_000)) == int((7_168 - 1_000) * 0.3)


@given(st.integers(2_048, 2_000_000), st.floats(0, 1), st.floats(0, 1))
def test_what_tools_may_give_never_crowds_out_what_cannot_be_folded(window: int, fixed: float, full: float) -> None:
    budget = Budget.of(window)
    at = int(budget.limit * fixed)
    room = room_for_results(budget, ledger(int((budget.limit - at) * full), at))
    assert 0 <= room <= max(0, budget.limit - at)


def test_what_one_call_leaves_over_goes_to_the_next() -> None:
    assert share_of_room(900, 3) == 300
    assert share_of_room(900 - 10, 2) == 445
    assert share_of_room(0, 2) == 1


# -- the real tools in their context: permission, refusal, output on the screen

SMALL = tools_for("small")


class User:
    """Answers every question the same way."""

    def __init__(self, answer: Literal["once", "always", "no"]) -> None:
        self.answer = answer
        self.asked: list[PermissionRequest] = []

    async def __call__(self, ask: PermissionRequest) -> Literal["once", "always", "no"]:
        self.asked.append(ask)
        return self.answer


def test_a_bug_is_found_fixed_and_checked(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("PORT = 8080\nprint(PORT)\n")
    user = User("once")
    one = agent(
        tmp_path,
        says("", calls("grep", 1, pattern="PORT")),
        says("", calls("read", 2, path="app.py")),
        says("", calls("edit", 3, path="app.py", old_string="8080", new_string="9090")),
        says("", calls("bash", 4, command="cat app.py")),
        says("The port is 9090 now."),
        tools=SMALL,
        allow=user,
    )
    events = play(one, "Make the port 9090.")
    assert ended(events).text == "The port is 9090 now."
    assert (tmp_path / "app.py").read_text() == "PORT = 9090\nprint(PORT)\n"
    assert [ask.tool for ask in user.asked] == ["edit", "bash"]
    called = {event.call.name: event for event in events if isinstance(event, ToolFinished)}
    assert "+PORT = 9090" in called["edit"].diff and not called["edit"].result.error
    assert "PORT = 9090" in called["bash"].result.text
    assert "PORT = 9090" in "".join(event.text for event in events if isinstance(event, ToolOutput))
    assert not any("changed on disk" in str(body) for body in sent(one)), "what it changed itself is no news to it"


@pytest.mark.parametrize("mode", ["ask", "read-only"])
def test_what_is_not_allowed_is_not_done_and_the_model_is_told(
    tmp_path: Path, mode: Literal["ask", "read-only"]
) -> None:
    one = agent(
        tmp_path,
        says("", calls("write", 1, path="new.txt", content="x")),
        says("Then not."),
        tools=SMALL,
        allow=User("no"),
        permissions=Permissions(mode),
    )
    events = play(one, "Write it.")
    assert ended(events).why == "done" and not (tmp_path / "new.txt").exists()
    (called,) = [event for event in events if isinstance(event, ToolFinished)]
    assert called.result.error


def test_a_command_that_is_stopped_is_ended_with_all_it_started(tmp_path: Path) -> None:
    one = agent(
        tmp_path,
        says("", calls("bash", 1, command="echo begun; sleep 600 & sleep 600; touch never")),
        tools=SMALL,
        permissions=Permissions("yolo"),
    )
    events = play(one, "Go.", on=lambda event: one.stop() if isinstance(event, ToolOutput) else None)
    assert ended(events).why == "stopped" and not (tmp_path / "never").exists()
