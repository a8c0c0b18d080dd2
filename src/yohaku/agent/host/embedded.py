"""The built-in engine: llama.cpp's server inside this process, with a model from a file.

Law: only this process can talk to it (loopback, a free port, a key made for the occasion), and it ends with whoever
holds it. It leaves a core to the rest of the machine.
"""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from yohaku.agent.host import downloadable_models, local_models
from yohaku.agent.host.capacity import MachineMemory, trained_for
from yohaku.agent.host.downloadable_models import DownloadableModel
from yohaku.agent.host.local_servers import BYTES, PATH
from yohaku.client.endpoint import Endpoint
from yohaku.client.http_json import fetch_json_now
from yohaku.config.settings import Settings
from yohaku.core.errors import Unreadable, YohakuError
from yohaku.messages import say
from yohaku.meters import gguf

THREADS = 12
"""More do not make it faster: memory is the bound."""

BATCH = 512
"""Tokens of a prompt worked on at once."""

READY = 30.0
"""Seconds in which a server that has loaded its model answers for the first time."""


class Unservable(YohakuError):
    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(say(f"host_{code}", "en", **facts), **facts)
        self.code = code

    def said(self, lang: str) -> str:
        return say(f"host_{self.code}", lang, **self.facts)


class Serving:
    """A server that runs until it is closed, or nobody holds this any more."""

    def __init__(self, endpoint: Endpoint, server: object) -> None:
        self.endpoint = endpoint
        self._server: object = server

    def close(self) -> None:
        self._server = None


def engine() -> bool:
    """Whether the engine is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def find(settings: Settings, memory: MachineMemory) -> Endpoint | None:
    """The best model among the files on this machine, still to be served."""
    found = local_models.best(local_models.shelved(settings), memory)
    return _endpoint(found[0].name, found[0].path, found[0].bytes, found[1]) if found else None


def offer(settings: Settings, memory: MachineMemory) -> DownloadableModel | None:
    """The model to be downloaded where there is none, for the surface to ask about; none without the engine."""
    return downloadable_models.offer(settings.data / "models", memory) if engine() else None


def of_file(path: Path) -> Endpoint:
    """A model from this file; raises `Unservable` where it is none."""
    try:
        said = gguf.metadata(path)
    except Unreadable as why:
        raise Unservable("not_served", name=path.name) from why
    model = local_models.whole_of(path)
    return _endpoint(model.name if model else path.stem, path, model.bytes if model else path.stat().st_size, said)


def serve(endpoint: Endpoint, window: int, *, threads: int | None = None) -> Serving:
    """Starts the engine; that takes as long as reading the file does."""
    if not engine():
        raise Unservable("no_engine")
    import xllamacpp

    key = secrets.token_urlsafe(24)
    how = xllamacpp.CommonParams()
    how.model.path, how.model_alias = str(endpoint.info[PATH]), {endpoint.model}
    how.n_ctx, how.n_parallel, how.n_batch = window, 1, max(BATCH, how.n_batch)
    how.hostnames, how.port, how.api_keys = ["127.0.0.1"], 0, [key]
    how.cpuparams.n_threads = how.cpuparams_batch.n_threads = threads or _threads()
    how.use_jinja, how.fit_params, how.ctx_shift, how.ui, how.endpoint_props = True, False, False, False, True
    how.endpoint_slots = True
    how.verbosity = 0
    try:
        server = xllamacpp.Server(how)
    except RuntimeError as why:
        raise Unservable("not_served", name=endpoint.model) from why
    root = server.listening_address
    fetch_json_now(f"{root}/slots", key, timeout=READY)  # one that is closed before its loop turns hangs for ever
    return Serving(replace(endpoint, url=f"{root}/v1", key=key, window=window), server)


def _endpoint(name: str, path: Path, size: int, said: Mapping[str, object]) -> Endpoint:
    info = {key: value for key, value in said.items() if not key.startswith("tokenizer.")}
    return Endpoint(
        "llama.cpp",
        "embedded",
        "openai_chat",
        "",
        name,
        trained=trained_for(info),
        local=True,
        info={**info, BYTES: size, PATH: str(path)},
    )


def _threads() -> int:
    from yohaku.agent.host.memory import cores

    return max(1, min(cores() - 1, THREADS))
