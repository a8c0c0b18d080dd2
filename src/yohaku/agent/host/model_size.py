"""Size of a model in billions of parameters, by what its server, its file or its name says."""

from __future__ import annotations

import re

from yohaku.agent.host.capacity import estimate_billions
from yohaku.agent.host.kv_cache import positive_int
from yohaku.agent.host.local_servers import BILLIONS_KEY, BYTES_KEY
from yohaku.client.endpoint import Endpoint

_IN_NAME = re.compile(r"(?<![a-z0-9.])(?:(\d{1,2})x)?e?(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])")
"""`8b`, `0.5b`, `8x7b`, `e4b`; not `a3b`, which is the active part of a larger model."""


def billions_of(endpoint: Endpoint) -> float | None:
    """Return billions of parameters; None where nothing is known."""
    count = endpoint.info.get(BILLIONS_KEY)
    if isinstance(count, int | float) and count > 0:
        return float(count)
    if exact := positive_int(endpoint.info.get("general.parameter_count")):
        return exact / 1e9
    if named := _IN_NAME.search(endpoint.model.lower()):
        return float(named[2]) * int(named[1] or 1)
    size = positive_int(endpoint.info.get(BYTES_KEY))
    return estimate_billions(size) if size else None
