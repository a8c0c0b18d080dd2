"""Probes of local model servers: Ollama, llama.cpp, LM Studio, vLLM and compatible ones.

Law: a server is recognised only by answers of its kind, and has a window only where it reports one. Of several models
the loaded one is taken, because any other costs the user a wait.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from yohaku.agent.host.capacity import trained_window
from yohaku.agent.host.kv_cache import positive_int
from yohaku.client.endpoint import Endpoint
from yohaku.client.http_json import DEFAULT_TIMEOUT, Json, fetch_json

MAX_DESCRIBED_MODELS = 6
"""Models of an Ollama whose description is fetched."""

BYTES_KEY, BILLIONS_KEY, PATH_KEY = "yohaku.bytes", "yohaku.billions", "path"
"""Our own keys in the metadata of an endpoint: size of the file, billions of parameters, path of the file."""

CANNOT_CHAT = re.compile(r"embed|(?:^|[/:_-])(?:bge|gte|minilm|reranker|whisper|clip|tts)(?:$|[/:_-])", re.IGNORECASE)
"""Matches names of models that cannot chat."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address that may have a server, and what to look for."""

    url: str
    """As in the catalogue: with `/v1` for OpenAI's dialect."""
    key: str = field(default="", repr=False)
    wanted: str = ""
    """Model the user named; empty: the best one."""
    biggest: Callable[[], int] = field(default=lambda: 1 << 62, repr=False)
    """Returns the size of the largest model that fits; a function, because measuring takes a moment."""
    timeout: float = DEFAULT_TIMEOUT

    @property
    def root(self) -> str:
        return self.url.rstrip("/").removesuffix("/v1")

    @property
    def local(self) -> bool:
        return re.match(r"https?://(?:127\.[\d.]+|\[::1\]|localhost)(?:[:/]|$)", self.url) is not None

    async def get(self, path: str, body: Json = None) -> Json:
        return await fetch_json(self.root + path, self.key, body, self.timeout)


Probe: TypeAlias = Callable[[ServerAddress], Awaitable[Endpoint | None]]


async def probe_ollama(address: ServerAddress) -> Endpoint | None:
    tags, running = await asyncio.gather(address.get("/api/tags"), address.get("/api/ps"))
    known = {str(row.get("name") or row.get("model")): row for row in _rows(tags, "models")}
    loaded = {str(row.get("name") or row.get("model")): row for row in _rows(running, "models")}
    known = loaded | known
    names = _match_name(address.wanted, known) if address.wanted else _sort_models(known, loaded)
    if not names:
        return None
    shown = await asyncio.gather(*(address.get("/api/show", {"model": name}) for name in names))
    described = {name: said if isinstance(said, dict) else {} for name, said in zip(names, shown, strict=True)}
    biggest = address.biggest()
    fit = [name for name in names if (positive_int(known[name].get("size")) or 0) <= biggest] or names
    name = names[0] if address.wanted else _best_name(fit, described, loaded)
    if name is None:
        return None
    info = _metadata(described[name], known[name]) | _readable_path(address, _source_file(described[name]))
    away = bool(known[name].get("remote_host") or described[name].get("remote_host"))
    trained = trained_window(info)
    runs = trained if away else positive_int(loaded.get(name, {}).get("context_length"))
    return Endpoint(
        "Ollama",
        "ollama",
        "ollama",
        address.root,
        name,
        address.key,
        runs,
        trained,
        local=address.local and not away,
        info=info,
    )


