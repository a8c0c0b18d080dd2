"""The line to a server: one body out, one reply in, over HTTP.

Law: what fails comes back as a value, for an exception of the client's carries the request with its key. Whoever stops
listening closes the connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from yohaku.client import faults, request
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong
from yohaku.client.faults import Fault
from yohaku.client.stream_parser import Hear, StreamParser, complaint_in
from yohaku.core.errors import YohakuError
from yohaku.core.model import Reply, Text
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Answer, Json

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
LONGEST = 64 * 2**20
"""Bytes of one reply; a thousandth of it for an error."""


class Timeouts(NamedTuple):
    first: float
    """Seconds until the first byte: a laptop may read a long prompt for many minutes before it says a word."""
    stall: float
    """Seconds between two bytes later on."""
    tries: int = 4
    pause: float = 1.0
    """Seconds before the second try; doubled for each one after."""
    longest: float = 60.0
    """Seconds we are willing to wait because a server asks us to."""
    connect: float = 10.0


class _Failed(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


class Connection:
    def __init__(self, endpoint: Endpoint, patience: Timeouts) -> None:
        self.endpoint = endpoint
        self.patience = patience
        self._dialect = dialect_named(endpoint.dialect)
        self._session: aiohttp.ClientSession | None = None

    async def say(self, sent: dict[str, Json], hear: Hear, model: str = "") -> Answer | Fault:
        """One try. What is said reaches `hear` at once."""
        ear = StreamParser(self._dialect, hear)
        try:
            status, headers = await self._exchange(sent, ear, model)
        except _Failed as failed:
            return faults.broken_off(ear.said, self.endpoint) if ear.heard else failed.fault
        if status >= 300:
            return faults.of_status(status, headers, ear.text, self.endpoint)
        return self._read(ear)

    async def get(self, path: str) -> Json:
        """The JSON at a path of this server; None where there is none."""
        url = self.endpoint.url.rstrip("/") + path
        opening = self._opened().get(url, headers=request.headers(self.endpoint), proxy=request.proxy_for(url))
        try:
            response = await self._reached(self.patience.connect, opening)
            try:
                return json.loads(await self._reached(self.patience.connect, response.text()))
            finally:
                response.close()
        except (_Failed, ValueError):
            return None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session:
            await session.close()

    async def _exchange(self, sent: dict[str, Json], ear: StreamParser, model: str) -> tuple[int, dict[str, str]]:
        url = request.address(self.endpoint, model)
        response = await self._reached(
            self.patience.first,
            self._opened().post(
                url,
                data=json.dumps(sent, ensure_ascii=False).encode("utf-8", "replace"),
                headers=request.headers(self.endpoint),
                proxy=request.proxy_for(url),
                allow_redirects=False,
            ),
        )
        try:
            ear.deaf = response.status >= 300
            left = LONGEST // 1024 if ear.deaf else LONGEST
            patience = self.patience.first
            while left > 0 and (chunk := await self._reached(patience, response.content.readany())):
                ear.take(chunk)
                left, patience = left - len(chunk), self.patience.stall
            ear.end()
        finally:
            response.close()
        return response.status, {name.lower(): value for name, value in response.headers.items()}

    async def _reached(self, seconds: float, waiting: Awaitable[T]) -> T:
        import aiohttp

        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a TimeoutError of ours is an OSError, too
            late = isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError)
            fault = faults.stalled(self.endpoint, seconds) if late else faults.of_exception(error, self.endpoint)
        raise _Failed(fault)

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.patience.connect)
            self._session = aiohttp.ClientSession(timeout=timeout)
        return self._session

    def _read(self, ear: StreamParser) -> Answer | Fault:
        """The answer in a reply that began well: a stream, or one piece although a stream was asked for."""
        text = ear.text
        piece = faults.object_in(text)
        try:
            answer = self._dialect.read_stream(text) if piece is None else self._dialect.read_reply(piece)
        except (YohakuError, RecursionError):
            return faults.garbled(text, self.endpoint)
        complaint = ear.complaint or complaint_in(piece)
        overflow = self._dialect.read_overflow(200, text)
        if overflow and (complaint or not answer.reply.items):
            return Fault(TooLong(overflow))
        if complaint and not ear.heard:
            return faults.of_complaint(complaint, self.endpoint)
        if answer == Answer(Reply(())) and (piece is not None or not ear.events):
            return faults.garbled(text, self.endpoint)
        if complaint or not (answer.stop or _closed(text)):
            return faults.broken_off(ear.said, self.endpoint) if ear.heard else faults.garbled("", self.endpoint)
        ear.rest(said_in(answer))
        return answer


def said_in(answer: Answer) -> str:
    return "".join(item.text for item in answer.reply.items if isinstance(item, Text))


def _closed(text: str) -> bool:
    """Whether a reply that gives no reason for its end has one all the same: some servers only close."""
    piece = faults.object_in(text)
    if piece is not None:
        return piece.get("done") is not False
    return "[DONE]" in text[-99:] or '"done":true' in text[-9999:].replace(" ", "")
