"""Clients of other dialects before Ollama, which takes the size of a window in its own alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.proxy.fakes import conversation, running
from tests.proxy.test_app import PATHS, post
from tests.proxy.test_ollama import FakeOllama
from yohaku import dialects
from yohaku.core.model import Call, Text

CLIENTS = ("openai_chat", "openai_responses", "anthropic", "gemini")
WHOLE = {"gemini": "/v1beta/models/gpt-4o:generateContent"}
CALL = {"function": {"name": "bash", "arguments": {"command": "ls 余白"}}}
PIECES = (
    {"message": {"role": "assistant", "content": "", "thinking": "Let me "}},
    {"message": {"role": "assistant", "content": "", "thinking": "look."}},
    {"message": {"role": "assistant", "content": "I look "}},
    {"message": {"role": "assistant", "content": "at 余白."}},
)
END = {"done": True, "done_reason": "stop", "prompt_eval_count": 321, "eval_count": 12}


class GreetingOllama(FakeOllama):
    """Says at its root what Ollama says, knows only its own API, and answers with these events."""

    def __init__(self, *events: dict[str, Any]) -> None:
        super().__init__()
        self.events = events or (*PIECES, {"message": {"role": "assistant", "tool_calls": [CALL]}}, END)
        self.refusal: str = ""
        self.cut_bytes = False
        self.breaks_off = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(text="Ollama is running")
        if request.path != "/api/chat":
            return web.Response(status=404)
        raw = await request.read()
        if self.refusal and (self.refusal != "thinking" or "think" in json.loads(raw)):
            self.sent.append((request.path_qs, dict(request.headers), raw))
            words = '"m" does not support thinking' if self.refusal == "thinking" else self.refusal
            return web.json_response({"error": words}, status=400)
        return await super().handle(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        about = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "done": False}
        if not body["stream"]:
            whole = {
                "role": "assistant",
                "content": "I look at 余白.",
                "thinking": "Let me look.",
                "tool_calls": [CALL],
            }
            return web.json_response({**about, **END, "message": whole})
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        data = b"".join(json.dumps({**about, **event}, ensure_ascii=False).encode() + b"\n" for event in self.events)
        if self.breaks_off:
            data = data[: len(data) // 2]
        for at in range(0, len(data), 7):
            await response.write(data[at : at + 7])
        return response


def asked(dialect: str, steps: int = 2, **fields: Any) -> dict[str, Any]:
    return {**conversation(steps, dialect=dialect), "model": "qwen3:8b", **fields}


async def send(upstream: GreetingOllama, dialect: str, body: Any, folder: Path) -> tuple[int, bytes, dict[str, str]]:
    async with running(upstream, window=8192, remembers=folder) as url:
        path = PATHS[dialect] if body.get("stream") else WHOLE.get(dialect, PATHS[dialect])
        return await post(url + path, body, Authorization="Bearer k")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", CLIENTS)
def test_a_client_of_another_dialect_is_answered_in_it_and_the_window_is_real(
    dialect: str, stream: bool, tmp_path: Path
) -> None:
    upstream = GreetingOllama()
    status, data, headers = asyncio.run(send(upstream, dialect, asked(dialect, stream=stream), tmp_path))
    assert status == 200
    path, given, raw = upstream.sent[-1]
    sent = json.loads(raw)
    assert path == "/api/chat" and given["Authorization"] == "Bearer k"
    assert sent["options"]["num_ctx"] == 8192 and sent["truncate"] is False and sent["stream"] is stream
    found = dialects.dialect_named(dialect)
    kind = "text/event-stream" if stream else "application/json"
    assert headers["Content-Type"].startswith(kind)
    answer = found.read_stream(data.decode()) if stream else found.read_reply(json.loads(data))
    assert answer.text == "I look at 余白."
    (call,) = answer.reply.calls
    assert (call.name, json.loads(call.arguments)) == ("bash", {"command": "ls 余白"}) and call.id
    assert any("Let me look." in getattr(item, "data", "") for item in answer.reply.items)
    if answer.usage or dialect != "openai_chat" or not stream:
        assert answer.usage and (answer.usage.prompt, answer.usage.output) == (321, 12)


@pytest.mark.parametrize("dialect", CLIENTS)
def test_a_long_conversation_is_folded_first_and_what_was_said_goes_along(dialect: str, tmp_path: Path) -> None:
    upstream = GreetingOllama()
    status, _, _ = asyncio.run(send(upstream, dialect, asked(dialect, 60, stream=True), tmp_path))
    assert (status, upstream.refused) == (200, 0)
    sent = json.loads(upstream.sent[-1][2])
    text = json.dumps(sent)
    assert "Never touch the database." in text and "ref=" in text
    assert [entry for entry in sent["messages"] if entry["role"] == "tool"][-1]["tool_name"] == "bash"


def test_what_a_client_asks_for_beside_its_conversation_goes_along(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    fields = {
        "temperature": 0.2,
        "top_p": 0.9,
        "seed": 7,
        "stop": "END",
        "max_tokens": 200,
        "reasoning_effort": "none",
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
    }
    upstream = GreetingOllama()
    asyncio.run(send(upstream, "openai_chat", asked("openai_chat", **fields), tmp_path))
    sent = json.loads(upstream.sent[-1][2])
    given = {"temperature": 0.2, "top_p": 0.9, "seed": 7, "stop": ["END"], "num_predict": 200, "num_ctx": 8192}
    assert sent["options"] == given
    assert (sent["format"], sent["think"], sent["stream"]) == (schema, False, False)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["bash"]


def test_usage_of_a_stream_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    body = asked("openai_chat", stream=True, stream_options={"include_usage": True})
    _, data, _ = asyncio.run(send(GreetingOllama(), "openai_chat", body, tmp_path))
    answer = dialects.dialect_named("openai_chat").read_stream(data.decode())
    assert answer.usage and (answer.usage.prompt, answer.usage.output, answer.stop) == (321, 12, "tool_calls")
    assert data.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("dialect", "stop"),
    [
        ("openai_chat", "length"),
        ("openai_responses", "max_output_tokens"),
        ("anthropic", "max_tokens"),
        ("gemini", "MAX_TOKENS"),
    ],
)
def test_a_reply_that_reached_its_limit_says_so(dialect: str, stop: str, tmp_path: Path) -> None:
    upstream = GreetingOllama(*PIECES, {**END, "done_reason": "length"})
    _, data, _ = asyncio.run(send(upstream, dialect, asked(dialect, stream=True), tmp_path))
    answer = dialects.dialect_named(dialect).read_stream(data.decode())
    assert answer.stop == stop and answer.text == "I look at 余白."


def test_a_model_that_does_not_think_is_asked_without(tmp_path: Path) -> None:
    upstream = GreetingOllama()
    upstream.refusal = "thinking"
    body = asked("openai_responses", stream=True, reasoning={"effort": "medium"})
    status, data, _ = asyncio.run(send(upstream, "openai_responses", body, tmp_path))
    assert status == 200 and b"response.completed" in data
    assert ["think" in json.loads(raw) for _, _, raw in upstream.sent] == [True, False]


@pytest.mark.parametrize("dialect", CLIENTS)
def test_an_error_reaches_the_client_in_its_own_dialect(dialect: str, tmp_path: Path) -> None:
    upstream = GreetingOllama()
    upstream.refusal = "registry.ollama.ai/library/m does not support tools"
    status, data, _ = asyncio.run(send(upstream, dialect, asked(dialect), tmp_path))
    assert status == 400
    assert json.loads(data)["error"]["message"] == upstream.refusal
    assert ("type" in json.loads(data)) == (dialect == "anthropic")


@pytest.mark.parametrize("dialect", CLIENTS)
def test_an_error_in_the_middle_of_a_stream_is_one_in_the_client_s_dialect(dialect: str, tmp_path: Path) -> None:
    upstream = GreetingOllama(*PIECES, {"error": "the model runner has stopped"})
    status, data, _ = asyncio.run(send(upstream, dialect, asked(dialect, stream=True), tmp_path))
    found = dialects.dialect_named(dialect)
    errors = [error for event in found.events(data.decode()) if (error := found.error_in(event))]
    assert status == 200 and "the model runner has stopped" in json.dumps(errors)


@pytest.mark.parametrize("dialect", CLIENTS)
def test_a_stream_that_breaks_off_is_no_whole_reply(dialect: str, tmp_path: Path) -> None:
    async def run() -> None:
        upstream = GreetingOllama()
        upstream.breaks_off = True
        async with running(upstream, window=8192, remembers=tmp_path) as url:
            with pytest.raises(aiohttp.ClientPayloadError):
                await post(url + PATHS[dialect], asked(dialect, stream=True))

    asyncio.run(run())


def test_a_tool_that_takes_a_text_is_called_with_a_text(tmp_path: Path) -> None:
    patch = {"function": {"name": "apply_patch", "arguments": {"input": "*** Begin Patch"}}}
    upstream = GreetingOllama({"message": {"role": "assistant", "tool_calls": [patch]}}, END)
    tool = {"type": "custom", "name": "apply_patch", "description": "Edit.", "format": {"type": "grammar"}}
    body = asked("openai_responses", stream=True, tools=[tool])
    _, data, _ = asyncio.run(send(upstream, "openai_responses", body, tmp_path))
    done = [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: ")]
    (item,) = done[-1]["response"]["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", "*** Begin Patch")
    (sent,) = json.loads(upstream.sent[-1][2])["tools"]
    assert sent["function"]["parameters"]["required"] == ["input"]


def test_other_paths_and_bodies_that_are_not_understood_pass_through(tmp_path: Path) -> None:
    async def run() -> None:
        upstream = GreetingOllama()
        async with running(upstream, window=8192, remembers=tmp_path) as url:
            assert (await post(url + "/v1/embeddings", {"model": "m", "input": "a"}))[0] == 404
            assert (await post(url + PATHS["openai_chat"], {"messages": [{"role": "wizard"}]}))[0] == 404
        assert upstream.sent == []

    asyncio.run(run())


def test_a_stream_of_gemini_without_events_is_a_list(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(GreetingOllama(), window=8192, remembers=tmp_path) as url:
            path = "/v1beta/models/gpt-4o:streamGenerateContent"
            _, data, _ = await post(url + path, conversation(2, dialect="gemini"))
        (reply,) = json.loads(data)
        assert reply["candidates"][0]["finishReason"] == "STOP"

    asyncio.run(run())


def test_a_model_of_ollama_is_found_in_a_path_of_gemini(tmp_path: Path) -> None:
    async def run() -> None:
        upstream = GreetingOllama()
        async with running(upstream, window=8192, remembers=tmp_path) as url:
            path = "/v1beta/models/qwen3:8b:streamGenerateContent?alt=sse"
            assert (await post(url + path, conversation(2, dialect="gemini")))[0] == 200
        assert json.loads(upstream.sent[-1][2])["model"] == "qwen3:8b"

    asyncio.run(run())


def test_options_of_gemini_go_along_in_either_spelling(tmp_path: Path) -> None:
    for config in (
        {"maxOutputTokens": 99, "topP": 0.5, "stopSequences": ["END"], "responseMimeType": "application/json"},
        {"max_output_tokens": 99, "top_p": 0.5, "stop_sequences": ["END"], "response_mime_type": "application/json"},
    ):
        upstream = GreetingOllama()
        body = {**conversation(2, dialect="gemini"), "generationConfig": config}
        asyncio.run(send(upstream, "gemini", body, tmp_path))
        sent = json.loads(upstream.sent[-1][2])
        assert sent["options"] == {"num_predict": 99, "top_p": 0.5, "stop": ["END"], "num_ctx": 8192}
        assert sent["format"] == "json" and sent["model"] == "gpt-4o"


def test_a_replied_step_reads_back_as_it_was_said(tmp_path: Path) -> None:
    """The next request of the client holds the reply: it must be what the model said."""
    _, data, _ = asyncio.run(send(GreetingOllama(), "anthropic", asked("anthropic", stream=True), tmp_path))
    answer = dialects.dialect_named("anthropic").read_stream(data.decode())
    kinds = [type(item) for item in answer.reply.items if isinstance(item, Text | Call)]
    assert kinds == [Text, Call] and answer.stop == "tool_use"
