"""Embedded engine: llama.cpp's server inside this process, with a model from a file.

Law: only this process can use it (loopback, a free port, a random key), and it ends with its `EmbeddedServer`. One
core is left to the rest of the machine.
"""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from yohaku.agent.host import downloadable_models, local_models
from yohaku.agent.host.capacity import MachineMemory, trained_window
from yohaku.agent.host.downloadable_models import DownloadableModel
from yohaku.agent.host.local_servers import BYTES_KEY, PATH_KEY
from yohaku.client.endpoint import Endpoint
from yohaku.client.http_json import fetch_json_now
from yohaku.config.settings import Settings
from yohaku.core.errors import Unreadable, YohakuError
from yohaku.messages import say
from yohaku.meters import gguf

MAX_THREADS = 12
"""More are not faster: memory is the bound."""

BATCH_TOKENS = 512
"""Tokens of a prompt processed at once; after each batch the server tells how far it is."""

START_TIMEOUT = 30.0
"""Seconds a server with a loaded model has for its first answer."""


class CannotServe(YohakuError):
    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(say(f"host_{code}", "en", **facts), **facts)
        self.code = code

    def said(self, lang: str) -> str:
        return say(f"host_{self.code}", lang, **self.facts)


class EmbeddedServer:
    """A server that runs until this object is closed or dropped."""

    def __init__(self, endpoint: Endpoint, server: object) -> None:
        self.endpoint = endpoint
        self._server: object = server

    def close(self) -> None:
        self._server = None


def is_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def find_model_file(settings: Settings, memory: MachineMemory) -> Endpoint | None:
    """Return the best model file on this machine, not yet served."""
    found = local_models.best_model(local_models.list_models(settings), memory)
    return _endpoint(found[0].name, found[0].path, found[0].bytes, found[1]) if found else None


def offer_download(settings: Settings, memory: MachineMemory) -> DownloadableModel | None:
    """Return the model to offer for download; None without the engine."""
    return downloadable_models.choose_download(settings.data / "models", memory) if is_installed() else None


def endpoint_of_file(path: Path) -> Endpoint:
    """Return an endpoint for this file; raises `CannotServe` if it is not a model."""
    try:
        said = gguf.metadata(path)
    except Unreadable as why:
        raise CannotServe("not_served", name=path.name) from why
    model = local_models.model_of_file(path)
    return _endpoint(model.name if model else path.stem, path, model.bytes if model else path.stat().st_size, said)


def start_server(endpoint: Endpoint, window: int, *, threads: int | None = None) -> EmbeddedServer:
    """Start the engine; this takes as long as reading the file."""
    if not is_installed():
        raise CannotServe("no_engine")
    import xllamacpp

    key = secrets.token_urlsafe(24)
    how = xllamacpp.CommonParams()
    how.model.path, how.model_alias = str(endpoint.info[PATH_KEY]), {endpoint.model}
    how.n_ctx, how.n_parallel, how.n_batch = window, 1, BATCH_TOKENS
    how.hostnames, how.port, how.api_keys = ["127.0.0.1"], 0, [key]
    how.cpuparams.n_threads = how.cpuparams_batch.n_threads = threads or _choose_threads()
    how.use_jinja, how.fit_params, how.ctx_shift, how.ui, how.endpoint_props = True, False, False, False, True
    how.endpoint_slots = True
    how.verbosity = 0
    try:
        server = xllamacpp.Server(how)
    except RuntimeError as why:
        raise CannotServe("not_served", name=endpoint.model) from why
    root = server.listening_address
    fetch_json_now(
        f"{root}/slots", key, timeout=START_TIMEOUT
    )  # one that is closed before its loop turns hangs for ever
    return EmbeddedServer(replace(endpoint, url=f"{root}/v1", key=key, window=window), server)


def _endpoint(name: str, path: Path, size: int, said: Mapping[str, object]) -> Endpoint:
    info = {key: value for key, value in said.items() if not key.startswith("tokenizer.")}
    return Endpoint(
        "llama.cpp",
        "embedded",
        "openai_chat",
        "",
        name,
        trained=trained_window(info),
        local=True,
        info={**info, BYTES_KEY: size, PATH_KEY: str(path)},
    )


def _choose_threads() -> int:
    from yohaku.agent.host.memory import usable_cores

    return max(1, min(usable_cores() - 1, MAX_THREADS))
