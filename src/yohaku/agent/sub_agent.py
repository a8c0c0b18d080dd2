"""Sub-agents: a task in a window of its own, of which only the result comes back.

Law: a sub-agent folds by the same rules, changes nothing without the usual permission, and starts no others. Its result
is kept whole; the tool shows what fits into the room of the call. It is a running tool: folding the parent's
conversation does not touch it, and stopping the parent's turn stops it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

from yohaku.agent.events import Event, ToolStarted, TurnEnded, UserNotice
from yohaku.agent.toolkit.tool import AgentTool

if TYPE_CHECKING:
    from yohaku.agent.agent import Agent
    from yohaku.session.session import Session

MAX_STEPS = 50
"""Replies that one task may take."""

USER_TOOLS = ("sub_agent", "ask_user", "todo")
"""Tools that belong to the conversation with the user."""

TASK = """\
{task}

You work alone on this: nobody can answer questions. Find out what is asked, then reply with the result only: facts, \
paths with line numbers, short quotations. Your reply is all that is handed on."""

NO_RESULT = "The sub-agent ended without a result ({why}). Do it yourself, or give it a smaller task."


class SubAgentResult(NamedTuple):
    text: str
    foldings: int


async def delegate(parent: Agent, session: Session, task: str, show: Callable[[str], None]) -> SubAgentResult:
    """Work on the task in a session of its own; `show` gets a line for each thing it does."""
    from yohaku.agent.agent import Agent

    agent = Agent(
        parent.endpoint,
        window=parent.window,
        root=parent.root,
        tools=choose_tools(parent.tools, parent.permissions.mode == "yolo"),
        session=session,
        permissions=parent.permissions,
        lang=parent.lang,
        allow=parent.allow,
        client=parent.context.client,
        max_steps=MAX_STEPS,
        settings=parent.context.settings,
        file_history=parent.file_history,
    )
    async with aclosing(agent.work(TASK.format(task=task))) as events:
        ended = await _show_progress(events, show)
    text = ended.text if ended.text.strip() else NO_RESULT.format(why=ended.why)
    return SubAgentResult(text, agent.context.foldings)


async def _show_progress(events: AsyncIterator[Event], show: Callable[[str], None]) -> TurnEnded:
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


def choose_tools(tools: tuple[AgentTool, ...], changes: bool) -> tuple[AgentTool, ...]:
    """Return the tools that only read; with `changes` also those that write and run."""
    kinds = ("read", "inner", "net", *(("write", "run") if changes else ()))
    return tuple(tool for tool in tools if tool.name not in USER_TOOLS and tool.kind in kinds)
