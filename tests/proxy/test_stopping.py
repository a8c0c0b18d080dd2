"""How the proxy stops: what is being relayed comes to its end, and whoever waits for that is told so."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

import aiohttp
import pytest
from aiohttp import web

from tests.proxy.processes import ProxyProcess, proxy_process, upstream_at

PIECES = 20
BODY = b'{"model": "gpt-4o", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'


def stop_in_mid_stream(stop: Callable[[ProxyProcess], None], pause: float) -> tuple[bytes, ProxyProcess, str]:
    """Ask for a stream, whose pieces come after each `pause`, and stop the proxy at the first."""

    async def slow(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.Response(status=404)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):
            for number in range(PIECES):
                await response.write(b'data: {"choices":[{"index":0,"delta":{"content":"%d "}}]}\n\n' % number)
                await asyncio.sleep(pause)
        return response

    async def run() -> tuple[bytes, ProxyProcess, str]:
        got = b""
        async with upstream_at(slow) as upstream:
            with proxy_process(upstream, "--window", "8192", "--store", "memory:") as proxy:
                url = f"{proxy.url}/v1/chat/completions"
                with suppress(aiohttp.ClientError):
                    async with aiohttp.ClientSession() as client, client.post(url, data=BODY) as response:
                        async for piece in response.content.iter_any():
                            if not got:
                                stop(proxy)
                            got += piece
                await asyncio.to_thread(proxy.process.wait, 30)
                return got, proxy, proxy.log

    return asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_comes_to_its_end_and_the_wait_is_explained(number: signal.Signals) -> None:
    got, proxy, log = stop_in_mid_stream(lambda proxy: proxy.process.send_signal(number), 0.1)
    assert got.count(b"data:") == PIECES
    assert proxy.process.returncode == 0
    assert "requests in work to end: 1" in log and "Ctrl-C" in log and "Traceback" not in log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_without_a_traceback(number: signal.Signals) -> None:
    def stop_twice(proxy: ProxyProcess) -> None:
        proxy.process.send_signal(number)
        asyncio.get_running_loop().call_later(1.0, proxy.process.send_signal, number)

    got, _, log = stop_in_mid_stream(stop_twice, 3.0)
    assert 0 < got.count(b"data:") < PIECES
    assert "Traceback" not in log


def test_nobody_is_told_to_wait_for_nothing() -> None:
    with proxy_process("http://127.0.0.1:9", "--store", "memory:") as proxy:
        proxy.process.terminate()
        assert proxy.process.wait(30) in (0, -signal.SIGTERM)  # it may not yet have been ready for signals
        assert "waiting" not in proxy.log
