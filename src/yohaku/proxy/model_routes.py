"""Settings of their own for some models or paths: upstream, window, reserve, recipe, summaries, the name that is sent.

A table `[routes."PATTERN"]` of the config file is for models whose name fits the pattern (`qwen*`), or for paths that
begin with it (`/v1/messages`). The first that fits counts.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from yohaku.proxy.fitting import Fitter
from yohaku.proxy.summaries import DEFAULT_WAIT, Summaries, read_summary_model
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows


@dataclass(frozen=True)
class ModelRoute:
    pattern: str
    fitter: Fitter
    upstream: Upstream | None
    """None for that of the whole proxy."""
    windows: UpstreamWindows | None
    model: str = ""
    """The name that is sent instead of the client's."""
    summaries: Summaries | None = None
    """None for those of the whole proxy."""

    def serves(self, path: str, model: str) -> bool:
        if self.pattern.startswith("/"):
            return path.startswith(self.pattern)
        return fnmatchcase(model, self.pattern)

    def of(self, tenant: str) -> ModelRoute:
        return replace(self, fitter=self.fitter.of(tenant))


def build_routes(
    tables: Mapping[str, Mapping[str, Any]],
    fitter: Fitter,
    upstream: Upstream,
    folder: Path | None,
    wait: float = DEFAULT_WAIT,
) -> tuple[ModelRoute, ...]:
    """Build the routes of a config file; what a table leaves out is as in the whole proxy. `wait`: for summaries."""
    found = []
    for pattern, table in tables.items():
        ours = copy.copy(fitter)
        ours.window = table.get("window", fitter.window)
        ours.reserve, ours.recipe = table.get("reserve", fitter.reserve), table.get("recipe", fitter.recipe)
        ours.learned, ours.found, ours.roles, ours.refuses_tools = {}, {}, {}, set()
        ours._sessions = OrderedDict()
        url = table.get("upstream")
        own = Upstream(url, {}) if url else None
        windows = UpstreamWindows(own or upstream, folder, ours.window)
        named = table.get("summaries", "")
        summaries = Summaries(read_summary_model(named, fitter.settings), wait) if named else None
        found.append(ModelRoute(pattern, ours, own, windows, table.get("model", ""), summaries))
    return tuple(found)


def find_model_route(routes: Iterable[ModelRoute], path: str, model: str) -> ModelRoute | None:
    return next((route for route in routes if route.serves(path, model)), None)


def rename_model(raw: bytes, name: str) -> bytes:
    """Return a body that asks for another model; the same bytes if it names none."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return raw
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return raw
    return msgspec.json.encode({**body, "model": name})
