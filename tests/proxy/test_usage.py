"""What providers report of a request corrects our estimates of the next."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.proxy.usage import KEPT_BYTES, read_prompt_tokens, watch_usage

REPORTS = {
    "openai_chat": {"choices": [], "usage": {"prompt_tokens": 321, "completion_tokens": 9}},
    "openai_responses": {"type": "response.completed", "response": {"output": [], "usage": {"input_tokens": 321}}},
    "gemini": {"candidates": [], "usageMetadata": {"promptTokenCount": 321}},
    "ollama": {"done": True, "prompt_eval_count": 321, "eval_count": 7},
    "anthropic": {"type": "message_delta", "usage": {"input_tokens": 300, "cache_read_input_tokens": 21}},
}


@pytest.mark.parametrize("dialect", REPORTS)
def test_the_tokens_of_a_prompt_are_found_in_every_dialect(dialect: str) -> None:
    data = b"data: " + json.dumps(REPORTS[dialect]).encode() + b"\n\n"
    assert read_prompt_tokens(b'data: {"a": 1}\n\n' + data) == 321
    assert read_prompt_tokens(data[10:]) == 321


@pytest.mark.parametrize(
    "data", [b"", b'"usage"', b'"usage": {"prompt_tokens": ', b'"usage": null', b'"usage": {"a": 1}', b"\xff"]
)
def test_what_tells_none_tells_none(data: bytes) -> None:
    assert read_prompt_tokens(data) == 0


def test_a_reply_passes_as_it_came_and_its_beginning_and_end_are_read() -> None:
    start = b'event: message_start\ndata: {"message": {"usage": {"input_tokens": 55}}}\n\n'
    middle = [b"x" * 1000] * (KEPT_BYTES // 250)

    async def run(*pieces: bytes) -> tuple[bytes, list[int]]:
        async def source() -> Any:
            for piece in pieces:
                yield piece

        learned: list[int] = []
        return b"".join([piece async for piece in watch_usage(source(), learned.append)]), learned

    last = b'data: {"usage": {"output_tokens": 3}}'
    assert asyncio.run(run(start, *middle, last)) == (b"".join([start, *middle, last]), [55])
    assert asyncio.run(run(*middle))[1] == []


class Dear(StrictUpstream):
    """Counts half as much again as we do, and reports it; its window is in its own tokens."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        size = len(await request.read())
        usage = {"choices": [{"delta": {"content": "Fine."}}], "usage": {"prompt_tokens": size // 2}}
        self.pieces = (f"data: {json.dumps(usage)}\n\n".encode(), b"data: [DONE]\n\n")
        return await super().answer(request)


def test_an_estimate_is_corrected_by_what_was_reported(tmp_path: Any) -> None:
    async def run() -> list[int]:
        upstream = Dear("openai_chat", 1_000_000)
        async with running(upstream, window=8192) as url:
            for steps in range(4, 40):
                body = {**conversation(steps), "model": "a-model-that-nobody-knows"}
                assert (await post(url + PATHS["openai_chat"], body))[0] == 200
        return [len(raw) // 2 for _, _, raw in upstream.sent]

    assert max(asyncio.run(run())[1:]) <= 8192
