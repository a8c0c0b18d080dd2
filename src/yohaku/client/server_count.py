"""A server's own count of a request, asked for before it is sent: its template adds what nobody else sees.

Law: it is a favour. A server that cannot count, or takes long, is not asked twice, and nothing depends on it.
"""

from __future__ import annotations

from yohaku.agent.host.http_get import ask
from yohaku.client.endpoint import Endpoint
from yohaku.dialects.dialect import Json

PATIENCE = 5.0
"""Seconds. The server may be busy with another's request."""

COUNTS = ("llama.cpp", "embedded")
"""Servers that count for nothing."""


async def counted(endpoint: Endpoint, body: Json) -> int | None:
    """The tokens of a request as the server will count them; None where it does not say."""
    if endpoint.provider not in COUNTS or endpoint.dialect != "openai_chat":
        return None
    url = f"{endpoint.url.rstrip('/')}/chat/completions/input_tokens"
    told = await ask(url, endpoint.key, body, PATIENCE)
    found = told.get("input_tokens") if isinstance(told, dict) else None
    return found if isinstance(found, int) and found > 0 else None
