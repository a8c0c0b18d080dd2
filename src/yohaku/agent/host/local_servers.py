"""The servers people run models with on their own machines: who is there, with which model, with how large a window.

Law: a server is believed only where it answers as its kind does, and a window only where the server names one. Of
several models the one loaded already is taken, for every other costs the user a wait.
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
"""Models of an Ollama that are asked what they can do."""

BYTES_KEY, BILLIONS_KEY, PATH_KEY = "yohaku.bytes", "yohaku.billions", "path"
"""Keys of our own in the metadata of an endpoint: the size of the model's file, its parameters, where the file is."""

CANNOT_CHAT = re.compile(r"embed|(?:^|[/:_-])(?:bge|gte|minilm|reranker|whisper|clip|tts)(?:$|[/:_-])", re.IGNORECASE)
"""Names of models that do not talk."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server may be."""

    url: str
    """As the catalogue writes it: with `/v1` for those that speak OpenAI's dialect."""
    key: str = field(default="", repr=False)
    wanted: str = ""
    """The model the user named; empty: whichever is best."""
    biggest: Callable[[], int] = field(default=lambda: 1 << 62, repr=False)
    """Tells the bytes of a model that this machine can hold; to find out takes a moment."""
    patience: float = DEFAULT_TIMEOUT

    @property
    def root(self) -> str:
        return self.url.rstrip("/").removesuffix("/v1")

    @property
    def local(self) -> bool:
        return re.match(r"https?://(?:127\.[\d.]+|\[::1\]|localhost)(?:[:/]|$)", self.url) is not None

    async def get(self, path: str, body: Json = None) -> Json:
        return await fetch_json(self.root + path, self.key, body, self.patience)


Probe: TypeAlias = Callable[[ServerAddress], Awaitable[Endpoint | None]]


async def probe_ollama(place: ServerAddress) -> Endpoint | None:
    tags, running = await asyncio.gather(place.get("/api/tags"), place.get("/api/ps"))
    known = {str(row.get("name") or row.get("model")): row for row in _rows(tags, "models")}
    loaded = {str(row.get("name") or row.get("model")): row for row in _rows(running, "models")}
    known = loaded | known
    names = _match_name(place.wanted, known) if place.wanted else _sort_models(known, loaded)
    if not names:
        return None
    shown = await asyncio.gather(*(place.get("/api/show", {"model": name}) for name in names))
    told = {name: said if isinstance(said, dict) else {} for name, said in zip(names, shown, strict=True)}
    biggest = place.biggest()
    fit = [name for name in names if (positive_int(known[name].get("size")) or 0) <= biggest] or names
    name = names[0] if place.wanted else _best_name(fit, told, loaded)
    if name is None:
        return None
    info = _metadata(told[name], known[name]) | _readable_path(place, _source_file(told[name]))
    away = bool(known[name].get("remote_host") or told[name].get("remote_host"))
    trained = trained_window(info)
    runs = trained if away else positive_int(loaded.get(name, {}).get("context_length"))
    return Endpoint(
        "Ollama",
        "ollama",
        "ollama",
        place.root,
        name,
        place.key,
        runs,
        trained,
        local=place.local and not away,
        info=info,
    )


async def probe_llama_cpp(place: ServerAddress) -> Endpoint | None:
    props, listed = await asyncio.gather(place.get("/props"), place.get("/v1/models"))
    rows = _rows(listed, "data")
    usual = props.get("default_generation_settings") if isinstance(props, dict) else None
    if not isinstance(usual, dict) and not any(row.get("owned_by") == "llamacpp" for row in rows):
        return None
    row = _find_row(rows, place.wanted)
    if row is None:
        if place.wanted:
            return None
        row = {}
    meta = row["meta"] if isinstance(row.get("meta"), dict) else {}
    model = str(row.get("id") or (props.get("model_alias") if isinstance(props, dict) else "") or "default")
    window = positive_int(usual.get("n_ctx")) if isinstance(usual, dict) else None
    found = _openai_endpoint("llama.cpp", "llama.cpp", place, model, window or positive_int(meta.get("n_ctx")))
    size, path = positive_int(meta.get("size")), props.get("model_path") if isinstance(props, dict) else None
    info: dict[str, object] = {**({BYTES_KEY: size} if size else {}), **_readable_path(place, path)}
    return replace(found, trained=positive_int(meta.get("n_ctx_train")), info=info)


async def probe_lm_studio(place: ServerAddress) -> Endpoint | None:
    rows = _rows(await place.get("/api/v0/models"), "data")
    talking = [row for row in rows if row.get("type") in ("llm", "vlm") and row.get("id")]
    if not talking:
        return None
    if place.wanted:
        row = _find_row(talking, place.wanted)
    else:
        row = min(
            talking, key=lambda row: (row.get("state") != "loaded", "tool_use" not in (row.get("capabilities") or ()))
        )
    if row is None:
        return None
    found = _openai_endpoint(
        "LM Studio", "lmstudio", place, str(row["id"]), positive_int(row.get("loaded_context_length"))
    )
    return replace(found, trained=positive_int(row.get("max_context_length")))


