"""`POST /yohaku/fit` and `GET /yohaku/recall/REF`: the engine for somebody who sends requests himself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests import checkers
from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku import dialects
from yohaku.core.weigh import weigh
from yohaku.meters import for_model


async def fit(url: str, body: Any, query: str = "") -> tuple[int, Any]:
    status, data, _ = await post(f"{url}/yohaku/fit{query}", body)
    return status, json.loads(data)


@pytest.mark.parametrize("dialect", PATHS)
def test_a_body_of_any_dialect_comes_back_within_the_window_with_its_receipt(dialect: str) -> None:
    async def run() -> tuple[StrictUpstream, tuple[int, Any]]:
        upstream = StrictUpstream(dialect, 8192)
        async with running(upstream, window=8192) as url:
            # A request to Gemini names no model: it stands in the path.
            return upstream, await fit(url, conversation(60, dialect=dialect), "?model=gpt-4o")

    upstream, (status, reply) = asyncio.run(run())
    assert (status, upstream.sent) == (200, []), "nothing goes to the upstream"
    body, receipt = reply["body"], reply["receipt"]
    assert (reply["dialect"], reply["changed"], reply["left_alone"]) == (dialect, True, None)
    assert checkers.DIALECTS[dialect].problems(body) == []
    tokens = weigh(dialects.dialect_named(dialect).read(body).history(), for_model("gpt-4o", dialect)).total
    assert tokens == receipt["after"] <= receipt["limit"] < receipt["before"]


def test_a_model_has_the_settings_of_its_table_here_too() -> None:
    async def run() -> None:
        routes = {"gpt-*": {"window": 4096, "model": "tiny"}}
        async with running(StrictUpstream("openai_chat", 8192), window=8192, routes=routes) as url:
            for body, query in ((conversation(60), ""), ({**conversation(60), "model": "other"}, "?model=gpt-4o")):
                _, reply = await fit(url, body, query)
                assert reply["receipt"]["limit"] < 4096 and reply["body"]["model"] == body["model"]
            _, reply = await fit(url, {**conversation(60), "model": "other"})
            assert reply["receipt"]["limit"] > 4096

    asyncio.run(run())


def test_what_fits_comes_back_as_the_bytes_that_came() -> None:
    async def run() -> bytes:
        async with running(StrictUpstream("openai_chat", 8192), window=8192) as url:
            return (await post(f"{url}/yohaku/fit", raw))[1]

    raw = json.dumps(conversation(2), indent=3).encode()
    data = asyncio.run(run())
    assert raw in data and json.loads(data)["changed"] is False


def test_a_ref_of_the_receipt_opens() -> None:
    async def run() -> None:
        async with running(StrictUpstream("openai_chat", 8192), window=8192) as url, aiohttp.ClientSession() as client:
            _, reply = await fit(url, conversation(60))
            ref = reply["receipt"]["folds"][0]["ref"]
            async with client.get(f"{url}/yohaku/recall/{ref}") as response:
                assert response.status == 200 and "all is well in this line of the log" in await response.text()
                assert response.headers["X-Content-Type-Options"] == "nosniff"
            for wrong in ("aaaaaaaaaaaa", "..%2f..%2fetc", "x" * 5000):
                async with client.get(f"{url}/yohaku/recall/{wrong}") as response:
                    assert response.status == 404 and (await response.json())["error"]["code"] == "unknown_ref"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "query", "status", "code"),
    [
        (b"{", "", 400, "unreadable"),
        (b"\xff", "", 400, "unreadable"),
        (b"[" * 100_000, "", 400, "unreadable"),
        (b'{"a": 1}', "", 400, "unreadable"),
        (b'{"messages": 3}', "", 400, "unreadable"),
        (b'{"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}', "", 400, "malformed"),
        (json.dumps(conversation(1)).encode(), "?dialect=klingon", 400, "unknown_dialect"),
        (json.dumps(conversation(1)).replace("careful", "word " * 20_000).encode(), "", 422, "does_not_fit"),
    ],
)
def test_an_error_has_its_code(body: bytes, query: str, status: int, code: str) -> None:
    async def run() -> tuple[int, Any]:
        async with running(StrictUpstream("openai_chat", 8192), window=8192) as url:
            return await fit(url, body, query)

    found, reply = asyncio.run(run())
    assert (found, reply["error"]["code"]) == (status, code) and reply["error"]["message"]
    assert code != "does_not_fit" or reply["error"]["needs"] > reply["error"]["limit"]


def test_a_body_whose_earlier_turns_a_provider_holds_is_left_alone_and_said() -> None:
    async def run() -> tuple[int, Any]:
        async with running(StrictUpstream("openai_responses", 8192), window=8192) as url:
            body = {**conversation(60, dialect="openai_responses"), "previous_response_id": "earlier"}
            return await fit(url, body)

    status, reply = asyncio.run(run())
    assert status == 200 and "previous_response_id" in reply["left_alone"] and "may refuse" in reply["left_alone"]
    assert (reply["changed"], reply["receipt"]) == (False, None)


def test_another_path_of_ours_is_not_found_and_not_passed_on() -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        async with running(upstream, window=8192) as url:
            status, data, _ = await post(f"{url}/yohaku/fold", {})
        assert (status, json.loads(data)["error"]["code"], upstream.sent) == (404, "not_found", [])

    asyncio.run(run())