async def probe_llama_cpp(address: ServerAddress) -> Endpoint | None:
    props, listed = await asyncio.gather(address.get("/props"), address.get("/v1/models"))
    rows = _rows(listed, "data")
    usual = props.get("default_generation_settings") if isinstance(props, dict) else None
    if not isinstance(usual, dict) and not any(row.get("owned_by") == "llamacpp" for row in rows):
        return None
    row = _find_row(rows, address.wanted)
    if row is None:
        if address.wanted:
            return None
        row = {}
    meta = row["meta"] if isinstance(row.get("meta"), dict) else {}
    model = str(row.get("id") or (props.get("model_alias") if isinstance(props, dict) else "") or "default")
    window = positive_int(usual.get("n_ctx")) if isinstance(usual, dict) else None
    found = _openai_endpoint("llama.cpp", "llama.cpp", address, model, window or positive_int(meta.get("n_ctx")))
    size, path = positive_int(meta.get("size")), props.get("model_path") if isinstance(props, dict) else None
    info: dict[str, object] = {**({BYTES_KEY: size} if size else {}), **_readable_path(address, path)}
    if count := positive_int(meta.get("n_params")):
        info[BILLIONS_KEY] = count / 1e9
    return replace(found, trained=positive_int(meta.get("n_ctx_train")), info=info)


async def probe_lm_studio(address: ServerAddress) -> Endpoint | None:
    rows = _rows(await address.get("/api/v0/models"), "data")
    chatting = [row for row in rows if row.get("type") in ("llm", "vlm") and row.get("id")]
    if not chatting:
        return None
    if address.wanted:
        row = _find_row(chatting, address.wanted)
    else:
        row = min(
            chatting, key=lambda row: (row.get("state") != "loaded", "tool_use" not in (row.get("capabilities") or ()))
        )
    if row is None:
        return None
    found = _openai_endpoint(
        "LM Studio", "lmstudio", address, str(row["id"]), positive_int(row.get("loaded_context_length"))
    )
    return replace(found, trained=positive_int(row.get("max_context_length")))


async def probe_vllm(address: ServerAddress) -> Endpoint | None:
    rows = _rows(await address.get("/v1/models"), "data")
    if not any(row.get("owned_by") == "vllm" or positive_int(row.get("max_model_len")) for row in rows):
        return None
    row = _find_row([row for row in rows if not row.get("parent")] or rows, address.wanted)
    window = positive_int(row.get("max_model_len")) if row else None
    return _openai_endpoint("vLLM", "vllm", address, str(row["id"]), window) if row else None


async def probe_compatible(address: ServerAddress) -> Endpoint | None:
    """Probe for any other server with OpenAI's dialect that lists its models."""
    rows = _rows(await fetch_json(address.url.rstrip("/") + "/models", address.key, None, address.timeout), "data")
    row = _find_row(rows, address.wanted)
    if row is None:
        return None
    said = (row.get(key) for key in ("max_model_len", "context_length", "context_window", "max_context_length"))
    window = next((found for each in said if (found := positive_int(each))), None)
    return replace(
        _openai_endpoint(address.root.partition("://")[2], "openai", address, str(row["id"]), window), url=address.url
    )


PROBES: dict[str, Probe] = {
    "ollama": probe_ollama,
    "llamacpp": probe_llama_cpp,
    "lmstudio": probe_lm_studio,
    "vllm": probe_vllm,
}
"""Probe by provider name in the catalogue, the preferred first."""


async def probe_address(url: str, model: str = "", key: str = "", timeout: float = DEFAULT_TIMEOUT) -> Endpoint | None:
    """Return the server at this address. All probes run, because kinds answer alike; the most specific wins."""
    address = ServerAddress(url, key, model, timeout=timeout)
    kinds = (probe_llama_cpp, probe_lm_studio, probe_vllm, probe_ollama, probe_compatible)
    found = await asyncio.gather(*(kind(address) for kind in kinds))
    return next((each for each in found if each), None)


async def list_model_names(endpoint: Endpoint, timeout: float = DEFAULT_TIMEOUT) -> list[str]:
    """Return the models of a server that can chat; all these kinds list them alike."""
    address = ServerAddress(endpoint.url, endpoint.key, timeout=timeout)
    names = [str(row.get("id", "")) for row in _rows(await address.get("/v1/models"), "data")]
    return [name for name in names if name and not CANNOT_CHAT.search(name)]


