"""Whether a server dropped part of a request without saying so, as Ollama does with what exceeds its window.

Law: only its own count of what it read tells. A low count may also mean that the rest stood in its cache, so a server
that can say how long a window it loaded is asked first.
"""

from __future__ import annotations

import json

from yohaku import meters
from yohaku.client.endpoint import Endpoint
from yohaku.core.errors import YohakuError
from yohaku.core.weigh import weigh
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Json

FEW = 256
"""Tokens. Below this nothing is said by a difference."""
NEAR = 0.95
FAR = 0.6
"""Shares of what was sent: counts differ that little among models, and never that much."""


def watched(endpoint: Endpoint) -> bool:
    return dialect_named(endpoint.dialect).drops_silently or endpoint.provider == "ollama"


def suspicious(told: int, sent: int) -> bool:
    """Worth asking the server about. A prompt found whole in the cache is not counted at all."""
    return sent > FEW and 0 < told < sent * NEAR


def dropped(told: int, sent: int, before: int, loaded: int | None) -> bool:
    """Whether the server read `told` of `sent` tokens because it dropped the rest.

    `before` is what the last request and its reply had: what a cache may hold. `loaded` is the window the server says.
    """
    if loaded:
        return sent > loaded
    if told >= sent * FAR:
        return False
    return not before or told > FEW + 1.5 * max(0, sent - before)


def weight_of(body: dict[str, Json], endpoint: Endpoint) -> int:
    """Tokens of a body, for those who did not count them."""
    try:
        history = dialect_named(endpoint.dialect).read(body).history()
        return weigh(history, meters.for_model(endpoint.model, endpoint.dialect)).total
    except YohakuError:
        return len(json.dumps(body)) // 4
