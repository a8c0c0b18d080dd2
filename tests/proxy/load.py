"""The proxy under load: many streams at once with faults behind it, and its memory over many requests.

python3 -m tests.proxy.load [--streams 1000] [--requests 100000]

Proxy and upstream are real servers on loopback, the proxy in a process of its own. Law: a stream reaches its own client
as the bytes that its upstream wrote, a broken one breaks off, and memory does not grow with the number of requests.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import aiohttp
from aiohttp import web

from tests.proxy.fakes import conversation
from tests.proxy.processes import ProxyProcess, proxy_process, upstream_at
from tests.proxy.test_app import PATHS

FAULTS = ("none", "none", "none", "half characters", "reset", "stall", "429", "503", "500", "garbage", "no byte")
PIECES = 40
STALL = 3.0
"""Seconds that a stalling upstream waits in the middle of a stream."""
TIMEOUT = 120.0
AT_ONCE = 32
WINDOW = 4096
MARKS = 10
"""How often memory is measured, at equal distances; the first counts as that of the start."""
MAX_GROWTH = 8.0
"""Megabytes by which the second half of the requests may raise it."""


def fault_of(number: int) -> str:
    return FAULTS[number % len(FAULTS)]


def stream_of(number: int) -> list[bytes]:
    """Return the events of a stream; each says whose it is."""
    return [
        f'data: {{"stream": {number}, "part": {part}, "text": "余白 {number}"}}\n\n'.encode() for part in range(PIECES)
    ]


def bytes_of(number: int) -> bytes:
    return b"".join(stream_of(number))


async def faulty(request: web.Request) -> web.StreamResponse:
    """Answer a stream in the way its number says."""
    await request.read()
    number, transport = int(request.headers.get("X-Number", "0")), request.transport
    fault = fault_of(number)
    assert transport is not None
    if fault.isdigit():
        return web.Response(status=int(fault), text=f"stream {number}", headers={"Retry-After": str(number)})
    if fault in ("garbage", "no byte"):
        transport.write(b"\x00\xff what\r\n\r\n" if fault == "garbage" else b"")
        transport.close()
        return web.Response()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    pieces = stream_of(number)
    if fault == "half characters":
        data = b"".join(pieces)
        pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    for at, piece in enumerate(pieces):
        if at == len(pieces) // 2 and fault == "reset":
            transport.abort()
            return response
        await asyncio.sleep(STALL if at == len(pieces) // 2 and fault == "stall" else 0.01 * (fault == "none"))
        await response.write(piece)
    return response


async def one_stream(client: aiohttp.ClientSession, url: str, number: int) -> str | None:
    """Ask for a stream; return what is wrong with it."""
    dialect = list(PATHS)[number % len(PATHS)]
    body = json.dumps(conversation(30 if number % 10 == 0 else 1, dialect=dialect)).encode()
    fault, expected, got = fault_of(number), bytes_of(number), b""
    headers = {"X-Number": str(number)}
    try:
        async with client.post(url + PATHS[dialect], data=io.BytesIO(body), headers=headers) as response:
            status = response.status
            async for piece in response.content.iter_any():
                got += piece
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, ConnectionResetError):
        broken_well = fault == "reset" and expected.startswith(got) and got != expected
        return None if broken_well else f"stream {number} ({fault}) broke off after {len(got)} bytes"
    if fault.isdigit():
        right = (status, got) == (int(fault), f"stream {number}".encode())
    elif fault in ("garbage", "no byte"):
        right = status == 502
    else:
        right = fault != "reset" and (status, got) == (200, expected)
    return None if right else f"stream {number} ({fault}) came with status {status}: {got[:200]!r}"


async def streams(count: int) -> tuple[list[str], ProxyProcess]:
    """Ask for so many streams at once; return what was wrong, and the proxy."""
    async with upstream_at(faulty) as upstream:
        with proxy_process(upstream, "--window", "8192") as proxy:
            connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=TIMEOUT)
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as client:
                found = await asyncio.gather(*(one_stream(client, proxy.url, number) for number in range(count)))
            if "Traceback" in proxy.log:
                found.append(proxy.log[-2000:])
    return [each for each in found if each], proxy


async def plain(request: web.Request) -> web.StreamResponse:
    await request.read()
    return web.Response(body=bytes_of(int(request.headers.get("X-Number", "0"))), content_type="text/event-stream")


@cache
def template(dialect: str, steps: int) -> str:
    return json.dumps(conversation(steps, dialect=dialect))


def sample(number: int, chance: random.Random) -> tuple[str, bytes]:
    """Return a request of one of many conversations, in every dialect, that go on for a while."""
    whose, steps = chance.randrange(number // 200 * 20 + 20), number % 200 // 8 if number % 8 == 0 else number % 4
    dialect = list(PATHS)[whose % len(PATHS)]
    words = f"Find error {whose} of {number // 1000}"
    return dialect, template(dialect, steps).replace("Find the error", words).encode()


async def soak(count: int, tell: Callable[[str], None] = print) -> tuple[list[str], list[float]]:
    """Send so many requests; return what was wrong, and megabytes after each tenth of them."""
    wrong: list[str] = []
    memory: list[float] = []
    numbers, chance, begun = iter(range(count)), random.Random(1), time.monotonic()
    marks = {count * mark // MARKS - 1 for mark in range(1, MARKS + 1)}
    folded = Counter[bool]()

    async def work(client: aiohttp.ClientSession, proxy: ProxyProcess) -> None:
        for number in numbers:
            dialect, body = sample(number, chance)
            folded[len(body) > WINDOW * 5] += 1
            headers = {"X-Number": str(number)}
            async with client.post(proxy.url + PATHS[dialect], data=io.BytesIO(body), headers=headers) as response:
                if (response.status, await response.read()) != (200, bytes_of(number)):
                    wrong.append(f"request {number} came back wrong, with {response.status}")
            if number in marks:
                memory.append(proxy.megabytes)
                tell(f"{number + 1:,} requests: {proxy.megabytes:.0f} MB, {proxy.threads} threads, "
                     f"{proxy.open_files} files, {time.monotonic() - begun:.0f} s")  # fmt: skip

    async with upstream_at(plain) as upstream:
        with proxy_process(upstream, "--window", str(WINDOW)) as proxy:
            tell(f"idle: {proxy.megabytes:.0f} MB")
            timeout = aiohttp.ClientTimeout(total=TIMEOUT)
            async with aiohttp.ClientSession(timeout=timeout) as client:
                await asyncio.gather(*(work(client, proxy) for _ in range(AT_ONCE)))
            if "Traceback" in proxy.log:
                wrong.append(proxy.log[-2000:])
    tell(f"{folded[True]:,} of them longer than the window")
    return wrong, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=100_000)
    given = parser.parse_args()
    wrong: list[Any] = []
    if given.streams:
        wrong, _ = asyncio.run(streams(given.streams))
        print(f"{given.streams:,} streams at once, with faults: {len(wrong)} wrong")
    if given.requests:
        found, memory = asyncio.run(soak(given.requests))
        wrong += found
        start, middle, end = memory[0], memory[len(memory) // 2 - 1], memory[-1]
        print(f"{given.requests:,} requests: {start:.0f}, {middle:.0f}, {end:.0f} MB at start, middle and end")
        if end > middle + MAX_GROWTH:
            wrong.append("memory grows")
    for each in wrong[:20]:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
