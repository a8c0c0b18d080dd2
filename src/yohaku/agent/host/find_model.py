"""Search for a model: the one that was named, else at an address the user set, else a server on this machine, else an
API key, else a file.

Law: quick, silent, and nothing is sent to a server the user did not name. Servers are queried in parallel; a key is
looked up in the environment, never tried. A named model that is not there raises `ModelNotFound` with what to do.
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
"""Seconds a named server on another machine has to list its models."""


async def find_models(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    *,
    model: str | None = None,
    memory: MachineMemory | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> list[Endpoint]:
    """Return all usable endpoints, the best first; empty where there are none.

    With `model`, or the setting of that name, only that one; raises `ModelNotFound` where it is not there.
    An endpoint of the provider "embedded" is a file that still has to be served.
    """
    search = _ModelSearch(replace(settings, environ=environ) if environ is not None else settings, memory, timeout)
    if named := model or settings.model:
        return await search.find_named(parse_model_spec(named, search.known), named)
    pointed, running, keyed = await asyncio.gather(
        search.find_keyed(pointed=True), search.find_running(), search.find_keyed(pointed=False)
    )
    return [*pointed, *running, *keyed] or await search.find_files()


async def find_servers(settings: Settings, timeout: float = DEFAULT_TIMEOUT) -> list[Endpoint]:
    """Return the servers that answer now, at addresses the user set and on this machine; the best first."""
    search = _ModelSearch(settings, None, timeout)
    pointed, running = await asyncio.gather(search.find_keyed(pointed=True), search.find_running())
    return [*pointed, *running]


async def refresh(endpoint: Endpoint, timeout: float = DEFAULT_TIMEOUT) -> Endpoint:
    """Query an endpoint again: the server may have loaded the model meanwhile, and report its window."""
    if not endpoint.local or endpoint.provider == EMBEDDED:
        return endpoint
    found = await local_servers.probe_address(endpoint.url, endpoint.model, endpoint.key, timeout)
    return found if found and found.provider == endpoint.provider else endpoint


async def add_vocabulary(endpoint: Endpoint, timeout: float = 10.0) -> Endpoint:
    """Add the vocabulary from Ollama where no file of the model is readable; with it tokens are counted exactly. It is
    megabytes: call it in the background, not at start."""
    if endpoint.provider != "ollama" or local_servers.PATH_KEY in endpoint.info:
        return endpoint
    address = ServerAddress(endpoint.url, endpoint.key, timeout=timeout)
    shown = await address.get("/api/show", {"model": endpoint.model, "verbose": True})
    said = shown.get("model_info") if isinstance(shown, dict) else None
    return replace(endpoint, info={**endpoint.info, **said}) if isinstance(said, dict) else endpoint


class _ModelSearch:
    def __init__(self, settings: Settings, memory: MachineMemory | None, timeout: float) -> None:
        self.settings = settings
        self.known = catalog.load(settings.catalog)
        self.timeout = timeout
        self._memory = memory

    @property
    def memory(self) -> MachineMemory:
        if self._memory is None:
            from yohaku.agent.host.memory import read_memory

            self._memory = read_memory()
        return self._memory

    async def find_running(self, model: str = "") -> list[Endpoint]:
        """Return the servers that answer; with a model, those that have it."""
        asked = [self.find_server(provider, model) for name in PROBES if (provider := self.known.provider(name))]
        return [found for found in await asyncio.gather(*asked) if found]

    async def find_server(self, provider: Provider, model: str = "") -> Endpoint | None:
        where = resolve.provider_address(provider, self.settings)
        address = ServerAddress(where.url, where.key or "", model, lambda: sum(usable_bytes(self.memory)), self.timeout)
        return await PROBES[provider.name](address)

    async def find_keyed(self, *, pointed: bool) -> list[Endpoint]:
        """Return an endpoint of each provider with a key or address in the environment; `pointed`: with an address.

        An address is set to be used, and beats a server that happens to run; a key may be there for other programs.
        """
        first = [provider for name in PREFERRED_PROVIDERS if (provider := self.known.provider(name))]
        rest = [each for each in self.known.providers if each not in first and not each.loopback]
        asked = (each for each in (*first, *rest) if bool(self.settings.variable(*each.url_keys)) is pointed)
        return [each for each in await asyncio.gather(*map(self.find_api, asked)) if each]

    async def find_api(self, provider: Provider, model: str = "") -> Endpoint | None:
        where = resolve.provider_address(provider, self.settings)
        if provider.dialect == "openai_chat" and where.url.rstrip("/") != provider.url:
            model = model or self.settings.variable("OPENAI_MODEL") or ""
            if there := await self.find_address(where.url, model, where.key or ""):
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

    async def find_address(self, url: str, model: str, key: str) -> Endpoint | None:
        """Return the server at a named address. A remote one is only asked for its list of models."""
        if ServerAddress(url).local:
            return await local_servers.probe_address(url, model, key, self.timeout)
        return await local_servers.probe_compatible(
            ServerAddress(url, key, model, timeout=max(REMOTE_TIMEOUT, self.timeout))
        )

    async def find_files(self, path: str = "") -> list[Endpoint]:
        from yohaku.agent.host import embedded

        if path:
            return [embedded.endpoint_of_file(Path(path).expanduser())]
        found = (
            await asyncio.to_thread(embedded.find_model_file, self.settings, self.memory)
            if embedded.is_installed()
            else None
        )
        return [found] if found else []

    async def find_named(self, wanted: ModelSpec, said: str) -> list[Endpoint]:
        match wanted.kind:
            case "file":
                if not Path(wanted.where).expanduser().is_file():
                    raise ModelNotFound("no_file", model=said)
                return await self.find_files(wanted.where)
            case "url":
                return [await self.find_at_url(wanted, said)]
            case "provider" if wanted.where == EMBEDDED:
                return await self.find_files(wanted.model)
            case "provider":
                return [await self.find_at_provider(wanted, said)]
        return await self.find_by_name(said)

    async def find_at_url(self, wanted: ModelSpec, said: str) -> Endpoint:
        """Return the endpoint of an address; one that does not list its models may still serve the named one."""
        key, local = self.key_for(wanted.where), ServerAddress(wanted.where).local
        if found := await self.find_address(wanted.where, wanted.model, key):
            return found
        if not wanted.model:
            raise ModelNotFound("no_server", model=said, where=wanted.where)
        name = urlsplit(wanted.where).netloc.rpartition("@")[2]
        return Endpoint(name, "openai", "openai_chat", wanted.where, wanted.model, key, local=local)

    async def find_at_provider(self, wanted: ModelSpec, said: str) -> Endpoint:
        provider = self.known.provider(wanted.where)
        assert provider is not None, "a wish names only providers that are known"
        if provider.loopback:
            return await self.find_server(provider, wanted.model) or await self.raise_missing(provider, wanted.model)
        if found := await self.find_api(provider, wanted.model):
            return found
        router = self.known.provider("openrouter")
        if router and wanted.model and (found := await self.find_api(router, said)):
            return found
        raise ModelNotFound("no_key", model=said, keys=" / ".join(provider.keys))

    async def raise_missing(self, provider: Provider, model: str) -> Endpoint:
        """Raise `ModelNotFound`: the server is not there, or only the model."""
        title = PROVIDER_TITLES.get(provider.name, provider.name)
        where = f"{title} ({resolve.provider_address(provider, self.settings).url})"
        if other := await self.find_server(provider):
            raise ModelNotFound("not_there", model=model, where=where, other=other.model)
        raise ModelNotFound("no_server", model=model or provider.name, where=where)

    async def find_by_name(self, name: str) -> list[Endpoint]:
        """Find a model by its bare name: where it runs already, else at its provider."""
        if running := await self.find_running(name):
            return running
        row = self.known.find(name)
        provider = self.known.provider(row.provider) if row else None
        if provider is None or provider.loopback:
            raise ModelNotFound("no_such_model", model=name)
        if found := await self.find_api(provider, name):
            return [found]
        raise ModelNotFound("no_key", model=name, keys=" / ".join(provider.keys))

    def key_for(self, url: str) -> str:
        """Return the key of the provider at this very address, else the one for addresses; no key goes elsewhere."""
        for provider in self.known.providers:
            where = resolve.provider_address(provider, self.settings)
            if where.key and urlsplit(where.url)[:2] == urlsplit(url)[:2]:
                return where.key
        return self.settings.variable("YOHAKU_API_KEY") or ""
