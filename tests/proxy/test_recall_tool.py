"""Recall tools that the proxy adds to a request and answers itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku import dialects
from yohaku.proxy.recall_tool import LONG_REPLY_CHARS, MAX_ROUNDS

WINDOW = 4096
FACT = "as quiet as a zebra"
READ = "tool_output_cache"
WHOLE_PATHS = {**PATHS, "gemini": "/v1beta/models/gpt-4o:generateContent"}


def write_reply(dialect: str, text: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A reply of the provider with a text and calls."""
    made = [(f"call_{name}_{abs(hash(str(given)))}", name, given) for name, given in calls]
    match dialect:
        case "anthropic":
            blocks: list[Any] = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in made]
            stop = "tool_use" if calls else "end_turn"
            return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": stop, "usage": {}}
        case "openai_responses":
            items: list[Any] = [
                {"type": "function_call", "call_id": i, "name": name, "arguments": json.dumps(given)}
                for i, name, given in made
            ]
            said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            return {"object": "response", "status": "completed", "output": [*([said] if text else []), *items]}
        case "gemini":
            parts: list[Any] = [{"text": text}] if text else []
            parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in made]
            return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
        case "ollama":
            asked = [{"function": {"name": name, "arguments": given}} for _, name, given in made]
            return {"message": {"role": "assistant", "content": text, "tool_calls": asked}, "done": True}
    called = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for i, name, given in made
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": called} if called else {})}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


class Recalling(StrictUpstream):
    """Answers from a script; a step of it may be a function of the request."""

    def __init__(self, dialect: str, *script: Any) -> None:
        super().__init__(dialect, WINDOW)
        self.script = list(script)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        reply = self.script.pop(0)
        reply = reply(json.loads(self.sent[-1][2])) if callable(reply) else reply
        return reply if isinstance(reply, web.Response) else web.json_response(reply)

    def body(self, at: int) -> str:
        return json.dumps(json.loads(self.sent[at][2]), ensure_ascii=False)


def long_body(dialect: str, steps: int = 40) -> dict[str, Any]:
    before, part, after = json.dumps(conversation(steps, dialect=dialect)).partition("part 3: ")
    line = "all is well in this line of the log; " * 20
    body: dict[str, Any] = json.loads(before + part + after.replace(line, f"{line}{FACT}; ", 1))
    return body


def ref_in(body: dict[str, Any]) -> str:
    return "ref=" + json.dumps(body).split("ref=")[1][:12]


def open_port(dialect: str, *beside: tuple[str, dict[str, Any]]) -> Any:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        given = {"ref_id": ref_in(body), "pattern": "zebra"}
        return write_reply(dialect, "Let me look.", (f"{READ}_grep", given), *beside)

    return reply


@pytest.mark.parametrize("dialect", PATHS)
def test_the_model_opens_what_was_folded_and_the_client_sees_only_the_answer(dialect: str) -> None:
    async def run() -> None:
        answer = write_reply(dialect, "It is 4711.", ("bash", {"command": "ping"}))
        upstream = Recalling(dialect, open_port(dialect), answer, write_reply(dialect, "Done."))
        body = long_body(dialect)
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            status, data, _ = await post(url + WHOLE_PATHS[dialect], body)
            assert (status, json.loads(data)) == (200, answer)
            assert READ in upstream.body(0) and FACT not in upstream.body(0)
            assert FACT in upstream.body(1)

            found = dialects.dialect_named(dialect)
            step = found.read_reply(answer).reply
            later = found.entries_of(continued(dialect, body, step))
            await post(url + WHOLE_PATHS[dialect], found.with_entries(body, later))
        assert FACT in upstream.body(2), "what was recalled stays where it was asked for"
        assert upstream.refused == 0

    asyncio.run(run())


def continued(dialect: str, body: dict[str, Any], reply: Any) -> dict[str, Any]:
    """The client's next request: the reply, and the results of its calls."""
    from yohaku.core.model import History, Result, Text, Turn

    found = dialects.dialect_named(dialect)
    step = reply.settle({call.id: Result((Text("pong"),)) for call in reply.calls})
    added = found.entries_of(found.compose(History(turns=(Turn((Text("."),), (step,)),))))[1:]
    return dict(found.with_entries(body, [*found.entries_of(body), *added]))


