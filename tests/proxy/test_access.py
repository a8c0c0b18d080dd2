"""Who is answered by the proxy, and who is not; clients that are slow or broken."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from tests.proxy import fakes
from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.proxy import bodies, server
from yohaku.proxy.upstream import Upstream

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
TOKEN = "a-token-of-this-test"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:99"}, 200),
        ({"Host": "[::1]:99"}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "evil.example"}, 403),  # a page that points its own name at our address
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "evil.example#@127.0.0.1"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),  # an image or a link: no origin is sent with those
    ],
)
def test_a_page_in_a_browser_gets_no_answer(headers: dict[str, str], status: int) -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192, hosts=LOOPBACK) as url:
            for path in (PATHS["openai_chat"], "/yohaku/fit"):
                assert (await post(url + path, conversation(1), **headers))[0] == status
        assert len(upstream.sent) == (status == 200)

    asyncio.run(run())


@pytest.mark.parametrize("dialect", PATHS)
def test_with_a_token_nobody_is_answered_without_it_and_it_goes_no_further(dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 8192)
        body, path = conversation(1, dialect=dialect), PATHS[dialect]
        key = {"Authorization": "Bearer provider-key", "x-api-key": "provider-key"}
        async with running(upstream, window=8192, token=TOKEN) as url:
            for wrong in ({}, {"x-yohaku-token": "x"}, {"x-yohaku-token": ""}, {"Authorization": f"Bearer {TOKEN}"}):
                status, data, _ = await post(url + path, body, **wrong)
                assert status == 401 and "token" in data.decode() and TOKEN not in data.decode()
                assert json.loads(data).keys() == fakes.dialects.dialect_named(dialect).error_body("", 401).keys()
            assert (await post(f"{url}/token/wrong{path}", body))[0] == 401
            assert (await post(f"{url}/yohaku/fit", body))[0] == 401
            assert upstream.sent == []
            assert (await post(url + path, body, **key, **{"x-yohaku-token": TOKEN}))[0] == 200
            assert (await post(f"{url}/token/{TOKEN}{path}", body, **key))[0] == 200
            assert (await post(f"{url}/token/{TOKEN}/yohaku/fit?model=m", body))[0] == 200
        for sent_path, headers, _ in upstream.sent:
            assert sent_path == path and TOKEN not in str(headers)
            assert (headers["Authorization"], headers["x-api-key"]) == ("Bearer provider-key", "provider-key")

    asyncio.run(run())


def test_a_websocket_is_refused_with_the_status_after_which_clients_use_http() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_responses", 8192)
        async with running(upstream, window=8192) as url, aiohttp.ClientSession() as client:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(url + PATHS["openai_responses"])
            assert refused.value.status == 426 and upstream.sent == []
            async with client.get(f"{url}/v1/models", headers={"Connection": "Upgrade", "Upgrade": "h2c"}) as response:
                assert response.status == 200, "an upgrade that is only offered is not taken"

    asyncio.run(run())


async def open_raw(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port)


def head(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n".encode()


def test_a_client_that_does_not_finish_its_head_or_body_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT", 0.05)
    monkeypatch.setattr(bodies.Bodies.__init__, "__defaults__", (bodies.MAX_BODY_BYTES, bodies.MAX_HELD_BYTES, 0.05))

    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            for begun in (b"", b"POST /v1/chat"):
                reader, writer = await open_raw(url)
                writer.write(begun)
                assert await reader.read() == b""
                writer.close()
            reader, writer = await open_raw(url)
            writer.write(head(PATHS["openai_chat"], 100) + b'{"half')
            assert b" 408 " in await reader.readline()
            writer.close()
            assert (await post(url + PATHS["openai_chat"], conversation(1)))[0] == 200
        assert len(upstream.sent) == 1

    asyncio.run(run())


def test_a_request_may_take_long_to_answer_and_its_connection_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT", 0.05)

    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)

        async def slow(request: web.Request) -> web.StreamResponse:
            await asyncio.sleep(0.2)
            return web.Response(text="late")

        upstream.handle = slow  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url, aiohttp.ClientSession() as client:
            for _ in range(3):
                async with client.get(f"{url}/v1/models") as response:
                    assert await response.text() == "late"

    asyncio.run(run())


def test_all_bodies_together_are_bounded_and_what_is_done_with_counts_no_more() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 1_000_000)
        fitter = fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=1_000_000)
        async with running(upstream, window=8192):
            proxy = fakes.Proxy(fitter, Upstream(upstream.url, {}))
            proxy.bodies = bodies.Bodies(max_held=1_000_000)
            async with fakes.served(proxy) as url:
                held = [await open_raw(url) for _ in range(2)]
                for _, writer in held:
                    writer.write(head(PATHS["openai_chat"], 500_000) + b"x" * 400_000)
                while proxy.bodies.held < 800_000:
                    await asyncio.sleep(0.01)
                status, _, headers = await post(url + PATHS["openai_chat"], b"y" * 300_000)
                assert (status, headers["Retry-After"]) == (503, "1")
                for _, writer in held:
                    writer.close()
                while proxy.bodies.held:
                    await asyncio.sleep(0.01)
                assert (await post(url + PATHS["openai_chat"], conversation(1)))[0] == 200

    asyncio.run(run())


def test_a_client_that_does_not_read_is_cut_off_and_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SEND_TIMEOUT", 0.3)

    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        ended = asyncio.Event()

        async def endless(request: web.Request) -> web.StreamResponse:
            await request.read()
            response = web.StreamResponse()
            await response.prepare(request)
            try:
                while True:
                    await response.write(b"x" * 65_536)
            finally:
                ended.set()

        answer = upstream.handle

        async def choose(request: web.Request) -> web.StreamResponse:
            return await (endless if "endless" in request.path else answer)(request)

        upstream.handle = choose  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url:
            reader, writer = await open_raw(url)
            writer.write(head("/endless", 2) + b"{}")
            await reader.readline()
            assert (await post(url + PATHS["openai_chat"], conversation(1)))[:2] == (200, b"".join(STREAM))
            await ended.wait()
            writer.close()

    asyncio.run(run())


def test_a_stream_that_breaks_off_upstream_breaks_off_for_the_client(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)

        async def broken(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(STREAM[0])
            assert request.transport
            request.transport.abort()
            return response

        upstream.handle = broken  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url:
            with pytest.raises(aiohttp.ClientPayloadError):
                await post(url + PATHS["openai_chat"], conversation(1))

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert "broke off" in caplog.text and "Traceback" not in caplog.text


def test_a_stop_lets_streams_come_to_their_end() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(STREAM[0])
            asked.set()
            await go_on.wait()
            for piece in STREAM[1:]:
                await response.write(piece)
            return response

        upstream.handle = slow  # type: ignore[method-assign]
        async with running(upstream, window=8192):
            fitter = fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=8192)
            serving = fakes.served(fakes.Proxy(fitter, Upstream(upstream.url, {})))
            url = await serving.__aenter__()
            reply = asyncio.create_task(post(url + PATHS["openai_chat"], conversation(1)))
            await asked.wait()
            stop = asyncio.create_task(serving.__aexit__(None, None, None))
            while not await _is_closed(url):
                await asyncio.sleep(0.01)
            assert not reply.done() and not stop.done()
            go_on.set()
            assert (await reply)[:2] == (200, b"".join(STREAM))
            await stop

    asyncio.run(run())


async def _is_closed(url: str) -> bool:
    try:
        (await open_raw(url))[1].close()
    except OSError:
        return True
    return False


def test_no_password_is_added_from_netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password hunter2\ndefault login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))

    async def run() -> dict[str, str]:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            await post(url + PATHS["openai_chat"], conversation(1))
        return upstream.sent[0][1]

    assert "Authorization" not in asyncio.run(run())


def test_the_proxy_of_the_environment_is_used_but_for_hosts_it_excludes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        outgoing = StrictUpstream("openai_chat", 8192)

        async def answer(request: web.Request) -> web.StreamResponse:
            outgoing.sent.append((str(request.url), dict(request.headers), await request.read()))
            return web.Response(text="by the outgoing proxy")

        outgoing.handle = answer  # type: ignore[method-assign]
        async with running(outgoing, window=8192):
            monkeypatch.setenv("http_proxy", outgoing.url)
            monkeypatch.setenv("no_proxy", "excluded.invalid")
            statuses = {}
            for host in ("model.invalid", "excluded.invalid"):
                fitter = fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=8192)
                async with fakes.served(fakes.Proxy(fitter, Upstream(f"http://{host}", {}))) as url:
                    statuses[host] = (await post(url + PATHS["openai_chat"], conversation(1)))[0]
            assert statuses == {"model.invalid": 200, "excluded.invalid": 502}
            assert [urlsplit(url).hostname for url, _, _ in outgoing.sent] == ["model.invalid"]

    asyncio.run(run())


def test_the_certificates_of_the_environment_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    curve = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here".split()
    files = ["-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *curve, *files], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def ask() -> int:
        app = web.Application()

        async def answer(request: web.Request) -> web.Response:
            return web.Response(text="secret")

        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        fitter = fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=8192)
        upstream = Upstream(f"https://127.0.0.1:{runner.addresses[0][1]}", {})
        async with fakes.served(fakes.Proxy(fitter, upstream)) as url:
            status = (await post(url + PATHS["openai_chat"], conversation(1)))[0]
        await runner.cleanup()
        return status

    assert asyncio.run(ask()) == 502
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(ask()) == 200
