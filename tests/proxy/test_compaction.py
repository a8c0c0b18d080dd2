"""Codex's compaction, answered for an upstream that has never heard of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.proxy.compaction import compacts_by_itself, restore, seal, unseal

RESPONSES = PATHS["openai_responses"]


def long_body() -> dict[str, Any]:
    body = conversation(30, dialect="openai_responses")
    assert body["input"][0]["role"] == "system"
    return {**body, "stream": True}


def items_in(stream: bytes) -> list[dict[str, Any]]:
    events = [json.loads(line[5:]) for line in stream.decode().splitlines() if line.startswith("data:")]
    assert events[-1]["type"] == "response.completed"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert events[-1]["response"]["output"] == done
    return done


def test_a_trigger_is_answered_with_exactly_one_item_that_any_replica_restores() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_responses", 8192)
        body = long_body()
        async with running(upstream, window=8192) as url:
            asked = {**body, "input": [*body["input"], {"type": "compaction_trigger"}]}
            status, stream, headers = await post(url + RESPONSES, asked)
        assert status == 200 and "text/event-stream" in str(headers) and upstream.sent == []
        (item,) = items_in(stream)
        assert item["type"] == "compaction" and "database" not in item["encrypted_content"]

        first, prompt = body["input"][0], body["input"][1]
        later = {"role": "user", "content": "Go on."}
        replica = StrictUpstream("openai_responses", 8192)
        async with running(replica, window=8192) as url:
            again = await post(url + RESPONSES, {**body, "input": [first, prompt, item, later]})
        assert again[:2] == (200, b"".join(STREAM)) and replica.refused == 0
        sent = json.loads(replica.sent[0][2])["input"]
        assert [each["type"] for each in sent if "compaction" in each.get("type", "")] == []
        text = json.dumps(sent)
        prompts = text.count('Find the error. Never touch the database."')  # the gist only refers to it, in quotes
        assert prompts == 1 and "part 29" in text and "ref=" in text
        assert sent[0] == first and sent[-1] == later and len(text) < len(json.dumps(body["input"])) / 2

    asyncio.run(run())


def test_the_path_for_compaction_is_answered_too_and_a_compacted_conversation_compacts_again() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_responses", 8192)
        body = long_body()
        async with running(upstream, window=8192) as url:
            for _ in range(3):
                status, data, _ = await post(f"{url}/v1/responses/compact", body)
                (item,) = json.loads(data)["output"]
                assert status == 200 and item["type"] == "compaction"
                body = {**body, "input": [item, {"role": "user", "content": "Go on."}]}
        assert upstream.sent == []
        assert "Never touch the database." in json.dumps(unseal(item["encrypted_content"]))

    asyncio.run(run())


@pytest.mark.parametrize("text", ["", "gAAAAA", "yohaku1.", "yohaku1.AAAA", seal([])[:-3], "yohaku1.é"])
def test_an_item_that_is_not_ours_or_broken_passes_as_it_came(text: str) -> None:
    raw = json.dumps({"input": [{"type": "compaction", "encrypted_content": text}]}).encode()
    assert restore(raw) is raw


def test_a_trigger_that_cannot_be_read_passes_as_it_came() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_responses", 8192)

        async def echo(request: Any) -> Any:
            from aiohttp import web

            return web.Response(body=await request.read(), status=418)

        upstream.handle = echo  # type: ignore[method-assign]
        raw = b'{"input": [{"role": "wizard"}, {"type": "compaction_trigger"}]}'
        async with running(upstream, window=8192) as url:
            assert (await post(url + RESPONSES, raw))[:2] == (418, raw)

    asyncio.run(run())


def test_providers_that_compact_get_the_request_themselves() -> None:
    assert compacts_by_itself("https://api.openai.com/v1/responses")
    assert compacts_by_itself("https://chatgpt.com/backend-api/codex/responses")
    assert not compacts_by_itself("https://notopenai.com/v1/responses")
    assert not compacts_by_itself("http://127.0.0.1:8080/v1/responses")
