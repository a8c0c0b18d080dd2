"""A model that follows a script, and an agent that talks with it: the loop without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TextDelta, ThoughtDelta, TurnEnded, UserNotice
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolKind, ToolResult
from yohaku.client.endpoint import Endpoint
from yohaku.client.speed import ModelSpeed
from yohaku.core.model import Call, Reply, Text
from yohaku.core.recipe import Question
from yohaku.dialects.answer import Answer, Usage
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

Line: TypeAlias = "Answer | Exception | Callable[[Any], Awaitable[Answer]]"

HERE = Endpoint("fake", "fake", "openai_chat", "http://127.0.0.1:1", "scripted", local=True)


class ScriptedClient:
    """Says its lines one after the other, and keeps what it was sent."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)
        self.sent: list[Any] = []
        self.window = self.reserve = 0
        self.closed = False
        self.begins = False
        self.speed = ModelSpeed()

    async def send(self, body: Any, hear: Callable[[TextDelta | ThoughtDelta], None], *, weighs: int = 0) -> Answer:
        self.sent.append(json.loads(json.dumps(body)))
        await asyncio.sleep(0)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        answer = line if isinstance(line, Answer) else await line(hear)
        for item in answer.reply.items:
            if isinstance(item, Text):
                hear(TextDelta(item.text))
        return answer

    async def ask(self, question: Question) -> str:
        return "<summary>What was done.</summary>"

    async def close(self) -> None:
        self.closed = True


def says(text: str = "", *calls: Call, stop: str = "stop", prompt: int = 0) -> Answer:
    usage = Usage(prompt, output=len(text)) if prompt else None
    return Answer(Reply((*((Text(text),) if text else ()), *calls)), usage, stop)


def calls(name: str, number: int = 1, **arguments: Any) -> Call:
    return Call(f"call_{number}", name, json.dumps(arguments))


def tool(
    name: str, run: Callable[[ToolContext, Arguments], Awaitable[ToolResult]], kind: ToolKind = "read"
) -> AgentTool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return AgentTool(
        name, f"The tool {name}.", schema, kind, run, lambda given: f"{name} {given.get('path', '')}".strip()
    )


async def gives(bench: ToolContext, arguments: Arguments) -> ToolResult:
    return ToolResult(f"the content of {arguments.get('path')}")


READ = tool("read", gives)


def agent(root: Path, *lines: Line, window: int = 20_000, tools: tuple[AgentTool, ...] = (READ,), **how: Any) -> Agent:
    session = how.pop("session", None) or Session(window, dialect="openai_chat", meter=ByteMeter())
    client: Any = ScriptedClient(*lines)
    return Agent(
        how.pop("endpoint", HERE), window=window, root=root, tools=tools, session=session, client=client, **how
    )


def play(one: Agent, *prompts: str, on: Callable[[Event], None] = lambda event: None) -> list[Event]:
    async def played() -> list[Event]:
        found: list[Event] = []
        for prompt in prompts:
            async for event in one.work(prompt):
                found.append(event)
                on(event)
        return found

    return asyncio.run(played())


def sent(one: Agent) -> list[Any]:
    client: Any = one.context.client
    found: list[Any] = client.sent
    return found


def ended(events: list[Event]) -> TurnEnded:
    (last,) = [event for event in events if isinstance(event, TurnEnded)]
    assert events[-1] is last
    return last


def told(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, UserNotice)]
