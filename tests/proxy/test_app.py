"""The proxy between a plain HTTP client and a strict upstream: both real, on loopback."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from yohaku.config.settings import Settings
from yohaku.proxy.app import log
from yohaku.proxy.fitting import Fitter
from yohaku.stores.memory import MemoryStore

SIZED = {"ollama": {"options": {"num_ctx": 8192}, "truncate": False}}
"""What a body must hold so that the upstream really uses a window of 8,192 tokens."""
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic": "/v1/messages?beta=true",
    "gemini": "/v1beta/models/gpt-4o:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}


async def post(url: str, body: Any, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with aiohttp.ClientSession() as client, client.post(url, data=io.BytesIO(data), headers=headers) as response:
        return response.status, await response.read(), dict(response.headers)


@pytest.mark.parametrize("dialect", PATHS)
def test_a_request_that_would_overflow_is_answered(dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 8192)
        async with running(upstream, window=8192) as url:
            status, data, _ = await post(url + PATHS[dialect], conversation(60, dialect=dialect))
        assert (status, data, upstream.refused) == (200, b"".join(STREAM), 0)
        path, _, sent = upstream.sent[0]
        assert path == PATHS[dialect] and b"Never touch the database." in sent and b"ref=" in sent

    asyncio.run(run())


@pytest.mark.parametrize("dialect", PATHS)
def test_what_fits_goes_out_as_the_bytes_that_came(dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 8192)
        raw = json.dumps({**conversation(2, dialect=dialect), **SIZED.get(dialect, {})}, indent=3).encode()
        async with running(upstream, window=8192) as url:
            await post(url + PATHS[dialect], raw, Authorization="Bearer k", **{"anthropic-beta": "x"})
        _, headers, sent = upstream.sent[0]
        assert sent == raw and headers["Authorization"] == "Bearer k" and headers["anthropic-beta"] == "x"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("dialect", "field"), [("openai_responses", "previous_response_id"), ("gemini", "cachedContent")]
)
def test_a_request_whose_earlier_turns_the_provider_holds_goes_out_as_it_came(
    dialect: str, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 1_000_000)
        raw = json.dumps({**conversation(60, dialect=dialect), field: "earlier"}, indent=3).encode()
        async with running(upstream, window=8192) as url:
            await post(url + PATHS[dialect], raw)
        assert upstream.sent[0][2] == raw

    with caplog.at_level("INFO", "yohaku.proxy"):
        asyncio.run(run())
    (told,) = [each for each in caplog.records if "left alone" in each.message]
    assert f"left alone: the provider holds earlier turns of this conversation ({field})" in told.message
    assert told.levelname == "WARNING" and "the limit is 7,168" in told.message and "may refuse" in told.message


def test_what_is_not_understood_goes_through_untouched() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)

        async def echo(request: Any) -> Any:
            from aiohttp import web

            return web.Response(body=await request.read(), status=418)

        upstream.handle = echo  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url:
            for raw in (b"{", b"[]", b'{"messages": 3}', b"\xff\xfe", b'{"messages": [{"role": "wizard"}]}', b""):
                assert (await post(url + PATHS["openai_chat"], raw))[:2] == (418, raw)

    asyncio.run(run())


def test_a_model_with_a_slash_in_its_name_is_found_in_a_path() -> None:
    async def run() -> None:
        upstream = StrictUpstream("gemini", 8192)
        path = "/v1beta/models/tuned%2Fmine:streamGenerateContent?alt=sse"
        async with (
            running(upstream, window=8192) as url,
            aiohttp.ClientSession() as client,
            client.post(URL(url + path, encoded=True), json=conversation(60, dialect="gemini")) as response,
        ):
            assert response.status == 200
        assert upstream.sent[0][0] == path and b"ref=" in upstream.sent[0][2] and upstream.refused == 0

    asyncio.run(run())


def test_other_paths_and_methods_pass_through() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with (
            running(upstream, window=8192) as url,
            aiohttp.ClientSession() as client,
            client.get(f"{url}/v1/models?limit=3") as response,
        ):
            assert await response.json() == {"path": "/v1/models?limit=3"}
            assert response.headers["X-Upstream"] == "yes"

    asyncio.run(run())


def test_an_upstream_with_a_smaller_window_is_learned_and_asked_once_more() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 2048)

        async with running(upstream, window=8192) as url:
            first = await post(url + PATHS["openai_chat"], conversation(60))
            assert first[0] == 200 and upstream.refused == 1
            again = await post(url + PATHS["openai_chat"], conversation(61))
            assert again[0] == 200 and upstream.refused == 1

    asyncio.run(run())


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "ollama"])
def test_an_upstream_that_wants_roles_in_turn_is_found_out_once_and_gets_them(dialect: str) -> None:
    field = "input" if dialect == "openai_responses" else "messages"
    words = [{"role": "user", "content": text} for text in ("Hello.", "Are you there?")]
    body = {"model": "gpt-4o", field: words, "max_tokens": 100, "unknown": [1, {"a": None}], **SIZED.get(dialect, {})}
    plain = json.dumps({**body, field: words[:1]}, indent=1).encode()

    async def run() -> None:
        upstream = StrictUpstream(dialect, 8192, alternates=True)
        async with running(upstream, window=8192) as url:
            for _ in range(2):
                assert (await post(url + PATHS[dialect], body))[:2] == (200, b"".join(STREAM))
            assert upstream.refused == 1 and len(upstream.sent) == 3
            joined = {**body, field: [{"role": "user", "content": "Hello.\n\nAre you there?"}]}
            assert json.loads(upstream.sent[1][2]) == json.loads(upstream.sent[2][2]) == joined
            await post(url + PATHS[dialect], plain)
            assert upstream.sent[3][2] == plain, "what keeps to the rules leaves as the bytes that came"

    asyncio.run(run())


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "gemini", "ollama"])
def test_folding_brings_no_refusal_from_an_upstream_that_wants_roles_in_turn(dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 4096, alternates=True)
        async with running(upstream, window=4096) as url:
            for steps in range(10, 70, 10):
                body = conversation(steps, dialect=dialect)
                assert (await post(url + PATHS[dialect], body))[0] == 200
        assert upstream.refused == 0

    asyncio.run(run())


@pytest.mark.parametrize("dialect", PATHS)
def test_what_cannot_fit_is_refused_in_the_words_of_the_dialect(dialect: str) -> None:
    async def run() -> tuple[int, bytes, int]:
        upstream = StrictUpstream(dialect, 8192)
        body = conversation(1, dialect=dialect)
        huge = json.loads(json.dumps(body).replace("You are careful.", "word " * 20_000))
        async with running(upstream, window=8192) as url:
            status, data, _ = await post(url + PATHS[dialect], huge)
        return status, data, len(upstream.sent)

    from yohaku import dialects

    status, data, sent = asyncio.run(run())
    assert (status, sent) == (400, 0)
    overflow = dialects.dialect_named(dialect).read_overflow(status, data.decode())
    assert overflow is not None


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "gemini", "openai_responses"])
def test_a_reply_limit_beyond_the_window_is_clamped(dialect: str) -> None:
    async def run() -> dict[str, Any]:
        upstream = StrictUpstream(dialect, 8192)
        body = conversation(2, dialect=dialect)
        if dialect == "gemini":
            body["generationConfig"] = {"maxOutputTokens": 64_000, "topK": 3}
        else:
            body["max_output_tokens" if dialect == "openai_responses" else "max_tokens"] = 64_000
        async with running(upstream, window=8192) as url:
            assert (await post(url + PATHS[dialect], body))[0] == 200
        sent: dict[str, Any] = json.loads(upstream.sent[0][2])
        return sent

    sent = asyncio.run(run())
    limit = sent.get("max_tokens") or sent.get("max_output_tokens") or sent["generationConfig"]["maxOutputTokens"]
    assert 4_000 < limit < 8192


def test_tokens_are_counted_here() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 8192)
        async with running(upstream, window=8192) as url:
            body = conversation(3, dialect="anthropic")
            status, data, _ = await post(f"{url}/v1/messages/count_tokens", body)
            assert status == 200 and 500 < json.loads(data)["input_tokens"] < 3_000
            status, data, _ = await post(f"{url}/v1beta/models/m:countTokens", conversation(3, dialect="gemini"))
            assert status == 200 and 500 < json.loads(data)["totalTokens"] < 3_000
        assert upstream.sent == []

    asyncio.run(run())


def test_two_proxies_on_one_store_give_the_same_view(tmp_path: Path) -> None:
    from yohaku import stores

    async def run() -> list[bytes]:
        sent = []
        for _ in range(2):
            upstream = StrictUpstream("openai_chat", 8192)
            store = stores.open(f"sqlite:///{tmp_path}/store.db")
            async with running(upstream, window=8192, store=store) as url:
                await post(url + PATHS["openai_chat"], conversation(60))
                await post(url + PATHS["openai_chat"], conversation(62))
            sent.append(b"\n".join(raw for _, _, raw in upstream.sent))
        return sent

    first, second = asyncio.run(run())
    assert first == second


def test_an_upstream_that_is_gone_is_said_in_the_clients_dialect(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 8192)
        async with running(upstream, window=8192) as url:
            from tests.proxy import fakes

            gone = fakes.Proxy(
                fakes.Fitter(fakes.stores.open("memory:"), fakes.Settings(), window=8192),
                fakes.Upstream("http://127.0.0.1:9", {}),
            )
            async with fakes.served(gone) as other:
                status, data, _ = await post(other + PATHS["anthropic"], conversation(1, dialect="anthropic"))
            assert status == 502 and json.loads(data)["type"] == "error" and url
            said = "Cannot reach the upstream at 127.0.0.1:9: nothing is listening there"
            assert said in json.loads(data)["error"]["message"] and said in caplog.text

    asyncio.run(run())


def test_a_body_without_end_is_refused() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            status, _, _ = await post(url + PATHS["openai_chat"], b"x" * ((64 << 20) + 1))
        assert status == 413 and upstream.sent == []

    asyncio.run(run())


def test_a_key_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "yohaku.proxy"):
        log.warning("not fitted: %s", "https://me:hunter2hunter2@host/?key=AIza0123456789abcdefghijABCDEFGHIJ01234")
    assert "hunter2" not in caplog.text and "AIza" not in caplog.text and "[Google key hidden]" in caplog.text


def test_the_log_says_once_for_a_model_that_its_counts_are_estimates(caplog: pytest.LogCaptureFixture) -> None:  # C11
    fitter = Fitter(MemoryStore(), Settings(), window=8192)
    for model in ("nobody-knows-this", "nobody-knows-this", "nor-that"):
        for text in ("Hi.", "Hello again."):
            body = {"model": model, "messages": [{"role": "user", "content": text}]}
            fitter.fit("openai_chat", json.dumps(body).encode())
    said = [record.getMessage() for record in caplog.records if "estimates" in record.getMessage()]
    assert len(said) == 2 and "nobody-knows-this" in said[0] and "the API may still refuse" in said[0]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_the_first_event_reaches_the_client_before_the_second_is_made(end: bytes) -> None:
    async def run() -> None:
        upstream, read = StrictUpstream("gemini", 8192), asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b'data: {"candidates": []}' + end)
            await asyncio.wait_for(read.wait(), 30)
            await response.write(b'data: {"candidates": [1]}' + end)
            return response

        upstream.answer = answer  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url, aiohttp.ClientSession() as client:
            body = json.dumps(conversation(2, dialect="gemini")).encode()
            async with client.post(url + PATHS["gemini"], data=io.BytesIO(body)) as response:
                first = await response.content.readany()
                read.set()
                rest = await response.content.read()
        assert (first, rest) == (b'data: {"candidates": []}' + end, b'data: {"candidates": [1]}' + end)

    asyncio.run(run())
