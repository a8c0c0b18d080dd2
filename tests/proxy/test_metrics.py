"""What `/yohaku/metrics` tells."""

from __future__ import annotations

import asyncio

import aiohttp

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.get(url) as response:
        return response.status, await response.text()


def test_requests_are_counted_by_what_was_done_with_them_and_nothing_of_a_client_is_told() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            for body in (conversation(2), conversation(60), {"messages": [{"role": "wizard"}]}):
                await post(url + PATHS["openai_chat"], {**body, "model": "secret-model"}, Authorization="Bearer hidden")
            assert (await get(f"{url}/v1/models"))[0] == 200
            status, text = await get(f"{url}/yohaku/metrics")
        assert status == 200
        told = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        for outcome in ("fits", "folded", "left_alone"):
            assert told[f'yohaku_requests_total{{dialect="openai_chat",outcome="{outcome}"}}'] == "1"
        came, sent = (int(told[f'yohaku_tokens_total{{at="{at}"}}']) for at in ("came", "sent"))
        assert came > sent > 0
        assert told["yohaku_streams"] == "0" and told["yohaku_held_bytes"] == "0"
        assert "secret" not in text and "hidden" not in text and "wizard" not in text

    asyncio.run(run())


def test_health_is_told_without_asking_the_upstream() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            assert await get(f"{url}/yohaku/health") == (200, '{"status": "ok"}')
        assert upstream.sent == []

    asyncio.run(run())
