"""A server's own count of a request, asked for before it is sent: its template adds what nobody else sees.

Law: it is a favour. A server that cannot count, or takes long, is not asked twice, and nothing depends on it.
"""

from __future__ import annotations

from yohaku.agent.host.http_get import ask
from yohaku.client.endpoint import Endpoint
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Json

PATIENCE = 5.0
"""Seconds. The server may be busy with another's request."""

COUNTS = ("llama.cpp", "embedded")
"""Servers that count for nothing."""


async def counted(endpoint: Endpoint, body: Json) -> int | None:
    """The tokens of a request as the server will count them; None where it does not say."""
    dialect = dialect_named(endpoint.dialect)
    if endpoint.provider not in COUNTS or not dialect.count_path:
        return None
    return dialect.read_count(await ask(endpoint.url.rstrip("/") + dialect.count_path, endpoint.key, body, PATIENCE))
