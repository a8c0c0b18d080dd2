"""An upstream behind a forward proxy, as HTTP_PROXY and HTTPS_PROXY name it: a real one, on loopback."""

from __future__ import annotations

import asyncio
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.proxy.fakes import STREAM, served
from tests.proxy.test_windows import TELLING, Telling, ask
from yohaku import stores
from yohaku.config.settings import Settings
from yohaku.proxy.app import Proxy
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows

NAME = "model.example"
"""A name that nothing but the forward proxy knows."""
ASKED = ["GET /", "GET /api/ps", "GET /props", "GET /v1/models", "POST /api/show", "POST /v1/chat/completions"]


class ForwardProxy:
    """Passes every connection on to one port, and notes what is asked of it."""

    def __init__(self, port: int) -> None:
        self.port, self.asked, self.url = port, list[str](), ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        there, out = await asyncio.open_connection("127.0.0.1", self.port)
        if head.startswith(b"CONNECT "):
            self._note(head)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            self._note(head)
            out.write(head)
        await asyncio.gather(self._pass_on(reader, out, note=True), self._pass_on(there, writer))

    async def _pass_on(self, source: asyncio.StreamReader, goal: asyncio.StreamWriter, note: bool = False) -> None:
        try:
            while piece := await source.read(65_536):
                if note:
                    self._note(piece)
                goal.write(piece)
                await goal.drain()
        except ConnectionError:
            pass
        finally:
            goal.close()

    def _note(self, data: bytes) -> None:
        lines = re.findall(rb"((?:GET|POST|CONNECT) \S+) HTTP/1\.1\r\n", data)
        self.asked += [line.decode().replace(f"http://{NAME}", "") for line in lines]


@asynccontextmanager
async def forwarded(upstream: Telling, tls: ssl.SSLContext | None = None) -> AsyncIterator[ForwardProxy]:
    """A forward proxy, and behind it an upstream."""
    app = web.Application(client_max_size=2**28)
    app.router.add_route("*", "/{path:.*}", upstream.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    forward = ForwardProxy(runner.addresses[0][1])
    server = await asyncio.start_server(forward.serve, "127.0.0.1", 0)
    forward.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield forward
    server.close()
    await runner.cleanup()


def proxy_before(url: str, folder: Path) -> Proxy:
    upstream = Upstream(url, {})
    return Proxy(Fitter(stores.open("memory:"), Settings()), upstream, windows=UpstreamWindows(upstream, folder))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_window_is_asked_for_on_the_way_that_the_conversation_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        upstream = Telling(TELLING["llama.cpp"])
        async with forwarded(upstream) as forward:
            monkeypatch.setenv("HTTP_PROXY", forward.url)
            async with served(proxy_before(f"http://{NAME}", tmp_path)) as url:
                assert await ask(url) == (200, b"".join(STREAM))
        assert sorted(forward.asked) == ASKED
        assert upstream.refused == 0

    asyncio.run(run())


def test_an_upstream_exempt_from_the_forward_proxy_is_asked_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        upstream = Telling(TELLING["llama.cpp"])
        async with forwarded(upstream) as forward:
            monkeypatch.setenv("HTTP_PROXY", forward.url)
            monkeypatch.setenv("NO_PROXY", NAME)
            async with served(proxy_before(f"http://{NAME}", tmp_path)) as url:
                assert (await ask(url))[0] == 502  # nobody knows the name
        assert forward.asked == []

    asyncio.run(run())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_an_upstream_with_a_certificate_of_its_own_is_asked_through_the_forward_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
    names = ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", *options, *names], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    async def run() -> None:
        upstream = Telling(TELLING["llama.cpp"])
        async with forwarded(upstream, tls) as forward:
            monkeypatch.setenv("HTTPS_PROXY", forward.url)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            async with served(proxy_before(f"https://{NAME}", tmp_path)) as url:
                assert await ask(url) == (200, b"".join(STREAM))
        assert set(forward.asked) == {f"CONNECT {NAME}:443"}
        assert (upstream.refused, upstream.asked) == (0, 4)

    asyncio.run(run())
