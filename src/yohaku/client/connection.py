"""One HTTP exchange with a model server: a body goes out, a reply comes in.

Law: a failure is returned as a value, since an exception of aiohttp carries the request with its key. Cancelling the
call closes the connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from yohaku.client import faults
from yohaku.client.address import proxy_for, request_headers, request_url
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong
from yohaku.client.faults import Fault
from yohaku.client.stream_parser import OnDelta, StreamParser
from yohaku.core.errors import YohakuError
from yohaku.core.model import Reply
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer
from yohaku.dialects.json_values import Json

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
MAX_REPLY_BYTES = 64 * 2**20
MAX_ERROR_BYTES = MAX_REPLY_BYTES // 1024


class Timeouts(NamedTuple):
    """Seconds, and how often to try."""

    first: float
    """Until the first byte: a laptop may read a long prompt for many minutes before it writes a word."""
    stall: float
    """Between two bytes later on."""
    tries: int = 4
    pause: float = 1.0
    """Before the second try; doubled for each one after."""
    max_pause: float = 60.0
    """That a server may ask us to wait."""
    connect: float = 10.0


class _Failed(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Connection:
    def __init__(self, endpoint: Endpoint, timeouts: Timeouts) -> None:
        self.endpoint = endpoint
        self.timeouts = timeouts
        self._dialect = dialect_named(endpoint.dialect)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: dict[str, Json], on_delta: OnDelta, model: str = "") -> Answer | Fault:
        """Send a body once. Each piece of the reply reaches `on_delta` as it comes."""
        parser = StreamParser(self._dialect, on_delta)
        try:
            status, headers = await self._exchange(body, parser, model)
        except _Failed as failed:
            return faults.broken_off(parser.said, self.endpoint) if parser.started else failed.fault
        if status >= 300:
            return faults.of_status(status, headers, parser.received, self.endpoint)
        return self._read(parser)

    async def get(self, path: str) -> Json:
        """Return the JSON at a path of this server; None where there is none."""
        url = self.endpoint.url.rstrip("/") + path
        opening = self._open().get(url, headers=request_headers(self.endpoint), proxy=proxy_for(url))
        try:
            response = await self._wait(self.timeouts.connect, opening)
            try:
                return json.loads(await self._wait(self.timeouts.connect, response.text()))
            finally:
                response.close()
        except (_Failed, ValueError, RecursionError):
            return None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session:
            await session.close()

    async def _exchange(self, body: dict[str, Json], parser: StreamParser, model: str) -> tuple[int, dict[str, str]]:
        url = request_url(self.endpoint, model)
        response = await self._wait(
            self.timeouts.first,
            self._open().post(
                url,
                data=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
                headers=request_headers(self.endpoint),
                proxy=proxy_for(url),
                allow_redirects=False,
            ),
        )
        try:
            parser.keep_only = response.status >= 300
            left = MAX_ERROR_BYTES if parser.keep_only else MAX_REPLY_BYTES
            timeout = self.timeouts.first
            while left > 0 and (chunk := await self._wait(timeout, response.content.readany())):
                parser.feed(chunk)
                left, timeout = left - len(chunk), self.timeouts.stall
            parser.close()
        finally:
            response.close()
        return response.status, {name.lower(): value for name, value in response.headers.items()}

    async def _wait(self, seconds: float, waiting: Awaitable[T]) -> T:
        import aiohttp

        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a TimeoutError of ours is an OSError, too
            late = isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError)
            fault = faults.stalled(self.endpoint, seconds) if late else faults.of_exception(error, self.endpoint)
        raise _Failed(fault)

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.timeouts.connect)
            self._session = aiohttp.ClientSession(timeout=timeout)
        return self._session

    def _read(self, parser: StreamParser) -> Answer | Fault:
        """Return the answer in a reply with a good status: a stream, or one piece although a stream was requested."""
        text = parser.received
        piece = faults.object_in(text)
        try:
            answer = parser.answer() if piece is None else self._dialect.read_reply(piece)
        except (YohakuError, RecursionError):
            return faults.garbled(text, self.endpoint)
        error = parser.error or self._dialect.error_in(piece)
        overflow = self._dialect.read_overflow(200, text)
        if overflow and (error or not answer.reply.items):
            return Fault(TooLong(overflow))
        if error and not parser.started:
            return faults.of_error_event(error, self.endpoint)
        if answer == Answer(Reply(())) and (piece is not None or not parser.events):
            return faults.garbled(text, self.endpoint)
        if error or not (answer.stop or _is_closed(text, piece)):
            return (
                faults.broken_off(parser.said, self.endpoint) if parser.started else faults.garbled("", self.endpoint)
            )
        parser.say_rest(answer.text)
        return answer


def _is_closed(text: str, piece: Json) -> bool:
    """Tell whether a reply without a stop reason is complete all the same: some servers only close."""
    if piece is not None:
        return piece.get("done") is not False
    return "[DONE]" in text[-99:] or '"done":true' in text[-9999:].replace(" ", "")
