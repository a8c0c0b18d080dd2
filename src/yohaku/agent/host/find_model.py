"""Finds a model to work with: the one that was named, else a server that runs here, else a key, else a file.

Law: quick, silent, and nothing is sent to anybody the user did not name. Servers are asked side by side; a key is only
looked for in the environment, never tried. What was named and is not there is an `ModelNotFound` that says what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from yohaku.agent.host import local_servers
from yohaku.agent.host.capacity import MachineMemory, usable_bytes
from yohaku.agent.host.local_servers import PROBES, ServerAddress
from yohaku.agent.host.model_spec import (
    DEFAULT_MODELS,
    EMBEDDED,
    PREFERRED_PROVIDERS,
    PROVIDER_TITLES,
    ModelNotFound,
    ModelSpec,
    parse_model_spec,
)
from yohaku.client.endpoint import Endpoint
from yohaku.client.http_json import DEFAULT_TIMEOUT
from yohaku.config import catalog, resolve
from yohaku.config.catalog import Provider
from yohaku.config.settings import Settings

REMOTE_TIMEOUT = 2.0
"""Seconds an address the user named on another machine has to tell its models."""


async def find_models(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    *,
    model: str | None = None,
    memory: MachineMemory | None = None,
    patience: float = DEFAULT_TIMEOUT,
) -> list[Endpoint]:
    """Everything that can be worked with, the best first; empty where there is nothing.

    With `model`, or the setting of that name, only what was named; raises `ModelNotFound` where it is not there.
    An endpoint of the provider "embedded" is a file still to be served.
    """
    search = _ModelSearch(replace(settings, environ=environ) if environ is not None else settings, memory, patience)
    if named := model or settings.model:
        return await search.named(parse_model_spec(named, search.known), named)
    running, keyed = await asyncio.gather(search.running(), search.keyed())
    return [*running, *keyed] or await search.files()


async def refresh(endpoint: Endpoint, patience: float = DEFAULT_TIMEOUT) -> Endpoint:
    """The same endpoint as it is now: a server may have loaded the model meanwhile, and say how large its window is."""
    if not endpoint.local or endpoint.provider == EMBEDDED:
        return endpoint
    found = await local_servers.probe_address(endpoint.url, endpoint.model, endpoint.key, patience)
    return found if found and found.provider == endpoint.provider else endpoint


async def add_vocabulary(endpoint: Endpoint, patience: float = 10.0) -> Endpoint:
    """The endpoint with all an Ollama says of its model, which are megabytes, where no file of it is at hand: with its
    vocabulary tokens are counted exactly. For later, beside the work: not for the start."""
    if endpoint.provider != "ollama" or local_servers.PATH_KEY in endpoint.info:
        return endpoint
    place = ServerAddress(endpoint.url, endpoint.key, patience=patience)
    shown = await place.get("/api/show", {"model": endpoint.model, "verbose": True})
    said = shown.get("model_info") if isinstance(shown, dict) else None
    return replace(endpoint, info={**endpoint.info, **said}) if isinstance(said, dict) else endpoint


class _ModelSearch:
    def __init__(self, settings: Settings, memory: MachineMemory | None, patience: float) -> None:
        self.settings = settings
        self.known = catalog.load(settings.catalog)
        self.patience = patience
        self._memory = memory

    @property
    def memory(self) -> MachineMemory:
        if self._memory is None:
            from yohaku.agent.host.memory import read_memory

            self._memory = read_memory()
        return self._memory

    async def running(self, model: str = "") -> list[Endpoint]:
        """The servers that answer; with a model those that have it."""
        asked = [self.server(provider, model) for name in PROBES if (provider := self.known.provider(name))]
        return [found for found in await asyncio.gather(*asked) if found]

    async def server(self, provider: Provider, model: str = "") -> Endpoint | None:
        where = resolve.provider_address(provider, self.settings)
        place = ServerAddress(where.url, where.key or "", model, lambda: sum(usable_bytes(self.memory)), self.patience)
        return await PROBES[provider.name](place)

    async def keyed(self) -> list[Endpoint]:
        """A model of each provider whose key, or whose address, is in the environment."""
        first = [provider for name in PREFERRED_PROVIDERS if (provider := self.known.provider(name))]
        rest = [each for each in self.known.providers if each not in first and not each.loopback]
        found = await asyncio.gather(*(self.api(provider) for provider in (*first, *rest)))
        return [each for each in found if each]

    async def api(self, provider: Provider, model: str = "") -> Endpoint | None:
        where = resolve.provider_address(provider, self.settings)
        if provider.dialect == "openai_chat" and where.url.rstrip("/") != provider.url:
            model = model or self.settings.variable("OPENAI_MODEL") or ""
            if there := await self.address(where.url, model, where.key or ""):
                return there
            if not model and not where.key:
                return None
        elif not where.key:
            return None
        model = model or DEFAULT_MODELS.get(provider.name, "")
        row = self.known.find(model, provider.name) if model else None
        output = row.output if row else None
        title = PROVIDER_TITLES.get(provider.name, provider.name)
        found = Endpoint(title, provider.name, provider.dialect, where.url, model, where.key or "", output=output)
        return found if model else None

    async def address(self, url: str, model: str, key: str) -> Endpoint | None:
        """Whoever is at an address the user named. One far away is asked for its models, and nothing else."""
        if ServerAddress(url).local:
            return await local_servers.probe_address(url, model, key, self.patience)
        return await local_servers.probe_compatible(
            ServerAddress(url, key, model, patience=max(REMOTE_TIMEOUT, self.patience))
        )

    async def files(self, path: str = "") -> list[Endpoint]:
        from yohaku.agent.host import embedded

        if path:
            return [embedded.endpoint_of_file(Path(path).expanduser())]
        found = (
            await asyncio.to_thread(embedded.find_model_file, self.settings, self.memory)
            if embedded.is_installed()
            else None
        )
        return [found] if found else []

    async def named(self, wanted: ModelSpec, said: str) -> list[Endpoint]:
        match wanted.kind:
            case "file":
                if not Path(wanted.where).expanduser().is_file():
                    raise ModelNotFound("no_file", model=said)
                return await self.files(wanted.where)
            case "url":
                return [await self.addressed(wanted, said)]
            case "provider" if wanted.where == EMBEDDED:
                return await self.files(wanted.model)
            case "provider":
                return [await self.provided(wanted, said)]
        return await self.called(said)

    async def addressed(self, wanted: ModelSpec, said: str) -> Endpoint:
        """An address that answers no question about its models may still serve the one that was named."""
        key, local = self.key_for(wanted.where), ServerAddress(wanted.where).local
        if found := await self.address(wanted.where, wanted.model, key):
            return found
        if not wanted.model:
            raise ModelNotFound("no_server", model=said, where=wanted.where)
        name = urlsplit(wanted.where).netloc.rpartition("@")[2]
        return Endpoint(name, "openai", "openai_chat", wanted.where, wanted.model, key, local=local)

    async def provided(self, wanted: ModelSpec, said: str) -> Endpoint:
        provider = self.known.provider(wanted.where)
        assert provider is not None, "a wish names only providers that are known"
        if provider.loopback:
            return await self.server(provider, wanted.model) or await self.missed(provider, wanted.model)
        if found := await self.api(provider, wanted.model):
            return found
        router = self.known.provider("openrouter")
        if router and wanted.model and (found := await self.api(router, said)):
            return found
        raise ModelNotFound("no_key", model=said, keys=" / ".join(provider.keys))

    async def missed(self, provider: Provider, model: str) -> Endpoint:
        """Says whether the server is not there, or only the model."""
        url = resolve.provider_address(provider, self.settings).url
        where = f"{PROVIDER_TITLES.get(provider.name, provider.name)} ({url})"
        if other := await self.server(provider):
            raise ModelNotFound("not_there", model=model, where=where, other=other.model)
        raise ModelNotFound("no_server", model=model or provider.name, where=where)

    async def called(self, name: str) -> list[Endpoint]:
        """A model by its name alone: where it runs already, else with whoever makes it."""
        if running := await self.running(name):
            return running
        row = self.known.find(name)
        provider = self.known.provider(row.provider) if row else None
        if provider is None or provider.loopback:
            raise ModelNotFound("no_such_model", model=name)
        if found := await self.api(provider, name):
            return [found]
        raise ModelNotFound("no_key", model=name, keys=" / ".join(provider.keys))

    def key_for(self, url: str) -> str:
        """The key of the provider who is at this very address, else the one set for addresses: none goes elsewhere."""
        for provider in self.known.providers:
            where = resolve.provider_address(provider, self.settings)
            if where.key and urlsplit(where.url)[:2] == urlsplit(url)[:2]:
                return where.key
        return self.settings.variable("YOHAKU_API_KEY") or ""
