"""The providers' real SDKs as clients of an Ollama that knows only its own API: streams, thoughts, calls and usage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.fakes import running
from tests.proxy.test_translation import GreetingOllama

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
WITHOUT = "the SDK is not installed: see CONTRIBUTING, adapters"
SAID, THOUGHT, COMMAND = "I look at 余白.", "Let me look.", {"command": "ls 余白"}


def serve(ask: Callable[[str], Any], folder: Path) -> Any:
    async def run() -> Any:
        upstream = GreetingOllama()
        async with running(upstream, window=8192, remembers=folder) as url:
            found = await asyncio.to_thread(ask, url)
        assert {path for path, *_ in upstream.sent} == {"/api/chat"}
        return found

    return asyncio.run(run())


def test_openai_chat(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai", reason=WITHOUT)

    def ask(url: str) -> Any:
        tools: Any = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        about: Any = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Look."}], "tools": tools}
        with client.chat.completions.stream(**about, stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            return client.chat.completions.create(**about), stream.get_final_completion()

    for made in serve(ask, tmp_path):
        choice = made.choices[0]
        assert (choice.message.content, choice.finish_reason) == (SAID, "tool_calls")
        assert "余白" in choice.message.tool_calls[0].function.arguments and made.usage.prompt_tokens == 321


def test_openai_responses(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai", reason=WITHOUT)

    def ask(url: str) -> Any:
        tools: Any = [{"type": "function", "name": "bash", "parameters": PARAMETERS, "strict": False}]
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        about: Any = {"model": "qwen3:8b", "input": "Look.", "tools": tools}
        with client.responses.stream(**about) as stream:
            kinds = [event.type for event in stream]
            assert {"response.output_text.delta", "response.function_call_arguments.done"} <= set(kinds)
            return client.responses.create(**about), stream.get_final_response()

    for made in serve(ask, tmp_path):
        assert (made.output_text, made.status, made.usage.input_tokens) == (SAID, "completed", 321)
        assert [item.type for item in made.output] == ["reasoning", "message", "function_call"]
        assert made.output[-1].name == "bash" and "余白" in made.output[-1].arguments


def test_anthropic(tmp_path: Path) -> None:
    anthropic = pytest.importorskip("anthropic", reason=WITHOUT)

    def ask(url: str) -> Any:
        tools: Any = [{"name": "bash", "input_schema": PARAMETERS}]
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        messages: Any = [{"role": "user", "content": "Look."}]
        about: Any = {"model": "qwen3:8b", "max_tokens": 100, "messages": messages, "tools": tools}
        with client.messages.stream(**about) as stream:
            return client.messages.create(**about), stream.get_final_message()

    for made in serve(ask, tmp_path):
        thought, text, call = made.content
        assert (thought.thinking, text.text, call.name, call.input) == (THOUGHT, SAID, "bash", COMMAND)
        assert (made.stop_reason, made.usage.input_tokens, made.usage.output_tokens) == ("tool_use", 321, 12)


def test_gemini(tmp_path: Path) -> None:
    genai = pytest.importorskip("google.genai", reason=WITHOUT)

    def ask(url: str) -> Any:
        client = genai.Client(api_key="k", http_options={"base_url": url})
        declared: Any = {"name": "bash", "description": "Run.", "parameters_json_schema": PARAMETERS}
        config: Any = {
            "tools": [{"function_declarations": [declared]}],
            "automatic_function_calling": {"disable": True},
        }
        about: Any = {"model": "qwen3:8b", "contents": "Look.", "config": config}
        whole = client.models.generate_content(**about)
        pieces = list(client.models.generate_content_stream(**about))
        return whole, pieces

    whole, pieces = serve(ask, tmp_path)
    texts = [part.text for piece in pieces for part in piece.candidates[0].content.parts if not part.thought]
    assert whole.text == SAID and "".join(filter(None, texts)) == SAID
    for made in (whole, pieces[-1]):
        assert (made.function_calls[0].name, made.function_calls[0].args) == ("bash", COMMAND)
        assert (made.candidates[0].finish_reason.name, made.usage_metadata.prompt_token_count) == ("STOP", 321)
