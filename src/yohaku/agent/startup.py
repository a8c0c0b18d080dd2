"""From settings to an agent: find the model, choose its window, download the built-in one where it is wanted.

Law: whatever prevents it is reported in one sentence and gives no agent; no error a user can meet is raised.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
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

    look_seconds = 3.0
    """Seconds between two searches for a server, while the user is asked for a model."""

    def __init__(self, settings: Settings, root: Path | None = None) -> None:
        self._environ = dict(settings.environ)
        self.settings = replace(settings, environ=self._environ)
        self.root = root or Path.cwd()
        self._serving: EmbeddedServer | None = None
        self._keys_read = False

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None:
        # In a thread, since the screen is drawn already: loading the agent takes half a second.
        await asyncio.to_thread(import_module, "yohaku.agent.agent")
        try:
            await self._read_keys()
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

    async def choose_model(
        self, surface: Surface, name: str = "", now: Endpoint | None = None
    ) -> tuple[Endpoint, int] | None:
        if name:
            from yohaku.agent.host.find_model import find_models

            endpoint: Endpoint | None = (await find_models(self.settings, model=name))[0]
        else:
            endpoint = await self._set_up(surface, now)
        return await self._open_window(surface, endpoint) if endpoint else None

    def forget_key(self, name: str) -> str:
        from yohaku.agent.key_setup import forget_key

        return forget_key(name, self.settings)

    def close(self) -> None:
        if self._serving:
            self._serving.close()
            self._serving = None

    async def _read_keys(self) -> None:
        """Take the keys that were kept, once; those of the environment beat them."""
        if self._keys_read or not self._environ:
            return
        from yohaku.agent.key_setup import stored_keys

        self._keys_read = True
        for variable, key in (await asyncio.to_thread(stored_keys(self.settings).read)).items():
            if not self._environ.get(variable, "").strip():
                self._add_key(variable, key)

    def _add_key(self, variable: str, key: str) -> None:
        """Use a key from now on, for everything that holds these settings."""
        from yohaku.agent.toolkit.secrets import register_secret

        register_secret(variable, key)
        self._environ[variable] = key

    async def _find_endpoint(self, surface: Surface) -> Endpoint | None:
        from yohaku.agent.host import embedded
        from yohaku.agent.host.find_model import find_models
        from yohaku.agent.host.model_spec import ModelNotFound

        file = self.settings.gguf if not self.settings.model else None
        try:
            found = await find_models(self.settings, model=str(file) if file else None)
        except (ModelNotFound, embedded.CannotServe) as error:
            if not is_attended(surface):
                raise
            surface.show_notice(UserNotice(explain_error(error, self.settings.lang), "error"))
            return await self._set_up(surface)
        if found:
            return found[0]
        if endpoint := await self._set_up(surface):
            return endpoint
        missing = "host_nothing_runs" if embedded.is_installed() else "host_nothing_found"
        surface.show_notice(UserNotice(say(missing, self.settings.lang), "warning"))
        return None

    async def _set_up(self, surface: Surface, now: Endpoint | None = None) -> Endpoint | None:
        """Let the user choose a model; None where nobody can be asked."""
        if not is_attended(surface):
            return None
        from yohaku.agent.model_setup import ModelSetup

        memory = await self._measure_memory()
        return await ModelSetup(surface, lambda: self.settings, self._add_key, memory, self.look_seconds).choose(now)

    async def _open_window(self, surface: Surface, endpoint: Endpoint) -> tuple[Endpoint, int]:
        from yohaku.agent.host.capacity import window_warning

        chosen = self._choose_window(endpoint, await self._measure_memory())
        if told := window_warning(chosen, self.settings.lang):
            surface.show_notice(UserNotice(told, "warning"))
        if endpoint.provider == "embedded" and not endpoint.url:
            from yohaku.agent.host.embedded import start_server

            surface.progress(say("begin_loading", self.settings.lang, name=endpoint.model), 0, 1)
            try:
                serving = await asyncio.to_thread(start_server, endpoint, chosen.window)
            finally:
                surface.progress("", 0, 0)
            self.close()  # only now: where the new file cannot be served, the old one still is
            self._serving = serving
            endpoint = serving.endpoint
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
