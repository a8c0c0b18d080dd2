"""From settings to an agent: find the model, choose its window, download the built-in one where it is wanted.

Law: whatever prevents it is reported in one sentence and gives no agent; no error a user can meet is raised.
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
    from yohaku.agent.agent import Agent
    from yohaku.agent.host.capacity import ChosenWindow, MachineMemory
    from yohaku.agent.host.embedded import EmbeddedServer


class Starter:
    """Makes agents for one run of the program; closing it ends the built-in server that it started."""

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        self.settings = settings
        self.root = root or Path.cwd()
        self._serving: EmbeddedServer | None = None

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None:
        # In a thread, since the screen is drawn already: loading the agent takes half a second.
        await asyncio.to_thread(import_module, "yohaku.agent.agent")
        try:
            if endpoint is None:
                endpoint = await self._find_endpoint(surface)
            if endpoint is None:
                return None
            if window is None:
                endpoint, window = await self._open_window(surface, endpoint)
            agent = self._make_agent(surface, endpoint, window, resume)
            await agent.context.prepare_summaries()
            return agent
        except YohakuError as error:
            surface.show_notice(UserNotice(explain_error(error, self.settings.lang), "error"))
            if resume and window and isinstance(error, Malformed | Unreadable):
                surface.show_notice(UserNotice(say("resume_broken", self.settings.lang, name=resume), "note"))
        except OSError as error:
            facts = {"name": error.filename or "", "why": error.strerror or error}
            surface.show_notice(UserNotice(say("os_trouble", self.settings.lang, **facts), "error"))
        return None

    async def models(self, name: str = "") -> list[tuple[Endpoint, int]]:
        from yohaku.agent.host.find_model import find_models

        found = await find_models(self.settings if name else _without_model(self.settings), model=name or None)
        memory = await self._measure_memory()
        return [(endpoint, self._choose_window(endpoint, memory).window) for endpoint in found]

    def close(self) -> None:
        if self._serving:
            self._serving.close()
            self._serving = None

    async def _find_endpoint(self, surface: Surface) -> Endpoint | None:
        from yohaku.agent.host import embedded
        from yohaku.agent.host.find_model import find_models

        file = self.settings.gguf if not self.settings.model else None
        found = await find_models(self.settings, model=str(file) if file else None)
        if found:
            return found[0]
        if path := await self._download(surface):
            return embedded.endpoint_of_file(path)
        missing = "host_nothing_runs" if embedded.is_installed() else "host_nothing_found"
        surface.show_notice(UserNotice(say(missing, self.settings.lang), "warning"))
        return None

    async def _download(self, surface: Surface) -> Path | None:
        """Download the built-in model if the user wants it."""
        from yohaku.agent.host import download, embedded

        offer = embedded.offer_download(self.settings, await self._measure_memory())
        if offer is None:
            return None
        yes, no = say("begin_yes", self.settings.lang), say("begin_no", self.settings.lang)
        if await surface.question(offer.said(self.settings.lang), (yes, no), own_words=False) != yes:
            return None
        try:
            return await download.download(offer, lambda here, whole: surface.progress(offer.weights.name, here, whole))
        finally:
            surface.progress("", 0, 0)

    async def _open_window(self, surface: Surface, endpoint: Endpoint) -> tuple[Endpoint, int]:
        from yohaku.agent.host.capacity import window_warning

        chosen = self._choose_window(endpoint, await self._measure_memory())
        if told := window_warning(chosen, self.settings.lang):
            surface.show_notice(UserNotice(told, "warning"))
        if endpoint.provider == "embedded" and not endpoint.url:
            from yohaku.agent.host.embedded import start_server

            surface.progress(say("begin_loading", self.settings.lang, name=endpoint.model), 0, 1)
            self.close()
            self._serving = await asyncio.to_thread(start_server, endpoint, chosen.window)
            surface.progress("", 0, 0)
            endpoint = self._serving.endpoint
        return endpoint, chosen.window

    def _choose_window(self, endpoint: Endpoint, memory: MachineMemory) -> ChosenWindow:
        from yohaku.agent.host.choose_window import choose_window
        from yohaku.agent.host.memory import usable_cores
        from yohaku.agent.host.reading_time import readable_tokens
        from yohaku.agent.host.speed_cache import SpeedCache
        from yohaku.client.window_cache import WindowCache

        settings = self.settings
        learned = WindowCache(settings.data).window(endpoint)
        cores, measured = max(1, usable_cores() - 1), SpeedCache(settings.data).reading(endpoint)
        return choose_window(
            endpoint,
            settings,
            memory,
            learned=learned,
            preset=settings.preset,  # type: ignore[arg-type]  # one of the three: the settings see to it
            n=settings.window,
            force=settings.force,
            readable=readable_tokens(endpoint, memory, cores, measured),
        )

    async def _measure_memory(self) -> MachineMemory:
        from yohaku.agent.host.memory import read_memory

        return await asyncio.to_thread(read_memory)

    def _make_agent(self, surface: Surface, endpoint: Endpoint, window: int, resume: str) -> Agent:
        from yohaku.agent.agent import Agent
        from yohaku.agent.hooks import Hooks
        from yohaku.agent.toolkit.permissions import Permissions
        from yohaku.agent.toolkit.stored_permissions import StoredPermissions

        settings = self.settings
        stored = StoredPermissions(settings.data, self.root) if is_attended(surface) else None

        def report_always(what: str, keeps: bool) -> None:
            name = "permissions_kept" if keeps else "permissions_for_now"
            surface.show_notice(UserNotice(say(name, settings.lang, what=what)))

        agent = Agent(
            endpoint,
            window=window,
            root=self.root,
            tools=() if settings.chat else None,
            permissions=Permissions(settings.permissions, stored, report_always),  # type: ignore[arg-type]
            lang=settings.lang,
            allow=surface.allow,
            question=surface.question,
            hooks=Hooks(
                settings.hook_before,
                settings.hook_after,
                self.root,
                report=lambda why: surface.show_notice(UserNotice(why, "warning")),
            ),
            settings=settings,
        )
        if resume:
            agent.resume(resume)
        return agent


def explain_error(error: YohakuError, lang: str) -> str:
    """Return the sentence of an error in the user's language."""
    own = getattr(error, "said", None)
    with suppress(KeyError):
        if own is not None:
            return str(own(lang))
    return explain(error, lang)


def _without_model(settings: Settings) -> Settings:
    from dataclasses import replace

    return replace(settings, model=None)
