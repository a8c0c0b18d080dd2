"""Which dialect a value is in."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from yohaku.core.errors import BadSetting, Unreadable
from yohaku.dialects import BUILT_IN, DIALECTS, dialect_named
from yohaku.dialects.detect import detect

HI = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be brief."}


def body(*messages: Any, **beside: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages) or [HI], **beside}


def blocks(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def called(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}]}


SIGNS: dict[str, list[Any]] = {
    "openai_chat": [
        body(),
        body(SYSTEM, HI, model="claude-3-7-sonnet", max_tokens=5),
        body(HI, model="anthropic/claude-sonnet-4", max_tokens=5),
        body(called("{}"), {"role": "tool", "tool_call_id": "c", "content": ""}),
        body(blocks({"type": "image_url", "image_url": {"url": "https://a"}})),
        body(tools=[{"type": "function", "function": {"name": "f"}}]),
        body(model="claude-x", max_tokens=5, response_format={"type": "json_object"}),
        body({"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}),
        [HI],
        [SYSTEM, called("{}")],
        {"messages": []},
    ],
    "anthropic": [
        body(system="Be brief."),
        body(model="claude-sonnet-4-5", max_tokens=5),
        body(HI, SYSTEM, HI, model="claude-sonnet-4-5", max_tokens=5),
        body(blocks({"type": "tool_result", "tool_use_id": "c", "content": ""})),
        body(blocks({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}})),
        body(tools=[{"name": "f", "input_schema": {"type": "object"}}]),
        [HI, {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"}]}],
        [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}],
    ],
    "ollama": [
        body(options={"num_ctx": 4096}),
        body(keep_alive="5m"),
        body(SYSTEM, HI, think=False, tools=[{"type": "function", "function": {"name": "f"}}]),
        body(called({"a": 1})),
        body({"role": "user", "content": "Look", "images": ["aGk="]}),
        [HI, called({}), {"role": "tool", "tool_name": "f", "content": "x"}],
    ],
    "openai_responses": [
        {"model": "m", "input": "Hi"},
        {"model": "m", "input": [HI]},
        [blocks({"type": "input_text", "text": "Hi"})],
        [HI, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
        [{"type": "message", "role": "user", "content": "Hi"}],
        [HI, {"type": "reasoning", "summary": []}],
    ],
    "gemini": [
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        {"contents": "Hi"},
        [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Hello"}]}],
    ],
}


@pytest.mark.parametrize(("dialect", "value"), [(name, value) for name, values in SIGNS.items() for value in values])
def test_each_dialect_is_known_by_its_signs(dialect: str, value: Any) -> None:
    assert detect(value) == dialect


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "this list of messages is empty"),
        ([1, "a"], "nothing in this list looks like a message"),
        ([{"a": 1}], "nothing in this list looks like a message"),
        ({}, "this is not a request: it has neither messages, nor input, nor contents"),
        ({"messages": "Hi"}, "messages must be a list, not a text"),
        ("Hi", "this is a text, not a conversation: give a request body or a list of messages"),
        (None, "this is nothing, not a conversation: give a request body or a list of messages"),
        (3.5, "this is a number, not a conversation: give a request body or a list of messages"),
    ],
)
def test_what_is_no_conversation_is_refused_in_one_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(Unreadable) as wrong:
        detect(value)
    assert str(wrong.value) == sentence


@pytest.mark.shared
def test_every_recorded_request_is_detected_as_what_it_was_sent_as(shared: Path) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            seen[row["dialect"], detect(row["request"])] += 1
    assert seen == {
        ("openai_chat", "openai_chat"): 250,
        ("gemini", "gemini"): 208,
        ("anthropic", "anthropic"): 177,
        ("openai_responses", "openai_responses"): 172,
    }


def test_a_dialect_is_made_once_when_it_is_asked_for() -> None:
    assert list(DIALECTS) == list(BUILT_IN)
    assert dialect_named("openai_chat") is DIALECTS["openai_chat"]
    assert dialect_named("openai_chat").name == "openai_chat"


def test_an_unknown_dialect_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadSetting) as wrong:
        dialect_named("klingon")
    known = "openai_chat, openai_responses, anthropic, gemini, ollama"
    assert str(wrong.value) == f"unknown dialect 'klingon': use one of {known}"
    assert wrong.value.code == "unknown_dialect"
