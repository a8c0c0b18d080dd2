"""One question to a server and its answer as JSON, with the standard library alone, for looking around at start.

Law: it never raises and never waits long. Silence, slowness, a redirect, an error or anything that is not JSON is
"nothing there"; proxies are not asked, for these are machines one names oneself.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, TypeAlias
from urllib.parse import urlsplit

Json: TypeAlias = Any

PATIENCE = 0.6
"""Seconds a server has for one answer."""

LARGEST = 64_000_000
"""Bytes that are read of an answer; a vocabulary with its merges can have a dozen million."""


async def ask(url: str, key: str = "", body: Json = None, patience: float = PATIENCE) -> Json:
    """What is there, or None; with a `body` it is posted."""
    return await asyncio.to_thread(ask_now, url, key, body, patience)


def ask_now(url: str, key: str = "", body: Json = None, patience: float = PATIENCE) -> Json:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # here: beside others, in its own thread

    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        connection = (HTTPSConnection if secure else HTTPConnection)(parts.hostname or "", parts.port, timeout=patience)
    except (ValueError, HTTPException):
        return None
    until = time.monotonic() + patience
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET" if sent is None else "POST", path, sent, headers)
        reply = connection.getresponse()
        heard = bytearray()
        while reply.status == 200 and len(heard) <= LARGEST and time.monotonic() < until:
            piece = reply.read1(65_536)
            if not piece:
                return json.loads(heard)
            heard += piece
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return None
