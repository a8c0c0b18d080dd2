"""Settings for some models, and the list of models as Claude Code takes it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.config import settings
from yohaku.proxy.model_list import PREFIX, translate_list


def test_a_model_of_the_table_has_its_own_window_upstream_and_name() -> None:
    async def run() -> None:
        small, large = StrictUpstream("openai_chat", 2048), StrictUpstream("openai_chat", 8192)
        async with running(small, window=8192):
            routes = {"gpt-4o-*": {"window": 2048, "upstream": small.url, "model": "tiny"}}
            async with running(large, window=8192, routes=routes) as url:
                for model in ("gpt-4o-local", "gpt-4o"):
                    body = {**conversation(60), "model": model}
                    assert (await post(url + PATHS["openai_chat"], body))[:2] == (200, b"".join(STREAM))
        assert (small.refused, large.refused) == (0, 0)
        (to_small,), (to_large,) = small.sent, large.sent
        assert json.loads(to_small[2])["model"] == "tiny" and json.loads(to_large[2])["model"] == "gpt-4o"
        assert len(to_small[2]) < len(to_large[2]) / 2

    asyncio.run(run())


def test_a_table_may_be_for_a_path() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 2048)
        async with running(upstream, window=100_000, routes={"/v1/messages": {"window": 2048}}) as url:
            assert (await post(url + PATHS["anthropic"], conversation(60, dialect="anthropic")))[0] == 200
        assert upstream.refused == 0

    asyncio.run(run())


def test_tables_are_read_from_the_config_file_and_mistakes_are_named(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[routes."qwen*"]\nwindow = 8192\nmodel = "q"\ncolour = "red"\nreserve = "much"\n')
    read = settings.read({"HOME": str(tmp_path)}, file)
    assert read.routes == {"qwen*": {"window": 8192, "model": "q"}}
    assert len(read.warnings) == 2 and all('routes."qwen*"' in notice.text for notice in read.warnings)


class Listing(StrictUpstream):
    def __init__(self, reply: Any) -> None:
        super().__init__("anthropic", 8192)
        self.reply = reply

    async def handle(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.reply) if request.method == "GET" else await super().handle(request)


async def get_list(url: str, **headers: str) -> Any:
    async with aiohttp.ClientSession() as client, client.get(f"{url}/v1/models", headers=headers) as response:
        return await response.json()


def test_claude_code_gets_ids_that_it_accepts_and_the_upstream_its_own() -> None:
    async def run() -> None:
        upstream = Listing({"object": "list", "data": [{"id": "gpt-4o"}, {"id": "claude-sonnet"}]})
        async with running(upstream, window=8192) as url:
            listed = await get_list(url, **{"anthropic-version": "2023-06-01"})
            ids = [row["id"] for row in listed["data"]]
            assert ids == ["claude-sonnet", f"{PREFIX}gpt-4o"] and listed["has_more"] is False
            assert all(row["type"] == "model" for row in listed["data"])
            assert await get_list(url) == upstream.reply, "other clients get the list as it is"
            body = {**conversation(2, dialect="anthropic"), "model": ids[1]}
            assert (await post(url + PATHS["anthropic"], body))[0] == 200
        assert json.loads(upstream.sent[0][2])["model"] == "gpt-4o"

    asyncio.run(run())


@pytest.mark.parametrize("reply", [{"data": [{"id": "claude-x", "type": "model"}]}, {"data": 3}, [], {"data": [{}]}])
def test_anthropics_own_list_or_one_that_is_not_understood_stays(reply: Any) -> None:
    assert translate_list(reply) is None


def test_an_empty_list_is_a_list() -> None:
    assert translate_list({"data": []}) == {"data": [], "has_more": False, "first_id": None, "last_id": None}
