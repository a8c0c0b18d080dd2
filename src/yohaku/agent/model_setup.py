"""Choice of a model by the user: a list of all that is there, and the ways to get one.

Law: nothing is chosen, downloaded or sent before the user selects it and confirms; a server that starts meanwhile is
taken where there is no model yet, as at the start of the program. A way that fails says why and leads back to the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from yohaku.agent.events import UserNotice
from yohaku.agent.host import embedded, local_models
from yohaku.agent.host.capacity import MachineMemory
from yohaku.agent.host.downloadable_models import DownloadableModel
from yohaku.agent.host.find_model import find_models, find_servers
from yohaku.agent.host.local_servers import list_model_names
from yohaku.agent.host.model_spec import EMBEDDED
from yohaku.agent.key_setup import take_key
from yohaku.agent.protocols import Surface
from yohaku.agent.startup import explain_error
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings
from yohaku.core.errors import YohakuError
from yohaku.messages import say

MAX_SERVER_MODELS, MAX_FILES = 12, 6
"""Models listed of one server, and files."""

Way: TypeAlias = Callable[[], Awaitable[Endpoint | None]]
"""What one line of the list leads to; None: back to the list."""


class ModelSetup:
    def __init__(
        self,
        surface: Surface,
        settings: Callable[[], Settings],
        add_key: Callable[[str, str], None],
        memory: MachineMemory,
        every: float,
    ) -> None:
        self.surface = surface
        self._settings = settings
        self.add_key = add_key
        self.memory = memory
        self.every = every
        self._known: set[tuple[str, str]] = set()
        """Servers that were there when the list was made."""

    @property
    def settings(self) -> Settings:
        """The settings as they are now: a key may have been added."""
        return self._settings()

    @property
    def lang(self) -> str:
        return self.settings.lang

    async def choose(self, now: Endpoint | None = None) -> Endpoint | None:
        """Let the user choose; None if nothing was chosen. `now`: the model in use."""
        while True:
            ways = {**(await self._list_present(now)), **self._list_ways()}
            title = say("model_choose" if now else "setup_title", self.lang)
            answer = await self._ask(title, tuple(ways), look=now is None)
            if isinstance(answer, Endpoint):
                return answer
            if answer not in ways:
                return None
            try:
                if found := await ways[answer]():
                    return found
            except YohakuError as error:
                self._tell(explain_error(error, self.lang), "error")

    async def _list_present(self, now: Endpoint | None) -> dict[str, Way]:
        """List servers with their models, providers with a key, and files."""
        plain = replace(self.settings, model=None)
        found = await find_models(plain, memory=self.memory)
        self._known = {(each.url, each.model) for each in found}
        names = await asyncio.gather(*(list_model_names(each) if each.local else _none() for each in found))
        ways: dict[str, Way] = {}
        for each, others in zip(found, names, strict=True):
            if each.provider == EMBEDDED:
                continue
            more = [name for name in others if name != each.model][: MAX_SERVER_MODELS - 1]
            ways[self._label(each.model, each.name, now)] = _giving(each)
            ways |= {self._label(name, each.name, now): self._way_to_name(each, name) for name in more}
        ways |= await self._list_files(now) if embedded.is_installed() else {}
        own = now if now and now.provider != EMBEDDED else None
        if own and (label := self._label(own.model, own.name, now)) not in ways:  # at an address of the user's own
            ways = {label: _giving(own), **ways}
        return ways

    async def _list_files(self, now: Endpoint | None) -> dict[str, Way]:
        models = await asyncio.to_thread(local_models.list_models, self.settings)
        fitting = sorted(models, key=lambda model: -model.bytes)[:MAX_FILES]
        where = say("setup_from_file", self.lang)
        return {
            self._label(model.name, f"{where}, {model.bytes / 1e9:.1f} GB", now): self._way_to_file(model.path)
            for model in fitting
        }

    def _list_ways(self) -> dict[str, Way]:
        """List the ways to get a model."""
        ways: dict[str, Way] = {}
        offer = embedded.offer_download(self.settings, self.memory)
        if offer is None:
            ways[say("setup_engine", self.lang)] = self._explain_engine
        elif not offer.path.exists():
            facts = {"name": offer.weights.name, "size": offer.weights.bytes / 1e9}
            ways[say("setup_download", self.lang, **facts)] = lambda: self._download(offer)
        ways[say("setup_server", self.lang)] = self._wait_for_server
        ways[say("setup_key", self.lang)] = self._take_key
        if offer is not None:
            ways[say("setup_file", self.lang)] = self._take_file
        return ways

    def _label(self, model: str, where: str, now: Endpoint | None) -> str:
        mark = f"  ← {say('setup_now', self.lang)}" if now and (now.model, now.name) == (model, where) else ""
        return f"{model}  ({where}){mark}"

    def _way_to_name(self, server: Endpoint, name: str) -> Way:
        async def go() -> Endpoint | None:
            return (await find_models(self.settings, model=f"{server.url}#{name}", memory=self.memory))[0]

        return go

    def _way_to_file(self, path: Path) -> Way:
        async def go() -> Endpoint | None:
            return embedded.endpoint_of_file(path)

        return go

    async def _explain_engine(self) -> Endpoint | None:
        self._tell(say("setup_engine_how", self.lang))
        return None

    async def _download(self, offer: DownloadableModel) -> Endpoint | None:
        path = await download_model(self.surface, offer, self.lang)
        return embedded.endpoint_of_file(path) if path else None

    async def _wait_for_server(self) -> Endpoint | None:
        self._tell(say("setup_server_how", self.lang))
        text, stop = say("setup_waiting", self.lang, seconds=round(self.every)), say("setup_stop", self.lang)
        answer = await self._ask(text, (stop,), look=True)
        return answer if isinstance(answer, Endpoint) else await self._look_once()

    async def _take_key(self) -> Endpoint | None:
        provider = await take_key(self.surface, self.settings, self.add_key)
        return (await find_models(self.settings, model=provider, memory=self.memory))[0] if provider else None

    async def _take_file(self) -> Endpoint | None:
        typed = (await self.surface.question(say("setup_path", self.lang))).strip().strip("'\"")
        return (await find_models(self.settings, model=_as_path(typed), memory=self.memory))[0] if typed else None

    async def _ask(self, text: str, choices: tuple[str, ...], *, look: bool) -> str | Endpoint:
        """Ask, and look for a server meanwhile; return whichever comes first."""
        asking = asyncio.ensure_future(self.surface.question(text, choices, own_words=False))
        tasks: list[asyncio.Future[str | Endpoint]] = [asking]  # type: ignore[list-item]
        if look:
            tasks.append(asyncio.ensure_future(self._look_for_server()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task.result() for task in tasks if task.done())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_for_server(self) -> Endpoint:
        while True:
            await asyncio.sleep(self.every)
            if found := await self._look_once():
                return found

    async def _look_once(self) -> Endpoint | None:
        """Return a server that was not there before; where a model is named in the settings, only that one."""
        with suppress(YohakuError):
            named = self.settings.model
            found = await find_models(self.settings, memory=self.memory) if named else await find_servers(self.settings)
            return next((each for each in found if (each.url, each.model) not in self._known), None)
        return None

    def _tell(self, text: str, kind: str = "note") -> None:
        self.surface.show_notice(UserNotice(text, kind))  # type: ignore[arg-type]


async def download_model(surface: Surface, offer: DownloadableModel, lang: str) -> Path | None:
    """Download the built-in model if the user wants it."""
    from yohaku.agent.host import download

    yes, no = say("begin_yes", lang), say("begin_no", lang)
    if await surface.question(offer.said(lang), (yes, no), own_words=False) != yes:
        return None
    try:
        return await download.download(offer, lambda here, whole: surface.progress(offer.weights.name, here, whole))
    finally:
        surface.progress("", 0, 0)


def _giving(endpoint: Endpoint) -> Way:
    async def give() -> Endpoint | None:
        return endpoint

    return give


async def _none() -> list[str]:
    return []


def _as_path(typed: str) -> str:
    """Return what was typed as a path that `--model` takes: a bare name is a file here."""
    return typed if typed.startswith(("/", "~", "./", "../")) else str(Path(typed).absolute())
