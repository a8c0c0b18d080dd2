"""Turns that a client leaves to its provider, held by the proxy, so that they can be folded like all others.

A client of OpenAI's Responses that names the response before (`previous_response_id`) sends only what is new. Where the
user wants it, the proxy keeps what went in and out under the id of each response, in the store, and puts it into the
next request, which the provider then needs no memory for. Law: an id opens within its own tenant only; one that is not
known is left to the provider.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from yohaku.core.errors import YohakuError
from yohaku.core.originals import ref_of
from yohaku.dialects.dialect import Dialect
from yohaku.stores import Store

MAX_KEPT = 64
"""Conversations in memory; another one is read from the store."""
MAX_LINKS = 10_000
MAX_EVENT_BYTES = 64 << 20
EVENT_END = re.compile(rb"\r?\n\r?\n")


class Linked(NamedTuple):
    """A request with all turns in it."""

    raw: bytes
    entries: list[Any]
    link: str = ""
    """The response that it goes on from."""
    new: int = 0
    """Entries at the end that the client sent."""


class HeldState:
    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], list[Any]] = OrderedDict()
        self._lock = Lock()

    def link(self, dialect: Dialect, raw: bytes, tenant: str, store: Store) -> Linked | None:
        """Return a request with the turns it leaves out; None where nothing is kept, or what it names is unknown."""
        if not dialect.link_field:
            return None
        try:
            body = msgspec.json.decode(raw)
            entries = dialect.entries_of(body)
        except (msgspec.DecodeError, YohakuError, RecursionError, UnicodeDecodeError):
            return None
        if not isinstance(body, dict) or body.get("store") is False:
            return None
        link = body.get(dialect.link_field)
        if not link:
            return None if dialect.state_in(body) else Linked(raw, entries, new=len(entries))
        before = self._find(tenant, str(link), store)
        if before is None:
            return None
        whole = {name: value for name, value in body.items() if name != dialect.link_field}
        both = [*before, *entries]
        return Linked(msgspec.json.encode({**whole, dialect.entries: both}), both, str(link), len(entries))

    def keep(self, linked: Linked, name: str, output: list[Any], tenant: str, store: Store) -> None:
        """Keep what went in and out under the id of the response."""
        new = [*linked.entries[len(linked.entries) - linked.new :], *output]
        texts = [msgspec.json.encode(entry).decode() for entry in new]
        refs = [ref_of(text) for text in texts]
        store.put_all(zip(refs, texts, strict=True))
        row = {"at": int(time.time()), "previous": linked.link, "refs": refs}
        store.record(_record_of(name), msgspec.json.encode(row).decode())
        with self._lock:
            self._kept.pop((tenant, linked.link), None)  # whoever goes on from there once more reads the store
        self._remember(tenant, name, [*linked.entries, *output])

    def _find(self, tenant: str, name: str, store: Store) -> list[Any] | None:
        with self._lock:
            if (found := self._kept.get((tenant, name))) is not None:
                return found
        try:
            found = _read(name, store)
        except (YohakuError, msgspec.DecodeError, KeyError, TypeError):
            return None
        if found is not None:
            self._remember(tenant, name, found)
        return found

    def _remember(self, tenant: str, name: str, entries: list[Any]) -> None:
        with self._lock:
            self._kept[tenant, name] = entries
            self._kept.move_to_end((tenant, name))
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


def _record_of(name: str) -> str:
    return f"response {name}"


def _read(name: str, store: Store) -> list[Any] | None:
    """Read a conversation from the store, response by response from the newest."""
    pieces: list[list[Any]] = []
    while name:
        rows = store.recorded(_record_of(name))
        if not rows or len(pieces) >= MAX_LINKS:
            return None
        row = msgspec.json.decode(rows[-1])
        pieces.append([msgspec.json.decode(store.get(ref)) for ref in row["refs"]])
        name = row["previous"]
    return [entry for piece in reversed(pieces) for entry in piece]


async def watch_reply(
    pieces: AsyncIterator[bytes], dialect: Dialect, streams: bool, keep: Callable[[str, list[Any]], None]
) -> AsyncIterator[bytes]:
    """Relay a reply; it is kept before its last bytes reach the client, who may go on from it at once."""
    held = b""
    async for piece in pieces:
        held += piece
        if not streams:
            continue
        ends = [found.end() for found in EVENT_END.finditer(held)]
        if ends:
            for event in dialect.events(held[: ends[-1]].decode("utf-8", "replace")):
                await _keep(dialect, event, keep)
            held = held[ends[-1] :]
        if len(held) > MAX_EVENT_BYTES:
            held = b""
        yield piece
    if not streams:
        try:
            await _keep(dialect, msgspec.json.decode(held), keep)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        yield held


async def _keep(dialect: Dialect, value: Any, keep: Callable[[str, list[Any]], None]) -> None:
    if found := dialect.linkable(value):
        await asyncio.to_thread(keep, *found)
