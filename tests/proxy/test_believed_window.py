"""Clients that take the window for a larger one: they are told counts in the scale of that."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.proxy.believed_window import scale_stream, scale_usage

WINDOW, BELIEVED = 8000, 200_000

USAGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "anthropic": (
        {"usage": {"input_tokens": 100, "cache_read_input_tokens": 40, "service_tier": "standard"}},
        {"usage": {"input_tokens": 2500, "cache_read_input_tokens": 1000, "service_tier": "standard"}},
    ),
    "openai_chat": (
        {"usage": {"prompt_tokens": 8, "prompt_tokens_details": {"cached_tokens": 4}, "total_tokens": 9}},
        {"usage": {"prompt_tokens": 200, "prompt_tokens_details": {"cached_tokens": 100}, "total_tokens": 225}},
    ),
    "openai_responses": ({"usage": {"input_tokens": 2}}, {"usage": {"input_tokens": 50}}),
    "gemini": ({"usageMetadata": {"promptTokenCount": 2}}, {"usageMetadata": {"promptTokenCount": 50}}),
    "ollama": ({"prompt_eval_count": 2, "eval_duration": 7}, {"prompt_eval_count": 50, "eval_duration": 7}),
}


class Telling(StrictUpstream):
    """Answers with what it was given, in one piece or as a stream."""

    def __init__(self, dialect: str, *events: Any, stream: bool) -> None:
        super().__init__(dialect, 10**6)
        self.events, self.stream = events, stream

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if not self.stream:
            return web.json_response(self.events[0])
        text = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in self.events)
        return web.Response(text=text, content_type="text/event-stream")


@pytest.mark.parametrize("dialect", PATHS)
def test_the_usage_of_a_reply_is_told_in_the_scale_of_the_believed_window(dialect: str) -> None:
    told, expected = USAGES[dialect]

    async def run() -> None:
        upstream = Telling(dialect, {"text": "余白", **told}, stream=False)
        async with running(upstream, window=WINDOW, believed=BELIEVED) as url:
            _, data, _ = await post(url + PATHS[dialect], conversation(2, dialect=dialect))
        assert json.loads(data) == {"text": "余白", **expected}

    asyncio.run(run())


def test_the_events_of_a_stream_pass_as_they_came_but_for_their_counts() -> None:
    events = ({"a": "usage  of words"}, {"response": USAGES["openai_responses"][0]}, {"b": 1})

    async def run() -> None:
        upstream = Telling("openai_responses", *events, stream=True)
        async with running(upstream, window=WINDOW, believed=BELIEVED) as url:
            _, data, _ = await post(url + PATHS["openai_responses"], conversation(2, dialect="openai_responses"))
        first, second, third = data.decode().split("\n\n")[:3]
        assert (first, third) == ('event: x\ndata: {"a": "usage  of words"}', 'event: x\ndata: {"b": 1}')
        assert second == 'event: x\ndata: {"response":{"usage":{"input_tokens":50}}}'

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    data = b'data: {"text": "\xe4\xbd\x99", "usage": {"input_tokens": 4}}\r\n\r\n: note\n\ndata: [DONE]\n{"usage": x'

    async def pieces() -> Any:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    async def run() -> bytes:
        return b"".join([piece async for piece in scale_stream(pieces(), 2.0)])

    expected = b'data: {"text":"\xe4\xbd\x99","usage":{"input_tokens":8}}\r\n\r\n: note\n\ndata: [DONE]\n{"usage": x'
    assert asyncio.run(run()) == expected


def test_counts_that_are_asked_for_are_scaled_too_and_a_smaller_belief_changes_nothing() -> None:
    async def run(believed: int) -> int:
        upstream = StrictUpstream("anthropic", WINDOW)
        async with running(upstream, window=WINDOW, believed=believed) as url:
            _, data, _ = await post(f"{url}/v1/messages/count_tokens", conversation(3, dialect="anthropic"))
        return int(json.loads(data)["input_tokens"])

    real = asyncio.run(run(0))
    assert asyncio.run(run(BELIEVED)) == real * 25
    assert asyncio.run(run(4096)) == real


def test_what_is_no_count_of_tokens_stays() -> None:
    reply = {"usage": {"server_tool_use": {"web_search_requests": 2}, "input_tokens": None, "iterations": [1]}, "id": 3}
    assert scale_usage(reply, 25.0) == reply and scale_usage("text", 2.0) == "text"
