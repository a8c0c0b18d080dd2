"""Turns that a client of OpenAI's Responses leaves to its provider, held by the proxy."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, running
from tests.proxy.test_app import PATHS, post
from tests.proxy.test_translation import GreetingOllama
from yohaku import stores
from yohaku.proxy.held_state import HeldState
from yohaku.proxy.tenants import Tenants
from yohaku.session.collect import collect
from yohaku.stores.memory import MemoryStore

PATH = PATHS["openai_responses"]


class Forgetful(StrictUpstream):
    """Holds no responses: whoever names one is refused. Answers with a call and a number of its own."""

    def __init__(self) -> None:
        super().__init__("openai_responses", 8192)
        self.stream = True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST" and json.loads(await request.read()).get("previous_response_id"):
            return web.json_response({"error": {"message": "Previous response not found."}}, status=404)
        return await super().handle(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        number = len(self.sent)
        words = f"reply {number}: " + "nothing of note in this part of the log, " * 20
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [said]}
        if not json.loads(await request.read()).get("stream"):
            return web.json_response(response)
        events = [{"type": "response.created"}, {"type": "response.completed", "response": response}]
        streamed = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await streamed.prepare(request)
        data = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
        for at in range(0, len(data), 501):
            await streamed.write(data[at : at + 501])
        return streamed


def ask(prompt: str, previous: str = "", **fields: Any) -> dict[str, Any]:
    link = {"previous_response_id": previous} if previous else {}
    return {"model": "gpt-4o", "input": prompt, **link, **fields}


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_sends_only_what_is_new_is_kept_inside_the_window(stream: bool) -> None:
    async def run() -> None:
        upstream, previous = Forgetful(), ""
        async with running(upstream, window=8192, held_state=HeldState()) as url:
            for number in range(60):
                body = ask(f"Step {number}. Never touch the database." if not number else f"Step {number}.", previous)
                status, data, _ = await post(url + PATH, {**body, "stream": stream})
                assert status == 200, data
                previous = f"resp_{number + 1}"
        last = json.loads(upstream.sent[-1][2])
        text = json.dumps(last)
        assert upstream.refused == 0 and "previous_response_id" not in last
        assert "Never touch the database." in text and "ref=" in text and "Step 59." in text

    asyncio.run(run())


def test_another_proxy_on_the_store_goes_on_from_it_and_another_tenant_does_not() -> None:
    async def run() -> None:
        store, upstream = stores.open("memory:"), Forgetful()
        tenants = {"tenants": Tenants("credential", "key")}
        for number, key in enumerate(("one", "one", "one", "two")):
            async with running(upstream, window=8192, held_state=HeldState(), store=store, **tenants) as url:
                previous = f"resp_{number}" if number else ""
                body = ask(f"Step {number}.", previous if key == "one" else "resp_3")
                status, _, _ = await post(url + PATH, body, Authorization=f"Bearer {key}")
                assert status == (200 if key == "one" else 404)
        sent = json.loads(upstream.sent[2][2])["input"]
        assert [item["content"] for item in sent if item["role"] == "user"] == ["Step 0.", "Step 1.", "Step 2."]

    asyncio.run(run())


def test_what_is_not_held_goes_to_the_provider_as_it_came() -> None:
    async def run() -> None:
        upstream = Forgetful()
        async with running(upstream, window=8192, held_state=HeldState()) as url:
            assert (await post(url + PATH, ask("a", "resp_elsewhere")))[0] == 404
            assert (await post(url + PATH, ask("a", store=False)))[0] == 200
            assert (await post(url + PATH, ask("b", "resp_1")))[0] == 404  # the client wants nothing kept

    asyncio.run(run())


def test_a_server_of_another_dialect_needs_no_memory_either(tmp_path: Any) -> None:
    async def run() -> None:
        upstream = GreetingOllama({"message": {"role": "assistant", "content": "Fine."}}, {"done": True})
        async with running(upstream, window=8192, held_state=HeldState(), remembers=tmp_path) as url:
            _, data, _ = await post(url + PATH, ask("Remember 4711.", stream=True))
            done = json.loads(data.decode().rstrip().rsplit("data: ", 1)[1])
            status, _, _ = await post(url + PATH, ask("What was it?", done["response"]["id"], stream=True))
        said = [(entry["role"], entry["content"]) for entry in json.loads(upstream.sent[-1][2])["messages"]]
        assert status == 200
        assert said == [("user", "Remember 4711."), ("assistant", "Fine."), ("user", "What was it?")]

    asyncio.run(run())


def test_what_is_held_ages_out_like_everything_else() -> None:
    async def run() -> None:
        clock = [1_000_000_000.0]
        store = MemoryStore(lambda: clock[0])
        async with running(Forgetful(), window=8192, held_state=HeldState(), store=store) as url:
            await post(url + PATH, ask("Step 0."))
        assert store.recorded("response resp_1") and list(store.kept())
        clock[0] += 10**9
        collect(store, age=1, clock=lambda: 4_000_000_000.0)
        assert not store.recorded("response resp_1") and not list(store.kept())

    asyncio.run(run())