async def probe_vllm(place: ServerAddress) -> Endpoint | None:
    rows = _rows(await place.get("/v1/models"), "data")
    if not any(row.get("owned_by") == "vllm" or positive_int(row.get("max_model_len")) for row in rows):
        return None
    row = _find_row([row for row in rows if not row.get("parent")] or rows, place.wanted)
    window = positive_int(row.get("max_model_len")) if row else None
    return _openai_endpoint("vLLM", "vllm", place, str(row["id"]), window) if row else None


async def probe_compatible(place: ServerAddress) -> Endpoint | None:
    """Any other server that speaks OpenAI's dialect and says which models it has."""
    rows = _rows(await fetch_json(place.url.rstrip("/") + "/models", place.key, None, place.patience), "data")
    row = _find_row(rows, place.wanted)
    if row is None:
        return None
    said = (row.get(key) for key in ("max_model_len", "context_length", "context_window", "max_context_length"))
    window = next((found for each in said if (found := positive_int(each))), None)
    return replace(
        _openai_endpoint(place.root.partition("://")[2], "openai", place, str(row["id"]), window), url=place.url
    )


PROBES: dict[str, Probe] = {
    "ollama": probe_ollama,
    "llamacpp": probe_llama_cpp,
    "lmstudio": probe_lm_studio,
    "vllm": probe_vllm,
}
"""By the catalogue's name of the provider, in the order in which one is preferred."""


async def probe_address(url: str, model: str = "", key: str = "", patience: float = DEFAULT_TIMEOUT) -> Endpoint | None:
    """Whoever serves at this address, of whatever kind. Several answer alike, so all are asked and the surest wins."""
    place = ServerAddress(url, key, model, patience=patience)
    kinds = (probe_llama_cpp, probe_lm_studio, probe_vllm, probe_ollama, probe_compatible)
    found = await asyncio.gather(*(kind(place) for kind in kinds))
    return next((each for each in found if each), None)


def _openai_endpoint(name: str, provider: str, place: ServerAddress, model: str, window: int | None) -> Endpoint:
    return Endpoint(name, provider, "openai_chat", f"{place.root}/v1", model, place.key, window, local=place.local)


def _source_file(shown: dict[str, Json]) -> Json:
    """The file an Ollama made the model from, as its own recipe has it."""
    found = re.search(r"^FROM (/.+|[A-Z]:\\.+)$", str(shown.get("modelfile", "")), re.MULTILINE)
    return found[1].strip() if found else None


def _readable_path(place: ServerAddress, path: Json) -> dict[str, object]:
    """Where the model's file is, if this machine has it and we may read it."""
    here = isinstance(path, str) and place.local and os.access(path, os.R_OK) and Path(path).is_file()
    return {PATH_KEY: path} if here else {}


def _rows(said: Json, key: str) -> list[dict[str, Json]]:
    rows = said.get(key) if isinstance(said, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _find_row(rows: list[dict[str, Json]], wanted: str) -> dict[str, Json] | None:
    """The row of the model that is wanted, or of the first that talks."""
    rows = [row for row in rows if isinstance(row.get("id"), str)]
    if wanted:
        return next(
            (row for row in rows if wanted in (row["id"], _short_name(row["id"]), *(row.get("aliases") or ()))), None
        )
    return next((row for row in rows if not CANNOT_CHAT.search(row["id"])), None)


def _short_name(name: str) -> str:
    """Some servers name a model by its path, or after its maker."""
    return name.rpartition("/")[2].removesuffix(".gguf")


def _match_name(wanted: str, known: Iterable[str]) -> list[str]:
    """Ollama's users leave out `:latest`."""
    return [name for name in known if name in (wanted, f"{wanted}:latest")][:1]


def _sort_models(known: dict[str, dict[str, Json]], loaded: Iterable[str]) -> list[str]:
    """Those that talk: loaded ones first, then on this machine before elsewhere, then the newest."""
    first = set(loaded)
    talking = [name for name, row in known.items() if not CANNOT_CHAT.search(name) and not _is_embedding(row)]
    newest = sorted(talking, key=lambda name: _timestamp(known[name].get("modified_at")), reverse=True)
    return sorted(newest, key=lambda name: (name not in first, bool(known[name].get("remote_host"))))[
        :MAX_DESCRIBED_MODELS
    ]


def _best_name(names: list[str], told: dict[str, dict[str, Json]], loaded: Iterable[str]) -> str | None:
    """The first that is loaded, else that takes tools, else that talks; older servers do not say what a model can."""
    first = set(loaded)
    can = {name: told[name].get("capabilities") or ["completion", "tools"] for name in names}
    talking = [name for name in names if "completion" in can[name]]
    return min(talking, key=lambda name: (name not in first, "tools" not in can[name]), default=None)


def _is_embedding(row: dict[str, Json]) -> bool:
    details = row.get("details")
    return isinstance(details, dict) and "bert" in str(details.get("family", ""))


def _timestamp(said: Json) -> float:
    try:
        return datetime.fromisoformat(str(said)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _metadata(shown: dict[str, Json], row: dict[str, Json]) -> dict[str, object]:
    """What was said of the model, without its vocabulary."""
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
