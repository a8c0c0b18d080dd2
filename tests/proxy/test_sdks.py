"""The providers' real SDKs as clients: a tool loop that would overflow its upstream runs to its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.fakes import StrictUpstream, running

STEPS, WINDOW = 40, 4096
PROMPT = "Find the error. Never touch the database."
RESULT = "all is well in this line of the log; " * 40
PARAMETERS = {"type": "object", "properties": {"part": {"type": "integer"}}, "required": ["part"]}


class Scripted(StrictUpstream):
    """Calls `look` a number of times, then says it is done."""

    def __init__(self, dialect: str, reply: Callable[[int], Any]) -> None:
        super().__init__(dialect, WINDOW)
        self.reply, self.replies = reply, 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.replies += 1
        return web.json_response(self.reply(self.replies))


def serve(upstream: Scripted, loop: Callable[[str], str]) -> str:
    async def run() -> str:
        async with running(upstream, window=WINDOW, reserve=512) as url:
            return await asyncio.to_thread(loop, url)

    return asyncio.run(run())


def check(upstream: Scripted) -> None:
    assert upstream.refused == 0 and upstream.replies == STEPS + 1
    last = upstream.sent[-1][2].decode()
    assert PROMPT in last and "ref=" in last


def test_openai_chat() -> None:
    openai = pytest.importorskip("openai", reason="the SDK is not installed: see CONTRIBUTING, adapters")

    def reply(n: int) -> Any:
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"part": n})}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        if n > STEPS:
            message = {"role": "assistant", "content": "Done."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "r", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}

    def loop(url: str) -> str:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        tools: Any = [{"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}]
        while True:
            made = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools, max_tokens=64_000)
            message = made.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return str(message.content)
            messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in message.tool_calls]

    upstream = Scripted("openai_chat", reply)
    assert serve(upstream, loop) == "Done."
    check(upstream)


def test_openai_responses() -> None:
    openai = pytest.importorskip("openai", reason="the SDK is not installed: see CONTRIBUTING, adapters")

    def reply(n: int) -> Any:
        item: Any = {"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "name": "look", "arguments": "{}"}
        if n > STEPS:
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        return {
            "id": "r", "object": "response", "created_at": 1, "model": "gpt-4o", "status": "completed",
            "output": [item],
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
        }  # fmt: skip

    def loop(url: str) -> str:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        items: list[Any] = [{"role": "user", "content": PROMPT}]
        tools: Any = [{"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False}]
        while True:
            made = client.responses.create(model="gpt-4o", input=items, tools=tools, store=False)
            items += [item.model_dump(exclude_none=True) for item in made.output]
            calls = [item for item in made.output if item.type == "function_call"]
            if not calls:
                return str(made.output_text)
            items += [{"type": "function_call_output", "call_id": call.call_id, "output": RESULT} for call in calls]

    upstream = Scripted("openai_responses", reply)
    assert serve(upstream, loop) == "Done."
    check(upstream)


def test_anthropic() -> None:
    anthropic = pytest.importorskip("anthropic", reason="the SDK is not installed: see CONTRIBUTING, adapters")

    def reply(n: int) -> Any:
        block: Any = {"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": {"part": n}}
        if n > STEPS:
            block = {"type": "text", "text": "Done."}
        usage = {"input_tokens": 10, "output_tokens": 1}
        stop = "end_turn" if n > STEPS else "tool_use"
        return {
            "id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [block],
            "stop_reason": stop,
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def loop(url: str) -> str:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        tools: Any = [{"name": "look", "description": "Look.", "input_schema": PARAMETERS}]
        while True:
            made = client.messages.create(model="claude", messages=messages, tools=tools, max_tokens=1000)
            blocks = [block.model_dump(exclude_none=True) for block in made.content]
            messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in made.content if block.type == "tool_use"]
            if not calls:
                return str(made.content[0].text)
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
            messages.append({"role": "user", "content": results})

    upstream = Scripted("anthropic", reply)
    assert serve(upstream, loop) == "Done."
    check(upstream)


def test_gemini() -> None:
    genai = pytest.importorskip("google.genai", reason="the SDK is not installed: see CONTRIBUTING, adapters")
    types: Any = genai.types

    def reply(n: int) -> Any:
        part: Any = {"functionCall": {"name": "look", "args": {"part": n}}} if n <= STEPS else {"text": "Done."}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}

    def loop(url: str) -> str:
        client = genai.Client(api_key="k", http_options={"base_url": url})
        contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
        declared = types.FunctionDeclaration(name="look", description="Look.", parameters_json_schema=PARAMETERS)
        config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
        while True:
            made = client.models.generate_content(model="gemini-2.5-pro", contents=contents, config=config)
            contents.append(made.candidates[0].content)
            if not made.function_calls:
                return str(made.text)
            answer = types.Part.from_function_response(name="look", response={"output": RESULT})
            contents.append(types.Content(role="user", parts=[answer]))

    upstream = Scripted("gemini", reply)
    assert serve(upstream, loop) == "Done."
    check(upstream)


def test_ollama() -> None:
    ollama = pytest.importorskip("ollama", reason="the SDK is not installed: see CONTRIBUTING, adapters")

    def reply(n: int) -> Any:
        call = {"function": {"name": "look", "arguments": {"part": n}}}
        message: Any = {"role": "assistant", "content": "", "tool_calls": [call]}
        if n > STEPS:
            message = {"role": "assistant", "content": "Done."}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}

    def loop(url: str) -> str:
        client = ollama.Client(host=url)
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        tools: Any = [{"type": "function", "function": {"name": "look", "description": "", "parameters": PARAMETERS}}]
        while True:
            made = client.chat("m", messages=messages, tools=tools)
            messages.append(made.message)
            if not made.message.tool_calls:
                return str(made.message.content)
            messages.append({"role": "tool", "content": RESULT, "tool_name": "look"})

    upstream = Scripted("ollama", reply)
    assert serve(upstream, loop) == "Done."
    check(upstream)
