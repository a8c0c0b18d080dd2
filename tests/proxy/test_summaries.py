"""Chapters that a model writes beside the conversation, for a client behind the proxy."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku.config import settings as setting
from yohaku.core.errors import BadSetting
from yohaku.proxy.compaction import unseal
from yohaku.proxy.summaries import Summaries, SummaryModelSpec, read_summary_model

TOLD = "The user wants the error found and the database left alone; parts were run one after the other and all is well."
SECRET = "sk-hidden-credential-of-one-client"
STEPS = range(8, 26)


class Writing(StrictUpstream):
    """Answers a question that stands alone with a summary, when it is let; everything else as before."""

    def __init__(self, dialect: str = "openai_chat") -> None:
        super().__init__(dialect, 8192)
        self.asked: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.may_answer = asyncio.Event()
        self.status = 200

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if len(body.get("messages") or body["input"]) > 2:
            return await super().answer(request)
        self.asked.append((dict(request.headers), body))
        self.sent.pop()
        await self.may_answer.wait()
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        if self.dialect == "anthropic":
            return web.json_response({"content": [{"type": "text", "text": TOLD}], "stop_reason": "end_turn"})
        if self.dialect == "openai_responses":
            said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TOLD}]}
            return web.json_response({"status": "completed", "output": [said]})
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": TOLD}}]})


def proxy(
    upstream: StrictUpstream, wait: float = 5.0, spec: str = "same", **options: Any
) -> AbstractAsyncContextManager[str]:
    summaries = Summaries(read_summary_model(spec, setting.from_mapping({})), wait)
    return running(upstream, window=8192, summaries=summaries, **options)


async def converse(url: str, path: str, dialect: str = "openai_chat", steps: range = STEPS) -> None:
    for number in steps:
        body = {**conversation(number, dialect=dialect), "max_tokens": 64}
        status, data, _ = await post(url + path, body, Authorization=f"Bearer {SECRET}")
        assert status == 200, data


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_a_summary_is_prepared_with_the_clients_own_upstream_and_credentials(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        upstream = Writing(dialect)
        upstream.may_answer.set()
        async with proxy(upstream) as url:
            await converse(url, PATHS[dialect], dialect)
        headers, asked = upstream.asked[0]
        assert headers["Authorization"] == f"Bearer {SECRET}" and asked["model"] == "gpt-4o"
        assert TOLD.encode() in upstream.sent[-1][2] and b"Never touch the database." in upstream.sent[-1][2]
        assert upstream.refused == 0

    with caplog.at_level(logging.DEBUG):
        asyncio.run(run())
    assert "a summary was prepared" in caplog.text and SECRET not in caplog.text


def test_a_model_that_does_not_answer_holds_nobody_up() -> None:
    async def run() -> None:
        upstream = Writing()
        async with proxy(upstream, wait=0.0) as url:
            await converse(url, PATHS["openai_chat"])
            assert len(upstream.asked) == 1  # and no second one beside it
            upstream.may_answer.set()
        assert TOLD.encode() not in upstream.sent[-1][2] and b"ref=" in upstream.sent[-1][2]

    asyncio.run(run())


def test_a_client_waits_for_a_summary_that_is_nearly_there() -> None:
    async def run() -> None:
        upstream = Writing()
        async with proxy(upstream, wait=30.0) as url:
            task = asyncio.create_task(converse(url, PATHS["openai_chat"]))
            while not upstream.asked:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            upstream.may_answer.set()
            await task
        assert TOLD.encode() in upstream.sent[-1][2]

    asyncio.run(run())


def test_an_upstream_that_refuses_to_write_one_changes_nothing_else() -> None:
    async def run() -> None:
        upstream = Writing()
        upstream.status = 500
        upstream.may_answer.set()
        async with proxy(upstream) as url:
            await converse(url, PATHS["openai_chat"])
        assert upstream.asked and TOLD.encode() not in upstream.sent[-1][2] and b"ref=" in upstream.sent[-1][2]

    asyncio.run(run())


def test_a_route_may_have_summaries_of_its_own() -> None:
    async def run() -> None:
        upstream = Writing()
        upstream.may_answer.set()
        async with running(upstream, window=8192, routes={"gpt-*": {"summaries": "gpt-4o-mini"}}) as url:
            await converse(url, PATHS["openai_chat"])
        assert upstream.asked[0][1]["model"] == "gpt-4o-mini" and TOLD.encode() in upstream.sent[-1][2]

    asyncio.run(run())


@pytest.mark.parametrize("wait", [30.0, 0.2])
def test_a_compaction_that_a_client_asks_for_is_written_by_the_model_if_it_is_quick(wait: float) -> None:
    async def run() -> list[Any] | None:
        upstream = Writing("openai_responses")
        if wait > 1:
            upstream.may_answer.set()
        async with proxy(upstream, wait=wait) as url:
            body = conversation(20, dialect="openai_responses")
            status, data, _ = await post(url + "/v1/responses/compact", body, Authorization=f"Bearer {SECRET}")
            upstream.may_answer.set()
        assert status == 200 and [path for path, *_ in upstream.sent] == []
        assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers, _ in upstream.asked)
        (item,) = json.loads(data)["output"]
        return unseal(item["encrypted_content"])

    kept = json.dumps(asyncio.run(run()))
    assert (TOLD in kept) is (wait > 1) and "Never touch the database." in kept and "ref=" in kept


def test_another_model_of_the_same_upstream_may_write() -> None:
    async def run() -> None:
        upstream = Writing()
        upstream.may_answer.set()
        async with proxy(upstream, spec="gpt-4o-mini") as url:
            await converse(url, PATHS["openai_chat"])
        assert upstream.asked[0][1]["model"] == "gpt-4o-mini"

    asyncio.run(run())


def test_a_configured_model_gets_no_credentials_of_a_client() -> None:
    async def run() -> None:
        writer, upstream = Writing(), Writing()
        writer.may_answer.set()
        async with (
            running(writer, window=8192),
            proxy(upstream, spec=f"{writer.url}/v1#small") as url,
        ):
            await converse(url, PATHS["openai_chat"])
        assert upstream.asked == [] and writer.asked
        assert all(SECRET not in json.dumps(headers) for headers, _ in writer.asked)
        assert TOLD.encode() in upstream.sent[-1][2]

    asyncio.run(run())


def test_a_model_is_named_in_one_of_four_ways() -> None:
    none, keyed = setting.from_mapping({}), setting.read({"OPENAI_API_KEY": "k"})
    assert read_summary_model("same", none) == SummaryModelSpec()
    assert read_summary_model("qwen3:8b", none) == SummaryModelSpec("qwen3:8b")
    assert read_summary_model("org/model", none) == SummaryModelSpec("org/model")
    found = read_summary_model("http://127.0.0.1:1/v1#m", none).endpoint
    assert found and (found.url, found.model, found.key) == ("http://127.0.0.1:1/v1", "m", "")
    found = read_summary_model("openai/gpt-5-mini", keyed).endpoint
    assert found and (found.model, found.key) == ("gpt-5-mini", "k")
    with pytest.raises(BadSetting, match="OPENAI_API_KEY"):
        read_summary_model("openai/gpt-5-mini", none)
