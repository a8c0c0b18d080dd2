"""The contract that Claude Code has with gateways, as far as it concerns one that is given as ANTHROPIC_BASE_URL.

Its own gateway (`claude gateway`) states the contract at `GET /protocol`. What it says of signing in (discovery, device
authorization, verification page, tokens) and of TLS is the work of a gateway for an organisation.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.proxy import fakes
from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post

HEADERS = {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,context-management-2025-06-27",
    "x-app": "cli",
    "x-stainless-lang": "js",
    "x-claude-code-session-id": "a-b-c",
    "User-Agent": "claude-cli/2.1",
    "Authorization": "Bearer opaque",
}
BODY: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1;"},
        {"type": "text", "text": "Be."},
    ],
    "messages": [{"role": "user", "content": "Hello"}, {"role": "system", "content": "Today is Monday."}],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high"},
    "metadata": {"user_id": "u"},
    "stream": True,
}


def error_type(data: bytes) -> str:
    body = json.loads(data)
    assert body["type"] == "error" and body["error"]["message"]
    return str(body["error"]["type"])


def test_headers_and_body_reach_the_upstream_as_they_were_sent() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 8192)
        raw = json.dumps(BODY, indent=1).encode()
        async with running(upstream, window=8192) as url:
            assert (await post(url + PATHS["anthropic"], raw, **HEADERS))[0] == 200
        path, headers, sent = upstream.sent[0]
        assert (path, sent) == (PATHS["anthropic"], raw)
        assert {name: headers[name] for name in HEADERS} == HEADERS and headers["Content-Length"] == str(len(raw))

    asyncio.run(run())


def test_events_are_passed_on_one_by_one() -> None:
    seen = asyncio.Event()

    class Waiting(StrictUpstream):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b'event: message_start\ndata: {"type": "message_start"}\n\n')
            await seen.wait()
            await response.write(b'event: message_stop\ndata: {"type": "message_stop"}\n\n')
            return response

    async def run() -> None:
        upstream = Waiting("anthropic", 8192)
        async with (
            running(upstream, window=8192) as url,
            aiohttp.ClientSession() as client,
            client.post(url + PATHS["anthropic"], json=BODY) as response,
        ):
            first = await asyncio.wait_for(response.content.readuntil(b"\n\n"), 20)
            assert b"message_start" in first
            seen.set()
            assert b"message_stop" in await response.content.read()

    asyncio.run(run())


def test_tokens_are_counted_and_models_listed_with_names() -> None:
    class Listing(StrictUpstream):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            return web.json_response({"data": [{"id": "qwen3:8b", "object": "model"}]})

    async def run() -> None:
        async with running(Listing("anthropic", 8192), window=8192) as url:
            status, data, _ = await post(f"{url}/v1/messages/count_tokens", BODY, **HEADERS)
            assert status == 200 and json.loads(data)["input_tokens"] > 5
            async with (
                aiohttp.ClientSession() as client,
                client.get(f"{url}/v1/models?limit=1000", headers=HEADERS) as response,
            ):
                (row,) = (await response.json())["data"]
        assert row["id"].startswith("claude") and row["display_name"] == "qwen3:8b"

    asyncio.run(run())


@pytest.mark.parametrize(("path", "status"), [("/v1/models?limit=1000", 404), ("/managed/settings", 404)])
def test_what_the_upstream_does_not_have_is_said_to_be_absent(path: str, status: int) -> None:
    class Bare(StrictUpstream):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            return web.Response(status=404)

    async def run() -> None:
        async with (
            running(Bare("anthropic", 8192), window=8192) as url,
            aiohttp.ClientSession() as client,
            client.get(url + path, headers=HEADERS) as response,
        ):
            assert response.status == status

    asyncio.run(run())


def test_errors_have_the_form_and_the_type_by_which_the_client_decides() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 8192)
        async with running(upstream, window=8192) as url:
            huge = json.dumps(conversation(1, dialect="anthropic")).replace("You are careful.", "word " * 20_000)
            status, data, _ = await post(url + PATHS["anthropic"], huge.encode(), **HEADERS)
            assert (status, error_type(data)) == (400, "invalid_request_error")
            status, data, _ = await post(url + PATHS["anthropic"], b"x" * ((64 << 20) + 1), **HEADERS)
            assert (status, error_type(data)) == (413, "request_too_large")
        gone = fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=8192)
        for address, expected in (("http://127.0.0.1:9", (502, "api_error")), (None, (404, "not_found_error"))):
            async with fakes.served(fakes.Proxy(gone, fakes.Upstream(address, {}))) as url:
                status, data, _ = await post(url + PATHS["anthropic"], BODY, **HEADERS)
            assert (status, error_type(data)) == expected
        async with running(upstream, window=8192, token="t") as url:
            status, data, _ = await post(url + PATHS["anthropic"], BODY, **HEADERS)
        assert (status, error_type(data)) == (401, "authentication_error")

    asyncio.run(run())


class Answering(StrictUpstream):
    """Answers everything in one way."""

    def __init__(self, status: int, body: Any, **headers: str) -> None:
        super().__init__("anthropic", 8192)
        self.status, self.body, self.more = status, body, headers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.sent.append((request.path_qs, dict(request.headers), await request.read()))
        return web.json_response(self.body, status=self.status, headers=self.more)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (429, "billing_error"),
        (501, "not_supported"),
        (529, "overloaded_error"),
        (500, "api_error"),
    ],
)
def test_every_row_of_errors_passes_with_its_type_and_when_to_come_back(status: int, kind: str) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "denied"}}

    async def run() -> None:
        upstream = Answering(status, body, **{"Retry-After": "7", "x-should-retry": "false"})
        async with running(upstream, window=8192) as url:
            got, data, headers = await post(url + PATHS["anthropic"], BODY, **HEADERS)
        assert (got, json.loads(data), len(upstream.sent)) == (status, body, 1)
        assert (headers["Retry-After"], headers["x-should-retry"]) == ("7", "false")

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/logs", "/v1/traces"])
def test_telemetry_and_managed_settings_pass_with_their_headers(path: str) -> None:
    async def run() -> None:
        upstream = Answering(200, {}, ETag='"a"')
        raw = bytes(range(256))
        async with running(upstream, window=8192) as url:
            told = {"Content-Type": "application/x-protobuf", "Authorization": "Bearer opaque"}
            assert (await post(url + path, raw, **told))[0] == 200
            upstream.status = 304
            async with (
                aiohttp.ClientSession() as client,
                client.get(f"{url}/managed/settings", headers={"If-None-Match": '"a"'}) as response,
            ):
                assert (response.status, response.headers["ETag"]) == (304, '"a"')
        assert upstream.sent[0][2] == raw and upstream.sent[0][1]["Content-Type"] == "application/x-protobuf"
        assert upstream.sent[1][1]["If-None-Match"] == '"a"'

    asyncio.run(run())


def test_a_redirect_is_left_to_the_client() -> None:
    async def run() -> None:
        upstream = Answering(307, {}, Location="http://elsewhere.example/v1/messages")
        async with (
            running(upstream, window=8192) as url,
            aiohttp.ClientSession() as client,
            client.post(url + PATHS["anthropic"], json=BODY, allow_redirects=False) as response,
        ):
            assert (response.status, response.headers["Location"]) == (307, "http://elsewhere.example/v1/messages")
        assert len(upstream.sent) == 1

    asyncio.run(run())


def test_a_page_from_elsewhere_is_refused_as_one_that_may_not() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 8192)
        async with running(upstream, window=8192, hosts=frozenset(("127.0.0.1",))) as url:
            status, data, _ = await post(url + PATHS["anthropic"], BODY, **HEADERS, Origin="http://evil.example")
        assert (status, error_type(data)) == (403, "permission_error")

    asyncio.run(run())


def test_errors_of_the_upstream_pass_as_they_are_with_when_to_come_back() -> None:
    class Busy(StrictUpstream):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            return web.json_response(body, status=529, headers={"Retry-After": "7"})

    async def run() -> None:
        async with running(Busy("anthropic", 8192), window=8192) as url:
            status, data, headers = await post(url + PATHS["anthropic"], BODY, **HEADERS)
        assert (status, error_type(data), headers["Retry-After"]) == (529, "overloaded_error", "7")

    asyncio.run(run())
