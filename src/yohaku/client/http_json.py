"""Small requests beside the conversation, answered in JSON, with the standard library alone.

Law: a request never raises and never waits long. Silence, slowness, a redirect, an error or anything that is not JSON
gives None. Proxies are not used: these are servers that the user names.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from yohaku.client.endpoint import Endpoint

Json: TypeAlias = Any

DEFAULT_TIMEOUT = 0.6
"""Seconds."""
COUNT_TIMEOUT = 5.0
"""Seconds. The server may be busy with another request."""

MAX_BYTES = 64_000_000
"""Of an answer; a vocabulary with its merges can have a dozen million."""

FREE_COUNTERS = ("llama.cpp", "embedded")
"""Servers that count tokens free of charge."""


async def fetch_json(url: str, key: str = "", body: Json = None, timeout: float = DEFAULT_TIMEOUT) -> Json:
    """Get a URL, or post a body to it, and return the answer; None where there is none."""
    return await asyncio.to_thread(fetch_json_now, url, key, body, timeout)


def fetch_json_now(url: str, key: str = "", body: Json = None, timeout: float = DEFAULT_TIMEOUT) -> Json:
    received = _fetch(url, key, body, timeout)
    try:
        return None if received is None else json.loads(received)
    except (ValueError, RecursionError):
        return None


def _fetch(url: str, key: str, body: Json, timeout: float) -> bytes | None:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # imported in the thread that needs it

    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        connection = (HTTPSConnection if secure else HTTPConnection)(parts.hostname or "", parts.port, timeout=timeout)
    except (ValueError, HTTPException):
        return None
    until = time.monotonic() + timeout
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET" if sent is None else "POST", path, sent, headers)
        reply = connection.getresponse()
        if reply.status != 200:
            return None
        received = bytearray()
        while len(received) <= MAX_BYTES and time.monotonic() < until:
            piece = reply.read1(65_536)
            if not piece:
                return bytes(received)
            received += piece
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return None


def can_count(endpoint: Endpoint) -> bool:
    """Return whether the server of an endpoint may count the tokens of a request free of charge."""
    from yohaku.dialects import dialect_named

    return endpoint.provider in FREE_COUNTERS and bool(dialect_named(endpoint.dialect).count_path)


async def count_on_server(endpoint: Endpoint, body: Json) -> int | None:
    """Return the tokens of a request as its server counts them, with what its template adds; None if it cannot."""
    from yohaku.dialects import dialect_named

    dialect = dialect_named(endpoint.dialect)
    if not can_count(endpoint):
        return None
    url = endpoint.url.rstrip("/") + dialect.count_path
    return dialect.read_count(await fetch_json(url, endpoint.key, body, COUNT_TIMEOUT))
