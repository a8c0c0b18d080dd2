"""Windows of upstreams: declared, discovered, learned from a refusal or from an empty stream, remembered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku import dialects
from yohaku.core.weigh import weigh
from yohaku.meters import for_model
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows

TELLING = {
    "llama.cpp": {"/props": {"default_generation_settings": {"n_ctx": 2048}}},
    "vllm": {"/v1/models": {"data": [{"id": "gpt-4o", "max_model_len": 2048}, {"id": "other", "max_model_len": 1}]}},
    "llama.cpp list": {"/v1/models": {"data": [{"id": "a-file.gguf", "meta": {"n_ctx": 2048}}]}},
    "ollama": {"/api/show": {"parameters": "stop x\nnum_ctx   2048", "model_info": {"llama.context_length": 131072}}},
    "ollama trained": {"/api/show": {"model_info": {"llama.context_length": 2048}}},
    "ollama loaded": {"/api/ps": {"models": [{"name": "gpt-4o", "context_length": 2048}]}},
}


class Telling(StrictUpstream):
    """Tells its window at some paths, as a kind of server does; nothing is found at any other."""

    def __init__(self, told: dict[str, Any], window: int = 2048) -> None:
        super().__init__("openai_chat", window)
        self.told, self.asked = told, 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == PATHS[self.dialect]:
            return await super().handle(request)
        self.asked += request.path != "/"
        if request.path in self.told:
            return web.json_response(self.told[request.path])
        return web.Response(status=404)


class Silent(StrictUpstream):
    """Answers what is too long with 200 and a stream that tells nothing, or only an error."""

    def __init__(self, dialect: str, *pieces: bytes) -> None:
        super().__init__(dialect, 2048)
        self.said = pieces

    async def handle(self, request: web.Request) -> web.StreamResponse:
        before = self.refused
        response = await super().handle(request)
        if self.refused == before:
            return response
        streamed = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await streamed.prepare(request)
        for piece in self.said:
            await streamed.write(piece)
        return streamed


async def ask(url: str, steps: int = 60, dialect: str = "openai_chat") -> tuple[int, bytes]:
    return (await post(url + PATHS[dialect], conversation(steps, dialect=dialect)))[:2]


@pytest.mark.parametrize("kind", TELLING)
def test_a_server_that_tells_its_window_is_asked_once_and_never_refuses(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        upstream = Telling(TELLING[kind])
        async with running(upstream, remembers=tmp_path) as url:
            for steps in (60, 61):
                assert await ask(url, steps) == (200, b"".join(STREAM))
        assert (upstream.refused, upstream.asked) == (0, 4)

    asyncio.run(run())


@pytest.mark.parametrize("header", ["Authorization", "x-api-key"])
def test_the_window_is_asked_for_with_the_credential_of_the_client(header: str, tmp_path: Path) -> None:
    class Guarded(Telling):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            if request.headers.get(header) != "Bearer k":
                return web.json_response({"error": "no key"}, status=401)
            return await super().handle(request)

    async def run() -> None:
        upstream = Guarded(TELLING["llama.cpp"])
        async with running(upstream, remembers=tmp_path) as url:
            body = conversation(60)
            assert (await post(url + PATHS["openai_chat"], body, **{header: "Bearer k"}))[0] == 200
        assert (upstream.refused, upstream.asked) == (0, 4)

    asyncio.run(run())


def test_a_server_that_is_still_loading_is_asked_again(tmp_path: Path) -> None:
    class Loading(Telling):
        ready = False

        async def handle(self, request: web.Request) -> web.StreamResponse:
            return await super().handle(request) if self.ready else web.Response(status=503)

    async def run() -> None:
        upstream = Loading(TELLING["llama.cpp"])
        async with running(upstream, remembers=tmp_path) as url:
            assert (await ask(url))[0] == 503
            upstream.ready = True
            assert await ask(url) == (200, b"".join(STREAM))
        assert (upstream.refused, upstream.asked) == (0, 4)

    asyncio.run(run())


def test_any_number_of_model_names_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yohaku.proxy.windows.MAX_MODELS", 3)

    async def run() -> None:
        upstream = Telling(TELLING["llama.cpp"])
        async with running(upstream):
            windows = UpstreamWindows(Upstream(upstream.url, {}))
            names = [f"model {number}" for number in range(8)]
            assert [await windows.find(name) for name in [*names, *names]] == [2048] * 16
            assert len(windows._found) == 3 and not windows._asking
            await windows.upstream.close()

    asyncio.run(run())


def test_a_declared_window_is_not_asked_for(tmp_path: Path) -> None:
    async def run() -> None:
        upstream = Telling({}, window=8192)
        async with running(upstream, window=8192, remembers=tmp_path) as url:
            assert (await ask(url))[0] == 200
        assert (upstream.refused, upstream.asked) == (0, 0)

    asyncio.run(run())


@pytest.mark.parametrize("declared", [None, 8192])
def test_a_window_learned_from_a_refusal_is_remembered_after_a_restart(declared: int | None, tmp_path: Path) -> None:
    async def run() -> None:
        upstream = Telling({})
        async with running(upstream, window=declared, remembers=tmp_path) as url:
            assert (await ask(url))[0] == 200
        assert upstream.refused == 1
        after = UpstreamWindows(Upstream(upstream.url, {}), tmp_path, declared)
        assert await after.find("gpt-4o") == 2048
        assert await after.find("another") is None
        await after.upstream.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("openai_chat", ()),
        ("openai_chat", (b"data: [DO", b"NE]\n\n")),
        ("openai_chat", (b": waiting\n\n",)),
        ("openai_chat", (b'data: {"error": {"code": "context_length_exceeded", "message": "too long"}}\n\n',)),
        (
            "openai_responses",
            (
                b'event: response.created\ndata: {"type":"response.created","response":{}}\n\n',
                b'data: {"type":"response.failed","response":{"error":{"code":"context_length_exceeded"}}}\n\n',
            ),
        ),
    ],
)
def test_a_good_status_without_a_reply_counts_as_too_long(dialect: str, said: tuple[bytes, ...]) -> None:
    async def run() -> None:
        upstream = Silent(dialect, *said)
        async with running(upstream, window=8192) as url:
            assert await ask(url, dialect=dialect) == (200, b"".join(STREAM))
        assert 1 <= upstream.refused <= 4

    asyncio.run(run())


def test_a_stream_that_is_empty_at_every_size_reaches_the_client_as_it_came() -> None:
    async def run() -> None:
        upstream = Silent("openai_chat", b"data: [DONE]\n\n")
        upstream.window = 0
        async with running(upstream, window=4096) as url:
            assert await ask(url, 2) == (200, b"data: [DONE]\n\n")

    asyncio.run(run())


def test_a_window_guessed_from_silence_is_used_for_that_request_alone() -> None:
    """An upstream that fails for a while with empty replies must not leave every later request less room."""

    async def run() -> None:
        upstream = Silent("openai_chat", b"data: [DONE]\n\n")
        async with running(upstream, window=8192) as url:
            upstream.window = 0
            for _ in range(4):
                assert await ask(url, 10) == (200, b"data: [DONE]\n\n")
            upstream.window = 8192
            assert await ask(url, 10) == (200, b"".join(STREAM))
        assert b"ref=" not in upstream.sent[-1][2]

    asyncio.run(run())


@pytest.mark.parametrize("told", [True, False])
def test_an_upstream_that_counts_more_than_we_do_gets_a_smaller_view(told: bool) -> None:
    """Its own window is what we took it for, so that learning it again would change nothing."""

    class Counting(StrictUpstream):
        def __init__(self) -> None:
            super().__init__("openai_chat", 10**6)

        async def answer(self, request: web.Request) -> web.StreamResponse:
            body = json.loads(self.sent[-1][2])
            dialect = dialects.dialect_named(self.dialect)
            tokens = round(weigh(dialect.read(body).history(), for_model(self.model, self.dialect)).total * 1.6)
            if tokens <= 8192:
                return await super().answer(request)
            self.refused += 1
            words = {"error": {"message": "This model's maximum context length is 8192 tokens."}}
            error = dialect.too_long_body("too long", tokens, 8192) if told else words
            return web.json_response(error, status=400)

    async def run() -> None:
        upstream = Counting()
        async with running(upstream, window=8192) as url:
            for steps in (60, 64):
                assert await ask(url, steps) == (200, b"".join(STREAM))
        assert 1 <= upstream.refused <= (2 if told else 4)

    asyncio.run(run())


@pytest.mark.parametrize("steps", [2, 60])
def test_a_compressed_reply_is_no_silence(steps: int) -> None:
    class Compressing(StrictUpstream):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            response.enable_compression()
            if self.insists:
                response.enable_compression(web.ContentCoding.gzip)
            await response.prepare(request)
            await response.write(b"".join(STREAM))
            return response

        insists = False

    async def run() -> None:
        upstream = Compressing("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            for upstream.insists in (False, True):  # also one that compresses whatever it is asked
                status, data, _ = await post(
                    url + PATHS["openai_chat"], conversation(steps), **{"Accept-Encoding": "gzip"}
                )
                assert (status, data) == (200, b"".join(STREAM))
        assert len(upstream.sent) == 2

    asyncio.run(run())


def test_a_reused_connection_that_died_is_tried_once_more() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        answer, died = upstream.answer, []

        async def die_once(request: web.Request) -> web.StreamResponse:
            if len(upstream.sent) == 2:
                died.append(1)
                assert request.transport
                request.transport.close()
            return await answer(request)

        upstream.answer = die_once  # type: ignore[method-assign]
        async with running(upstream, window=8192) as url:
            for _ in range(2):
                assert await ask(url, 2) == (200, b"".join(STREAM))
        assert died == [1] and len(upstream.sent) == 3
        assert json.loads(upstream.sent[1][2]) == json.loads(upstream.sent[2][2])

    asyncio.run(run())
