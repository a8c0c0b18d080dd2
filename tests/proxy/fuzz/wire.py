"""A raw client, and an upstream that answers as its case says, both on loopback."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import NamedTuple

import h11
from aiohttp import web

from tests.proxy.fuzz.cases import VALUES, Case

TIMEOUT = 60.0
"""Seconds until a case counts as hanging."""


class Arrived(NamedTuple):
    """A request as it reached the upstream."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Answered(NamedTuple):
    """A reply as it reached the client."""

    status: int
    """0 where none came."""
    headers: dict[bytes, bytes]
    body: bytes
    whole: bool


class FuzzUpstream:
    def __init__(self) -> None:
        self.cases: dict[int, Case] = {}
        self.arrived: defaultdict[int, list[Arrived]] = defaultdict(list)
        self.asked = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        number = request.headers.get("X-Case")
        if number is None:  # the proxy asks for a window
            self.asked += 1
            return web.json_response(VALUES[self.asked % len(VALUES)])
        self.arrived[int(number)].append(Arrived(request.method, request.raw_path, request.raw_headers, body))
        return await self._answer(request, self.cases[int(number)])

    async def _answer(self, request: web.Request, case: Case) -> web.StreamResponse:
        reply, transport = case.reply, request.transport
        assert transport is not None
        if reply.ending in ("none", "garbage"):
            if reply.ending == "garbage":
                transport.write(b"\x00\xffHTTP/9 what\r\n\r\n" * 3)
            transport.close()
            return web.Response()
        head = b"HTTP/1.1 %d Said\r\n%s" % (reply.status, b"".join(b"%s: %s\r\n" % each for each in reply.headers))
        transport.write(head + b"X-Upstream: yes\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        pieces = reply.pieces if reply.ending == "whole" else reply.pieces[: len(reply.pieces) // 2]
        for piece in pieces:
            transport.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        transport.write(b"0\r\n\r\n" if reply.ending == "whole" else b"5\r\nab")
        transport.close()
        return web.Response()


async def send(url: str, case: Case) -> Answered:
    """Write a request piece by piece; read the reply to its end."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        head = f"{case.method} {case.path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n".encode()
        writer.write(head + b"".join(b"%s: %s\r\n" % header for header in case.headers) + b"\r\n")
        for piece in case.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if case.broken:
            writer.write_eof()
        return read_reply(case.method, await asyncio.wait_for(reader.read(-1), TIMEOUT))
    except ConnectionError:
        return Answered(0, {}, b"", False)
    finally:
        writer.close()


def read_reply(method: str, data: bytes) -> Answered:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    connection.receive_data(data)
    connection.receive_data(b"")
    status, headers, body = 0, {}, b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return Answered(status, headers, body, False)
        match event:
            case h11.Response():
                status, headers = event.status_code, {bytes(k): bytes(v) for k, v in event.headers}
            case h11.Data():
                body += event.data
            case h11.EndOfMessage():
                return Answered(status, headers, body, True)
            case h11.ConnectionClosed() | h11.NEED_DATA | h11.PAUSED:
                return Answered(status, headers, body, False)
