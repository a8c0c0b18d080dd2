"""The bench a tool works at: one for each call, so that what it prints is known to be its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from yohaku.agent.events import ToolOutput
from yohaku.agent.toolkit.tool import PermissionRequest

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent
    from yohaku.agent.toolkit.seen_files import SeenFiles
    from yohaku.session.session import Session

Allow: TypeAlias = Callable[[PermissionRequest], Awaitable[Literal["once", "always", "no"]]]
Question: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[str]]

WAITING = 2_000
"""Events a surface may be behind before it is spared the pieces of what a tool prints."""


class AgentToolContext:
    def __init__(self, agent: Agent, call: str = "") -> None:
        self._agent = agent
        self._call = call
        self.root: Path = agent.root
        self.files: SeenFiles = agent.files
        self.session: Session | None = agent.session
        self.lang: str = agent.lang
        self.todo: list[tuple[str, str]] = agent.todo

    def show(self, text: str) -> None:
        if text and self._agent.behind < WAITING:
            self._agent.hear(ToolOutput(self._call, text))

    async def allow(self, ask: PermissionRequest) -> bool:
        return await self._agent.permissions.decide(ask, self._agent.allow)

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        return await self._agent.question(text, choices)

    async def delegate(self, task: str) -> str:
        from yohaku.agent.sub_agent import delegate  # which makes an agent of its own

        return await delegate(self._agent, task, self.show)


async def nobody_allows(ask: PermissionRequest) -> Literal["once", "always", "no"]:
    return "no"


async def nobody_answers(text: str, choices: tuple[str, ...]) -> str:
    return ""