def sse(*events: Any) -> web.Response:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return web.Response(text=text, content_type="text/event-stream")


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def call_chunk(body: dict[str, Any]) -> web.Response:
    function = {"name": READ, "arguments": json.dumps({"ref_id": ref_in(body)})}
    return sse(chunk(content="Let me look."), chunk(tool_calls=[{"index": 0, "id": "c", "function": function}]))


def test_a_stream_that_recalls_is_not_seen_and_the_next_one_comes_as_it_was_sent() -> None:
    async def run() -> None:
        last = sse(chunk(content="It is "), chunk(content="4711."))
        upstream = Recalling("openai_chat", call_chunk, last)
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            status, data, headers = await post(url + PATHS["openai_chat"], {**long_body("openai_chat"), "stream": True})
        assert (status, data.decode()) == (200, last.text) and "text/event-stream" in str(headers)

    asyncio.run(run())


def test_a_call_late_in_a_long_reply_reaches_the_client_and_is_answered_in_its_next_request() -> None:
    async def run() -> None:
        def long_reply(body: dict[str, Any]) -> web.Response:
            words = [chunk(content="word " * LONG_REPLY_CHARS) for _ in range(3)]
            return sse(*words, *map(json.loads, call_chunk(body).text.replace("data: ", "").split("\n\n")[:-1]))  # type: ignore[union-attr]

        upstream = Recalling("openai_chat", long_reply, write_reply("openai_chat", "Done."))
        body = long_body("openai_chat", 12)
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            _, data, _ = await post(url + PATHS["openai_chat"], {**body, "stream": True})
            reply = dialects.dialect_named("openai_chat").read_stream(data.decode()).reply
            later = continued("openai_chat", body, reply)
            await post(url + PATHS["openai_chat"], json.loads(json.dumps(later).replace("pong", "no such tool")))
        assert "no such tool" not in upstream.body(1) and "lines 1-" in upstream.body(1)

    asyncio.run(run())


def test_calls_of_the_client_beside_a_recall_are_put_off() -> None:
    async def run() -> None:
        answer = write_reply("anthropic", "", ("bash", {"command": "ping"}))
        upstream = Recalling("anthropic", open_port("anthropic", ("bash", {"command": "ping"})), answer)
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            status, data, _ = await post(url + PATHS["anthropic"], long_body("anthropic"))
        assert (status, json.loads(data)) == (200, answer) and "Not run: " in upstream.body(1)

    asyncio.run(run())


def test_a_model_that_recalls_without_end_is_given_no_more_recall() -> None:
    async def run() -> None:
        script = [open_port("openai_chat")] * MAX_ROUNDS
        upstream = Recalling("openai_chat", *script, write_reply("openai_chat", "Enough."))
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            status, data, _ = await post(url + PATHS["openai_chat"], long_body("openai_chat"))
        assert status == 200 and b"Enough." in data and upstream.refused == 0
        assert "tools" not in json.loads(upstream.sent[-1][2])

    asyncio.run(run())


def test_what_is_not_folded_leaves_as_it_came_and_a_forced_choice_is_left_to_the_client() -> None:
    async def run() -> None:
        reply = write_reply("openai_chat", "Done.")
        upstream = Recalling("openai_chat", reply, reply)
        raw = json.dumps(conversation(2), indent=1).encode()
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            await post(url + PATHS["openai_chat"], raw)
            await post(url + PATHS["openai_chat"], {**long_body("openai_chat"), "tool_choice": "required"})
        assert upstream.sent[0][2] == raw and READ not in upstream.body(1)

    asyncio.run(run())


def test_a_model_without_tools_is_asked_again_without_them() -> None:
    async def run() -> None:
        refusal = web.json_response({"error": "m does not support tools"}, status=400)
        upstream = Recalling("ollama", refusal, write_reply("ollama", "Done."), write_reply("ollama", "Done."))
        async with running(upstream, window=WINDOW, recall_tool=True) as url:
            for _ in range(2):
                assert (await post(url + PATHS["ollama"], long_body("ollama")))[0] == 200
        assert [READ in upstream.body(at) for at in range(3)] == [True, False, False]

    asyncio.run(run())
