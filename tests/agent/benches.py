"""A bench for tests: a project in a folder, a user who answers as told, and everything that was shown and asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from yohaku.agent.toolkit.permissions import Mode, Permissions
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.agent.toolkit.tool import PermissionRequest, ToolResult
from yohaku.agent.tools import run_tool, tool_named
from yohaku.session.session import Session


class ABench:
    def __init__(self, root: Path, answer: Literal["once", "always", "no"] = "once", mode: Mode = "ask") -> None:
        self.root = root
        self.files = SeenFiles(root)
        self.session: Session | None = Session(window=8192)
        self.lang = "en"
        self.todo: list[tuple[str, str]] = []
        self.permissions = Permissions(mode)
        self.answer = answer
        self.careful = False
        self.prompt = ""
        self.asked: list[PermissionRequest] = []
        self.shown: list[str] = []
        self.searched: list[int] = []
        self.answers: list[str] = []
        self.tasks: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    def tell_searched(self, files: int, total: int = 0) -> None:
        self.searched.append(files)

    async def allow(self, ask: PermissionRequest) -> bool:
        async def surface(asked: PermissionRequest) -> Literal["once", "always", "no"]:
            self.asked.append(asked)
            return self.answer

        return await self.permissions.decide(ask, surface)

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        return self.answers.pop(0) if self.answers else ""

    async def delegate(self, task: str) -> str:
        self.tasks.append(task)
        return f"done: {task}"

    def use(self, name: str, **given: Any) -> ToolResult:
        return asyncio.run(run_tool(tool_named(name), self, given))
