"""Where a request goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from yohaku.proxy.upstream import Upstream


@pytest.mark.parametrize(
    ("base", "path", "query", "target"),
    [
        ("http://h:1", "/v1/messages", "beta=true", "http://h:1/v1/messages?beta=true"),
        ("http://h:1/v1", "/v1/chat/completions", "", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "/chat/completions", "", "http://h:1/v1/chat/completions"),
        ("https://h/openai/v1", "/v1/responses", "", "https://h/openai/v1/responses"),
        (
            "https://h/api/v1",
            "/v1beta/models/m:generateContent",
            "",
            "https://h/api/v1/v1beta/models/m:generateContent",
        ),
    ],
)
def test_a_path_follows_the_base_without_saying_its_version_twice(
    base: str, path: str, query: str, target: str
) -> None:
    assert Upstream(base, {}).url_for(None, path, query) == target


def test_without_an_upstream_each_dialect_has_its_own() -> None:
    upstream = Upstream(None, {"anthropic": "https://a.example"})
    assert upstream.url_for("anthropic", "/v1/messages", "") == "https://a.example/v1/messages"
    assert upstream.url_for("gemini", "/v1beta/models/m:generateContent", "") is None


@asynccontextmanager
async def breaking(breaks: set[int]) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that reads a request and hangs up without a word: the URL, and the number of the request on its
    connection for each that it read. `breaks`: those numbers on which it hangs up."""
    read: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while (await reader.read(65_536)) and (number := number + 1):
            read.append(number)
            if number in breaks:
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", read


async def ask(upstream: Upstream, url: str) -> bytes:
    async with upstream.send("POST", url, [], b"{}") as response:
        return await response.read()


def test_a_dead_connection_that_was_used_before_is_replaced_unseen() -> None:
    async def run() -> None:
        upstream = Upstream(None, {})
        async with breaking({2}) as (url, read):
            held = [await asyncio.gather(*(ask(upstream, url) for _ in range(3))), await ask(upstream, url)]
            await upstream.close()
        assert held == [[b"ok"] * 3, b"ok"]
        assert read[:3] == [1, 1, 1] and 2 in read and read[-1] == 1

    asyncio.run(run())


def test_a_new_connection_that_breaks_is_not_tried_again() -> None:
    async def run() -> None:
        upstream = Upstream(None, {})
        async with breaking({1}) as (url, read):
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await ask(upstream, url)
            await upstream.close()
        assert read == [1]  # it may be at work on it: asking twice may be paid for twice

    asyncio.run(run())
