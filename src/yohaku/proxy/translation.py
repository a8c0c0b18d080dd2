"""Requests translated for an upstream that says everything only in its own dialect, and its replies translated back.

Ollama takes the size of a context window in its native API alone: what comes in OpenAI's or Anthropic's dialect and is
longer than the window that the server happens to use would lose its beginning without a word.
"""

from __future__ import annotations

import codecs
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from multidict import CIMultiDict

from yohaku import dialects
from yohaku.core.errors import YohakuError
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter
from yohaku.proxy.upstream import Upstream

UNSENT_HEADERS = ("accept-encoding", "content-type", "accept")
"""Of the client: the reply is read here."""
MAX_EVENT_CHARS = 16 << 20


class Translation:
    """One request in the client's dialect, to be sent in the upstream's."""

    def __init__(self, client: Dialect, server: Dialect, body: dict[str, Any], writer: ReplyWriter) -> None:
        self.client, self.server, self.body, self.writer = client, server, body, writer

    @property
    def path(self) -> str:
        return self.server.path

    def headers(self, given: list[tuple[str, str]]) -> list[tuple[str, str]]:
        kept = [(name, value) for name, value in given if name.lower() not in UNSENT_HEADERS]
        return [*kept, ("content-type", "application/json"), ("accept-encoding", "identity")]

    def encode(self) -> bytes:
        return msgspec.json.encode(self.body)

    def without_refused(self, status: int, data: bytes) -> Translation | None:
        """Return the request without a field that the server refused; None where that does not help."""
        body = self.server.without_refused(self.body, data.decode("utf-8", "replace")) if status == 400 else None
        return Translation(self.client, self.server, body, self.writer) if body else None


def translate(
    client: Dialect, server: Dialect, raw: bytes, path: str, model: str, window: int, prompt: int
) -> Translation | None:
    """Write a fitted request in the dialect of the server; None where it is not understood.

    `path`: that of the request, with its query. `window`: what it was fitted to. `prompt`: its tokens by our count.
    """
    try:
        body = msgspec.json.decode(raw)
        history = client.read(body).history()
        options = client.read_options(body, path)
        composed = server.compose(history, model)
    except (msgspec.DecodeError, YohakuError, RecursionError, UnicodeDecodeError):
        return None
    writer = client.reply_writer(ReplyFacts(uuid.uuid4().hex, int(time.time()), model, prompt, options))
    if writer is None or history.pending:
        return None
    if not options.uses_tools:
        composed = server.without_tool_calls(composed)
    composed = server.with_window({**composed, **server.option_fields(options)}, window)
    return Translation(client, server, composed, writer)


class TranslatedReply:
    """The reply of an upstream in the client's dialect; read like a response of aiohttp."""

    def __init__(
        self, response: aiohttp.ClientResponse, translation: Translation, refused: bytes | None = None
    ) -> None:
        """`refused`: the whole of a reply that is no answer."""
        self._response, self._translation, self._refused = response, translation, refused
        self._writer = translation.writer
        self._streams = self._writer.facts.options.stream and refused is None
        self.status = response.status
        self.content_type = self._writer.stream_type if self._streams else "application/json"
        self.headers = CIMultiDict({"Content-Type": self.content_type})
        self.content = self
        self._pieces = self._translated()

    async def readany(self) -> bytes:
        return await anext(self._pieces, b"")

    async def iter_any(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self._pieces])

    async def _translated(self) -> AsyncIterator[bytes]:
        if self._streams:
            async for piece in self._translate_stream():
                yield piece
            return
        data = await self._response.read() if self._refused is None else self._refused
        yield self._translate_whole(data) if self.status == 200 else self._translate_error(data)

    async def _translate_stream(self) -> AsyncIterator[bytes]:
        server, writer = self._translation.server, self._writer
        reader, begun, closed = server.stream_reader(), False, False
        async for events in self._native_events():
            written: list[Any] = []
            for event in events:
                if error := server.error_in(event):
                    yield writer.encode([*written, *writer.fail(self._error(_said(error), 500))])
                    return
                written += [] if begun else writer.begin()
                begun, closed = True, closed or server.closes(event)
                written += writer.add(reader.feed(event))
            if written:
                yield writer.encode(written)
        try:
            answer = reader.answer()
        except YohakuError:
            closed = False
        if not closed:
            raise aiohttp.ClientPayloadError("the upstream broke off")
        yield writer.encode(writer.end(answer, server.was_cut_off(answer))) + writer.closing.encode()

    async def _native_events(self) -> AsyncIterator[list[Any]]:
        """Yield the events of the upstream, as many as came together."""
        server, decoder, text = self._translation.server, codecs.getincrementaldecoder("utf-8")("replace"), ""
        async for piece in self._response.content.iter_any():
            complete, end, text = (text + decoder.decode(piece)).rpartition(server.event_end)
            if len(text) > MAX_EVENT_CHARS:
                raise aiohttp.ClientPayloadError("an event is too long")
            yield list(server.events(complete + end))
        yield list(server.events(text))

    def _translate_whole(self, data: bytes) -> bytes:
        server = self._translation.server
        try:
            body = json.loads(data)
            answer = server.read_reply(body)
        except (ValueError, RecursionError, YohakuError):
            return data
        return msgspec.json.encode(self._writer.whole(answer, server.was_cut_off(answer)))

    def _translate_error(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "replace")
        try:
            said = _said(json.loads(text))
        except (ValueError, RecursionError):
            said = text
        return msgspec.json.encode(self._error(said, self.status))

    def _error(self, said: str, status: int) -> Any:
        client = self._translation.client
        if found := self._translation.server.read_overflow(status, msgspec.json.encode({"error": said}).decode()):
            needs = found.needs or self._writer.facts.prompt
            return client.too_long_body(said, needs, found.limit or needs)
        return client.error_body(said, status)


@asynccontextmanager
async def send_translated(
    upstream: Upstream, translation: Translation, headers: Iterable[tuple[str, str]]
) -> AsyncIterator[TranslatedReply]:
    """Send a translated request; without a field that the server refuses, where it can do without."""
    given = translation.headers(list(headers))
    url = upstream.url_at_root(translation.path)
    async with upstream.send("POST", url, given, translation.encode()) as response:
        refused = await response.read() if response.status != 200 else None
        simpler = translation.without_refused(response.status, refused or b"")
        if simpler is None:
            yield TranslatedReply(response, translation, refused)
            return
    async with upstream.send("POST", url, given, simpler.encode()) as response:
        refused = await response.read() if response.status != 200 else None
        yield TranslatedReply(response, simpler, refused)


def _said(error: Any) -> str:
    """Return the words of an error body."""
    while isinstance(error, dict):
        error = error.get("error") or error.get("message") or ""
    return error if isinstance(error, str) else json.dumps(error)


def dialect_by_greeting(text: str) -> Dialect | None:
    """Return the dialect that a server needs to be spoken to in, by what it says at its root."""
    for name in dialects.DIALECTS:
        found = dialects.dialect_named(name)
        if found.greeting and found.greeting in text:
            return found
    return None
