"""A sub-agent: a task of its own, in a window of its own, of which only the result comes back.

Law: it folds by the same rules, changes nothing unless the user allows it as always, and starts no others. What it
brings back is within the room of the call that asked for it. It is a running tool: the folding of its parent does
not touch it, and stopping the parent's step stops it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from yohaku.agent.events import Event, ToolStarted, TurnEnded, UserNotice
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.tool import AgentTool

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent

STEPS = 50
"""Replies that one task may take."""

INNER = ("sub_agent", "ask_user", "todo")
"""What belongs to the conversation with the user alone."""

TASK = """\
{task}

You work alone on this: nobody can answer questions. Find out what is asked, then reply with the result only: facts, \
paths with line numbers, short quotations. Your reply is all that is handed on."""

NOTHING = "The sub-agent ended without a result ({why}). Do it yourself, or give it a smaller task."
CUT = "[… the sub-agent's answer is cut here …]"


async def delegate(parent: Agent, task: str, show: Callable[[str], None]) -> str:
    from yohaku.agent.loop import Agent

    with parent.beside() as session:
        hand = Agent(
            parent.endpoint,
            window=parent.window,
            root=parent.root,
            tools=tools_of(parent.tools, parent.permissions.mode == "yolo"),
            session=session,
            permissions=parent.permissions,
            lang=parent.lang,
            allow=parent.allow,
            talk=parent.talk,
            steps=STEPS,
        )
        async with aclosing(hand.work(TASK.format(task=task))) as events:
            ended = await _shown(events, show)
    parent.foldings += hand.foldings
    if not ended.text.strip():
        return NOTHING.format(why=ended.why)
    return output_budget.head(ended.text, CUT)[0]


async def _shown(events: AsyncIterator[Event], show: Callable[[str], None]) -> TurnEnded:
    """How it ended; on the way the user sees what it does, a line each."""
    ended = TurnEnded("failed")
    async for event in events:
        match event:
            case ToolStarted(_, title):
                show(f"{title}\n")
            case UserNotice(text, "warning" | "error"):
                show(f"{text}\n")
            case TurnEnded():
                ended = event
    return ended


def tools_of(tools: tuple[AgentTool, ...], changes: bool) -> tuple[AgentTool, ...]:
    """Those that only look; with `changes` also those that do something."""
    kinds = ("read", "inner", "net", *(("write", "run") if changes else ()))
    return tuple(tool for tool in tools if tool.name not in INNER and tool.kind in kinds)
