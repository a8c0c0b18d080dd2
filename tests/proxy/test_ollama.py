"""Ollama behind the proxy: the window that requests are fitted to is the one that the server uses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import post
from yohaku import dialects

OLLAMA = dialects.dialect_named("ollama")


class FakeOllama(StrictUpstream):
    """Uses the `num_ctx` of a request, 4,096 without one; refuses what is longer only if told not to cut it."""

    def __init__(self, told: dict[str, Any] | None = None) -> None:
        super().__init__("ollama", 4096)
        self.told, self.cut = told or {}, 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path not in ("/api/chat", "/api/generate"):
            found = self.told.get(request.path)
            return web.json_response(found) if found else web.Response(status=404)
        raw = await request.read()
        body = json.loads(raw)
        if request.path == "/api/generate":
            self.sent.append((request.path_qs, dict(request.headers), raw))
            return await self.answer(request)
        self.window = body.get("options", {}).get("num_ctx", 4096)
        refused = self.refused
        response = await super().handle(request)
        self.cut += self.refused > refused and body.get("truncate") is not False
        return response

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(raw) for _, _, raw in self.sent]


def chat(steps: int, **options: Any) -> dict[str, Any]:
    body = conversation(steps, dialect="ollama")
    return {**body, "options": options} if options else body


@pytest.mark.parametrize("steps", [2, 60])
def test_the_server_is_told_the_window_that_was_declared(steps: int) -> None:
    async def run() -> None:
        upstream = FakeOllama()
        async with running(upstream, window=8192) as url:
            for options in ({}, {"num_ctx": 2048, "seed": 3}):
                assert (await post(url + "/api/chat", chat(steps, **options)))[0] == 200
        first, second = upstream.bodies
        assert first["options"] == {"num_ctx": 8192} and first["truncate"] is False
        assert second["options"] == {"num_ctx": 8192, "seed": 3}
        assert (upstream.refused, upstream.cut) == (0, 0)

    asyncio.run(run())


def test_a_window_that_the_client_asks_for_is_the_one_to_fit(tmp_path: Path) -> None:
    told = {"/api/ps": {"models": [{"name": "gpt-4o", "context_length": 4096}]}}

    async def run() -> None:
        upstream = FakeOllama(told)
        async with running(upstream, remembers=tmp_path) as url:
            assert (await post(url + "/api/chat", chat(60, num_ctx=16_384)))[0] == 200
            assert (await post(url + "/api/chat", chat(60)))[0] == 200
        assert upstream.bodies[0]["options"] == {"num_ctx": 16_384}
        assert len(json.dumps(upstream.bodies[0])) > 2 * len(json.dumps(upstream.bodies[1]))
        assert upstream.refused == 0

    asyncio.run(run())


@pytest.mark.parametrize(("trained", "used"), [(8192, 8192), (262_144, 32_768)])
def test_the_trained_window_is_used_within_reason_and_told_to_the_server(
    trained: int, used: int, tmp_path: Path
) -> None:
    async def run() -> None:
        upstream = FakeOllama({"/api/show": {"model_info": {"qwen3.context_length": trained}}})
        async with running(upstream, remembers=tmp_path) as url:
            assert (await post(url + "/api/chat", chat(60)))[0] == 200
        assert upstream.bodies[0]["options"] == {"num_ctx": used}

    asyncio.run(run())


def test_a_prompt_of_generate_is_fitted_and_refused_in_words_where_that_is_impossible() -> None:
    async def run() -> None:
        upstream = FakeOllama()
        body = {"model": "gpt-4o", "system": "Be brief.", "prompt": "Why is the sky blue?", "stream": False}
        async with running(upstream, window=2048) as url:
            assert (await post(url + "/api/generate", body))[0] == 200
            status, data, _ = await post(url + "/api/generate", {**body, "system": "so be it, " * 4000})
        sent = upstream.bodies
        assert sent == [{**body, "options": {"num_ctx": 2048}, "truncate": False, "shift": False}]
        assert status == 400 and OLLAMA.read_overflow(400, data.decode())

    asyncio.run(run())


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m"},
        {"model": "m", "prompt": "a", "raw": True},
        {"model": "m", "prompt": "a", "context": [1]},
        {"model": "m", "prompt": "a", "options": "none"},
    ],
)
def test_what_loads_a_model_goes_on_from_its_state_or_is_not_understood_passes_as_it_came(body: dict[str, Any]) -> None:
    async def run() -> None:
        upstream = StrictUpstream("ollama", 8192)
        seen: list[bytes] = []

        async def take(request: web.Request) -> web.StreamResponse:
            seen.append(await request.read())
            return web.json_response({"done": True})

        upstream.handle = take  # type: ignore[method-assign]
        raw = json.dumps(body, indent=2).encode()
        async with running(upstream, window=8192) as url:
            assert (await post(url + "/api/generate", raw))[0] == 200
        assert seen == [raw]

    asyncio.run(run())


@pytest.mark.parametrize("path", ["/api/tags", "/api/ps", "/api/version"])
def test_lists_and_the_version_pass_through(path: str) -> None:
    async def run() -> None:
        upstream = FakeOllama({path: {"said": path}})
        async with (
            running(upstream, window=8192) as url,
            aiohttp.ClientSession() as client,
            client.get(url + path) as response,
        ):
            assert await response.json() == {"said": path}

    asyncio.run(run())


def test_what_is_told_of_a_model_passes_through() -> None:
    async def run() -> None:
        upstream = FakeOllama({"/api/show": {"model_info": {"a.context_length": 9}}})
        async with running(upstream, window=8192) as url:
            status, data, _ = await post(url + "/api/show", {"model": "m"})
        assert (status, json.loads(data)) == (200, {"model_info": {"a.context_length": 9}})

    asyncio.run(run())
