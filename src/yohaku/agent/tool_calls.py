"""The calls of one reply, run: each has a result at the end, whatever happens in between.

Law: calls run in order; neighbours that only read run together. What they give is within the room of the step, and
a step that is stopped has results that say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from yohaku.agent.events import ToolFinished, ToolStarted
from yohaku.agent.strategy import shares, tool_room
from yohaku.agent.tool_context import AgentToolContext
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.tool import AgentTool, ToolResult
from yohaku.core.errors import StoreFailed
from yohaku.core.folds import arguments_of, ref_of
from yohaku.core.model import Call, Opaque, Part, Reply, Result, Text
from yohaku.dialects.dialect import RAW, arguments_object

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent

STOPPED = "[stopped by the user]"
NOTHING = "(no output)"
CUT = "[… cut here: {count:,} characters, more than there is room for{kept} …]"
UNSEEN = "(an image, which this model cannot be shown)"
SLACK = 1.1
"""A tool keeps to its room by itself; this much over it is let through."""


async def used(agent: Agent, reply: Reply, results: dict[str, Result]) -> None:
    """Puts the result of each call into `results`, as they come: whoever stops this finds there what there is."""
    left, waiting = tool_room(agent.session.budget, agent.ledger), len(reply.calls)
    for group in _groups(agent, reply.calls):
        share = shares(left, waiting) * len(group)
        with output_budget.open(share, agent.meter):
            await agent.doing(_together(agent, group, share // len(group), results))
        left -= sum(agent.weigher.parts(results[call.id].parts) for call in group)
        waiting -= len(group)


def stopped(reply: Reply, results: dict[str, Result]) -> dict[str, Result]:
    """Whatever has no result gets one that says why."""
    return {call.id: results.get(call.id) or Result((Text(STOPPED),), error=True) for call in reply.calls}


async def _together(agent: Agent, calls: list[Call], share: int, results: dict[str, Result]) -> None:
    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(_use(agent, call, share, results))


def _groups(agent: Agent, calls: tuple[Call, ...]) -> Iterator[list[Call]]:
    def reads(call: Call) -> bool:
        tool = agent.tool(call.name)
        return tool is not None and tool.kind == "read"

    for together, found in groupby(calls, reads):
        group = list(found)
        yield from [group] if together else [[call] for call in group]


async def _use(agent: Agent, call: Call, share: int, results: dict[str, Result]) -> None:
    tool = agent.tool(call.name)
    title = _title(tool, call)
    agent.hear(ToolStarted(call, title))
    try:
        given = await _given(agent, tool, call)
    except asyncio.CancelledError:
        agent.hear(ToolFinished(call, Result((Text(STOPPED),), error=True), title))
        raise
    text, cut = _within(agent, given.text or NOTHING, share)
    agent.cuts += cut or given.cut
    results[call.id] = Result((Text(text), *_seen(agent, given)), given.error)
    agent.hear(ToolFinished(call, results[call.id], title, given.diff))


async def _given(agent: Agent, tool: AgentTool | None, call: Call) -> ToolResult:
    if tool is None:
        known = ", ".join(each.name for each in agent.tools)
        return ToolResult(f"There is no tool {call.name!r}. Take one of: {known}.", error=True)
    from yohaku.agent.tools import use  # the tools load when one is used

    try:
        said = arguments_object(call.arguments).get(RAW, call.arguments)  # a tool may mend what is no JSON
        return await use(tool, AgentToolContext(agent, call.id), said)
    except Exception as failed:  # a tool may be anybody's: what goes wrong in it is the model's to know, not our end
        return ToolResult(f"{call.name} failed: {type(failed).__name__}: {failed}", error=True)


def _seen(agent: Agent, given: ToolResult) -> tuple[Part, ...]:
    """Images, for a model that is known to take them in results: another would refuse the whole conversation."""
    if agent.conversation.dialect.images_in_results:
        return tuple(Opaque("image", data, "base64", mime) for mime, data in given.media)
    return (Text(UNSEEN),) if given.media and not given.text else ()


def _within(agent: Agent, text: str, share: int) -> tuple[str, bool]:
    """What a tool gave, cut here where it did not keep to its room; the original is kept, and can be opened."""
    if len(text) <= share or agent.meter.count(text) <= share * SLACK:
        return text, False
    kept = f"; ref={ref_of(text)}"
    try:
        agent.session.store.put(ref_of(text), text)
    except StoreFailed:  # the session tells the user; the model goes on with what it sees
        kept = ""
    with output_budget.open(share, agent.meter):
        return output_budget.ends(text, CUT.format(count=len(text), kept=kept))


def _title(tool: AgentTool | None, call: Call) -> str:
    if tool is None:
        return call.name
    try:
        return tool.title(arguments_of(call.arguments))
    except (KeyError, TypeError, ValueError, AttributeError):  # the model left out what the title tells
        return call.name
