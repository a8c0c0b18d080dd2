"""What an upstream tells of itself: its dialect, and the window of its model, learned from refusals too.

A window that the user declares is never asked for, and only a refusal lowers it. Otherwise the server is asked once for
each model: llama.cpp (`/props`), Ollama (`/api/ps`, `/api/show`), any other by its list of models. It is greeted
once, at its root. One that is not there yet is asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from yohaku.client.endpoint import Endpoint
from yohaku.client.window_cache import WindowCache
from yohaku.dialects.dialect import Dialect
from yohaku.proxy.translation import dialect_by_greeting
from yohaku.proxy.upstream import Upstream

WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "inputTokenLimit")
DISCOVERY_TIMEOUT = 2.0
"""Seconds, once for each model."""
MAX_SILENCES = 8
"""Questions that an upstream leaves without an answer, until no answer counts as one."""
MAX_MODELS = 1000
"""Names of models whose windows are remembered: clients may send any."""
MAX_TRAINED_WINDOW = 32_768
"""Tokens taken of the window that a model was trained for: it is no promise that the machine has the memory for it."""

Headers: TypeAlias = Iterable[tuple[str, str]]


class UpstreamWindows:
    def __init__(self, upstream: Upstream, folder: Path | None = None, declared: int | None = None) -> None:
        """`upstream`: where it has no URL each provider has its own, whose models the catalogue knows."""
        self.upstream, self.url, self.declared = upstream, (upstream.url or "").rstrip("/"), declared
        self._cache = WindowCache(folder) if folder and self.url else None
        self._found: dict[str, int | None] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._native: Dialect | None = None
        self._greeted = False
        self._silences = 0

    async def find(self, model: str, headers: Headers = ()) -> int | None:
        """Return the window to use for a model; None where the server tells nothing and nothing was learned.

        `headers`: credentials of the client.
        """
        if not self.url or self.declared:
            return self._remembered(model, None) if self.declared else None
        async with self._asking.setdefault(model, asyncio.Lock()):
            if model not in self._found:
                await self._discover(model, list(headers))
        self._asking.pop(model, None)
        found = self._found.get(model)
        return self._remembered(model, found) or found

    async def native_dialect(self, headers: Headers = ()) -> Dialect | None:
        """Return the dialect that the upstream has to be spoken to in, as Ollama has; None for one that takes any."""
        if not self.url:
            return None
        async with self._asking.setdefault("", asyncio.Lock()):
            if not self._greeted:
                text = await self._ask("/", list(headers))
                self._greeted = text is not None
                self._native = dialect_by_greeting((text or b"").decode("utf-8", "replace"))
        return self._native

    def learn(self, model: str, tokens: int) -> None:
        """Remember a window that a refusal taught, also for the next start."""
        if self._cache:
            self._cache.learn(self._endpoint(model, self.declared or self._found.get(model)), tokens, "overflow")

    async def _discover(self, model: str, headers: list[tuple[str, str]]) -> None:
        """Ask for the window of a model in every way a server may have, and keep it if anybody answers."""
        question = msgspec.json.encode({"model": model})
        answers = await asyncio.gather(
            self._ask("/props", headers),
            self._ask("/api/ps", headers),
            self._ask("/api/show", headers, question),
            self._ask("/v1/models", headers),
        )
        if any(answer is not None for answer in answers):
            self._found[model] = read_window(model, *map(_decode, answers))
            if len(self._found) > MAX_MODELS:
                del self._found[next(iter(self._found))]  # the oldest

    async def _ask(self, path: str, headers: list[tuple[str, str]], body: bytes | None = None) -> bytes | None:
        try:
            return await self.upstream.ask(path, headers, body, DISCOVERY_TIMEOUT)
        except TimeoutError:
            self._silences += 1
            return b"" if self._silences > MAX_SILENCES else None

    def _remembered(self, model: str, found: int | None) -> int | None:
        return self._cache.window(self._endpoint(model, self.declared or found)) if self._cache else None

    def _endpoint(self, model: str, window: int | None) -> Endpoint:
        return Endpoint("", "", "openai_chat", self.url, model, window=window)


def read_window(model: str, props: Any, loaded: Any, shown: Any, listed: Any) -> int | None:
    """Read the window of a model from what a server answered in every way it may have."""
    return (
        _count(_dig(props, "default_generation_settings", "n_ctx"))
        or _loaded(loaded, model)
        or _shown(shown)
        or _listed(listed, model)
    )


def _decode(answer: bytes | None) -> Any:
    try:
        return json.loads(answer or b"null")
    except (ValueError, RecursionError):
        return None


def _dig(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _count(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _loaded(reply: Any, model: str) -> int | None:
    from yohaku.dialects import dialect_named

    return dialect_named("ollama").read_loaded_window(reply, model)


def _shown(reply: Any) -> int | None:
    """Return the `num_ctx` of an Ollama model's own parameters, else what it was trained for, within reason."""
    for line in str(_dig(reply, "parameters") or "").splitlines():
        name, _, number = line.strip().partition(" ")
        if name == "num_ctx" and number.strip().isdigit():
            return int(number)
    info = _dig(reply, "model_info")
    lengths = (value for name, value in info.items() if name.endswith(".context_length")) if info else ()
    trained = next(filter(None, map(_count, lengths)), None)
    return min(trained, MAX_TRAINED_WINDOW) if trained else None


def _listed(reply: Any, model: str) -> int | None:
    rows = _dig(reply, "data")
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    named = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 else [])
    for row in named:
        values = (_dig(row, "meta", "n_ctx"), *(row.get(name) for name in WINDOW_FIELDS))
        if found := next(filter(None, map(_count, values)), None):
            return found
    return None
