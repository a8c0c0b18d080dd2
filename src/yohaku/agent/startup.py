"""From settings to an agent at work: the model found, its window chosen, the built-in one fetched where it is wanted.

Law: what stands in the way is told in a sentence and gives no agent; it never raises for what a user can meet.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from yohaku.agent.events import UserNotice
from yohaku.agent.protocols import Surface, WorkingAgent, is_attended
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings
from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.messages import explain, say

if TYPE_CHECKING:
    from yohaku.agent.host.capacity import ChosenWindow, MachineMemory
    from yohaku.agent.host.embedded import Serving


class Starter:
    """Makes agents for one start of the program; the built-in server it started ends with it."""

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        self.settings = settings
        self.root = root or Path.cwd()
        self._serving: Serving | None = None

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None:
        # Beside the screen, which is drawn already: all of the agent is half a second of loading.
        await asyncio.to_thread(import_module, "yohaku.agent.agent")
        try:
            if endpoint is None:
                endpoint = await self._endpoint(surface)
            if endpoint is None:
                return None
            if window is None:
                endpoint, window = await self._window(surface, endpoint)
            return self._agent(surface, endpoint, window, resume)
        except YohakuError as wrong:
            surface.tell(UserNotice(explain_error(wrong, self.settings.lang), "error"))
            if resume and window and isinstance(wrong, Malformed | Unreadable):
                surface.tell(UserNotice(say("resume_broken", self.settings.lang, name=resume), "note"))
        except OSError as wrong:
            facts = {"name": wrong.filename or "", "why": wrong.strerror or wrong}
            surface.tell(UserNotice(say("os_trouble", self.settings.lang, **facts), "error"))
        return None

    async def models(self, name: str = "") -> list[tuple[Endpoint, int]]:
        from yohaku.agent.host.find_model import find

        found = await find(self.settings if name else _unnamed(self.settings), model=name or None)
        memory = await self._memory()
        return [(endpoint, self._chosen(endpoint, memory).window) for endpoint in found]

    def close(self) -> None:
        if self._serving:
            self._serving.close()
            self._serving = None

    async def _endpoint(self, surface: Surface) -> Endpoint | None:
        from yohaku.agent.host import embedded
        from yohaku.agent.host.find_model import find

        file = self.settings.gguf if not self.settings.model else None
        found = await find(self.settings, model=str(file) if file else None)
        if found:
            return found[0]
        if path := await self._fetched(surface):
            return embedded.of_file(path)
        missing = "host_nothing_runs" if embedded.engine() else "host_nothing_found"
        surface.tell(UserNotice(say(missing, self.settings.lang), "warning"))
        return None

    async def _fetched(self, surface: Surface) -> Path | None:
        """The built-in model, if the user wants it downloaded."""
        from yohaku.agent.host import download, embedded

        offer = embedded.offer(self.settings, await self._memory())
        if offer is None:
            return None
        yes, no = say("begin_yes", self.settings.lang), say("begin_no", self.settings.lang)
        if await surface.question(offer.said(self.settings.lang), (yes, no)) != yes:
            return None
        try:
            return await download.fetch(offer, lambda here, whole: surface.progress(offer.weights.name, here, whole))
        finally:
            surface.progress("", 0, 0)

    async def _window(self, surface: Surface, endpoint: Endpoint) -> tuple[Endpoint, int]:
        from yohaku.agent.host.capacity import window_warning

        chosen = self._chosen(endpoint, await self._memory())
        if told := window_warning(chosen, self.settings.lang):
            surface.tell(UserNotice(told, "warning"))
        if endpoint.provider == "embedded" and not endpoint.url:
            from yohaku.agent.host.embedded import serve

            surface.progress(say("begin_loading", self.settings.lang, name=endpoint.model), 0, 1)
            self.close()
            self._serving = await asyncio.to_thread(serve, endpoint, chosen.window)
            surface.progress("", 0, 0)
            endpoint = self._serving.endpoint
        return endpoint, chosen.window

    def _chosen(self, endpoint: Endpoint, memory: MachineMemory) -> ChosenWindow:
        from yohaku.agent.host.choose_window import window_at
        from yohaku.agent.host.window_cache import WindowCache

        settings = self.settings
        learned = WindowCache(settings.data).window(endpoint)
        return window_at(
            endpoint,
            settings,
            memory,
            learned=learned,
            preset=settings.preset,  # type: ignore[arg-type]  # one of the three: the settings see to it
            n=settings.window,
            force=settings.force,
        )

    async def _memory(self) -> MachineMemory:
        from yohaku.agent.host.memory import memory

        return await asyncio.to_thread(memory)

    def _agent(self, surface: Surface, endpoint: Endpoint, window: int, resume: str) -> WorkingAgent:
        from yohaku.agent.agent import Agent
        from yohaku.agent.hooks import Hooks
        from yohaku.agent.toolkit.permissions import Permissions
        from yohaku.agent.toolkit.stored_permissions import StoredPermissions

        settings = self.settings
        kept = StoredPermissions(settings.data, self.root) if is_attended(surface) else None

        def always(what: str, keeps: bool) -> None:
            name = "permissions_kept" if keeps else "permissions_for_now"
            surface.tell(UserNotice(say(name, settings.lang, what=what)))

        agent = Agent(
            endpoint,
            window=window,
            root=self.root,
            tools=() if settings.chat else None,
            permissions=Permissions(settings.permissions, kept, always),  # type: ignore[arg-type]
            lang=settings.lang,
            allow=surface.allow,
            question=surface.question,
            hooks=Hooks(
                settings.hook_before,
                settings.hook_after,
                self.root,
                tell=lambda why: surface.tell(UserNotice(why, "warning")),
            ),
            settings=settings,
        )
        if resume:
            agent.resume(resume)
        return agent


def explain_error(wrong: YohakuError, lang: str) -> str:
    """The sentence of an error: its own, where it has one in the user's language."""
    own = getattr(wrong, "said", None)
    with suppress(KeyError):
        if own is not None:
            return str(own(lang))
    return explain(wrong, lang)


def _unnamed(settings: Settings) -> Settings:
    from dataclasses import replace

    return replace(settings, model=None)
