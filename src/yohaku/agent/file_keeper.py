"""Keeping of files around the calls of an agent: before a call may change something, and after it has.

Law: files are kept after the user has allowed a call and before it runs, whatever tool it is; a call whose files cannot
be kept runs all the same, and the user is told of it in the question.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.file_history.losses import describe_losses
from yohaku.agent.toolkit.tool import PermissionRequest


class FileKeeper:
    def __init__(self, history: FileHistory, lang: str) -> None:
        self.history, self.lang = history, lang
        self._open: dict[str, list[int]] = {}
        """Changes that a call has begun, by its id."""

    async def explain(self, request: PermissionRequest) -> PermissionRequest:
        """Add to a question what could not be brought back."""
        if not _may_change(request):
            return request
        trouble = await asyncio.to_thread(self.history.prepare) if request.kind == "run" else self.history.trouble
        if trouble in ("too_big", "inside") and request.paths:
            trouble = ""
        return replace(request, lost=describe_losses(request, self.history.root, trouble, self.lang))

    async def begin(self, call: str, request: PermissionRequest) -> None:
        """Keep what this call may change."""
        if _may_change(request):
            change = await asyncio.to_thread(self.history.begin, request.title, request.paths)
            self._open.setdefault(call, []).append(change)

    async def end(self, call: str) -> None:
        """Write down what a call has changed; also when it is being stopped."""
        for change in self._open.pop(call, []):
            await asyncio.shield(asyncio.to_thread(self.history.end, change))


def _may_change(request: PermissionRequest) -> bool:
    return request.kind == "write" or (request.kind == "run" and not request.harmless)
