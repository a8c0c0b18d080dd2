"""The beginning of a reply, held back until it is clear that the upstream took the request.

Some servers answer a request that is too long with 200: with an empty stream, or with an error as an event of it. Law:
what was held back reaches the client as the bytes that came, before the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import aiohttp

from yohaku.dialects.dialect import Dialect
from yohaku.dialects.overflow import Overflow

MAX_HELD_BYTES = 1 << 16
EMPTY_EVENTS = frozenset(("[DONE]", ""))
SILENT_TYPES = ("response.created", "response.in_progress", "response.queued", "ping")
"""Events that come before the upstream has read the request."""


class Beginning(NamedTuple):
    held: bytes
    overflow: Overflow | None
    """Set where the reply says, by an error or by nothing at all, that the request was too long."""
    silent: bool = False
    """It says so by nothing at all."""


async def read_beginning(dialect: Dialect, response: aiohttp.ClientResponse) -> Beginning:
    """Read a reply with status 200 until its first event that tells something."""
    held = b""
    while len(held) < MAX_HELD_BYTES:
        piece = await response.content.readany()
        held += piece
        ended = not piece
        if not _is_stream(response, held):
            return _silence(held) if ended and not held.strip() else Beginning(held, None)
        text = held.decode("utf-8", "replace").replace("\r\n", "\n")
        if overflow := dialect.read_overflow(200, text):
            return Beginning(held, overflow)
        if ended:
            return _silence(held) if not any(_data_lines(text)) else Beginning(held, None)
        complete = text[: text.rfind("\n\n") + 2] if "\n\n" in text else ""
        if any(not _is_silent(line) for line in _data_lines(complete)):
            break
    return Beginning(held, None)


def _silence(held: bytes) -> Beginning:
    return Beginning(held, Overflow(), silent=True)


async def whole_stream(held: bytes, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    if held:
        yield held
    async for piece in response.content.iter_any():
        yield piece


def _is_stream(response: aiohttp.ClientResponse, held: bytes) -> bool:
    return response.content_type == "text/event-stream" or held.lstrip().startswith((b"data:", b"event:"))


def _data_lines(text: str) -> list[str]:
    """Return what the events carry; the mark that ends a stream carries nothing."""
    found = (line[5:].strip() for line in text.replace("\r\n", "\n").split("\n") if line.startswith("data:"))
    return [line for line in found if line not in EMPTY_EVENTS]


def _is_silent(line: str) -> bool:
    return any(f'"{kind}"' in line[:200] for kind in SILENT_TYPES)