def _openai_endpoint(name: str, provider: str, address: ServerAddress, model: str, window: int | None) -> Endpoint:
    return Endpoint(
        name, provider, "openai_chat", f"{address.root}/v1", model, address.key, window, local=address.local
    )


def _source_file(shown: dict[str, Json]) -> Json:
    """Return the file of an Ollama model, from its modelfile."""
    found = re.search(r"^FROM (/.+|[A-Z]:\\.+)$", str(shown.get("modelfile", "")), re.MULTILINE)
    return found[1].strip() if found else None


def _readable_path(address: ServerAddress, path: Json) -> dict[str, object]:
    """Return the path of the model's file as metadata, if it is readable here."""
    here = isinstance(path, str) and address.local and os.access(path, os.R_OK) and Path(path).is_file()
    return {PATH_KEY: path} if here else {}


def _rows(said: Json, key: str) -> list[dict[str, Json]]:
    rows = said.get(key) if isinstance(said, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _find_row(rows: list[dict[str, Json]], wanted: str) -> dict[str, Json] | None:
    """Return the row of the wanted model, or of the first that can chat."""
    rows = [row for row in rows if isinstance(row.get("id"), str)]
    if wanted:
        return next(
            (row for row in rows if wanted in (row["id"], _short_name(row["id"]), *(row.get("aliases") or ()))), None
        )
    return next((row for row in rows if not CANNOT_CHAT.search(row["id"])), None)


def _short_name(name: str) -> str:
    """Remove path, maker and suffix from a model's name."""
    return name.rpartition("/")[2].removesuffix(".gguf")


def _match_name(wanted: str, known: Iterable[str]) -> list[str]:
    """Match a name with or without `:latest`."""
    return [name for name in known if name in (wanted, f"{wanted}:latest")][:1]


def _sort_models(known: dict[str, dict[str, Json]], loaded: Iterable[str]) -> list[str]:
    """Return chat models: loaded ones first, then local before remote, then the newest."""
    first = set(loaded)
    chatting = [name for name, row in known.items() if not CANNOT_CHAT.search(name) and not _is_embedding(row)]
    newest = sorted(chatting, key=lambda name: _timestamp(known[name].get("modified_at")), reverse=True)
    return sorted(newest, key=lambda name: (name not in first, bool(known[name].get("remote_host"))))[
        :MAX_DESCRIBED_MODELS
    ]


def _best_name(names: list[str], described: dict[str, dict[str, Json]], loaded: Iterable[str]) -> str | None:
    """Return the first loaded model, else one with tools, else any; older servers report no capabilities."""
    first = set(loaded)
    can = {name: described[name].get("capabilities") or ["completion", "tools"] for name in names}
    chatting = [name for name in names if "completion" in can[name]]
    return min(chatting, key=lambda name: (name not in first, "tools" not in can[name]), default=None)


def _is_embedding(row: dict[str, Json]) -> bool:
    details = row.get("details")
    return isinstance(details, dict) and "bert" in str(details.get("family", ""))


def _timestamp(said: Json) -> float:
    try:
        return datetime.fromisoformat(str(said)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _metadata(shown: dict[str, Json], row: dict[str, Json]) -> dict[str, object]:
    """Return the metadata of a model without its vocabulary."""
    said = shown.get("model_info")
    info: dict[str, object] = {}
    if isinstance(said, dict):
        info = {key: value for key, value in said.items() if not str(key).startswith("tokenizer.")}
    if size := positive_int(row.get("size")):
        info[BYTES_KEY] = size
    details = shown.get("details") or row.get("details")
    count = (
        re.fullmatch(r"([\d.]+)([BM])", str(details.get("parameter_size", ""))) if isinstance(details, dict) else None
    )
    if count:
        info[BILLIONS_KEY] = float(count[1]) / (1 if count[2] == "B" else 1000)
    return info
