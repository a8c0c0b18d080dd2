"""What is heard of a reply while it comes is what is read of it when it is whole."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus.wire import exchanges
from tests.dialects.wire import anything

from yohaku import dialects
from yohaku.core.model import Text
from yohaku.dialects import dialect_named

WORDS = "choices delta message candidates content content_block parts text thinking thought type".split()

every_dialect = pytest.mark.parametrize("dialect", dialects.BUILT_IN)


def said(dialect: str, stream: str) -> str:
    reply = dialect_named(dialect).read_stream(stream).reply
    return "".join(item.text for item in reply.items if isinstance(item, Text))


def heard(dialect: str, stream: str) -> tuple[str, str]:
    spoken = dialect_named(dialect)
    reader = spoken.stream_reader()
    deltas = [reader.feed(event) for event in spoken.events(stream)]
    return "".join(delta[0] for delta in deltas), "".join(delta[1] for delta in deltas)


@pytest.mark.shared
def test_every_recorded_stream_is_heard_as_it_is_read(shared: Path) -> None:
    seen: Counter[str] = Counter()
    thought: Counter[str] = Counter()
    for exchange in exchanges(shared):
        if exchange.stream:
            text, thoughts = heard(exchange.dialect, exchange.stream)
            assert text == said(exchange.dialect, exchange.stream), exchange.number
            seen[exchange.dialect] += bool(text)
            thought[exchange.dialect] += bool(thoughts)
    assert all(seen[name] > 4 for name in ("openai_chat", "openai_responses", "anthropic", "gemini")), seen
    assert all(thought[name] for name in ("openai_chat", "openai_responses", "anthropic")), thought


def test_a_stream_of_ollama_is_heard_as_it_is_read() -> None:
    chunks: list[dict[str, Any]] = [
        {"message": {"role": "assistant", "content": "", "thinking": "Hm"}},
        {"message": {"role": "assistant", "content": "余"}},
        {"message": {"role": "assistant", "content": "白\x85\u2028 and"}},
        {"message": {"role": "assistant", "content": "", "tool_calls": []}, "done": True, "done_reason": "stop"},
    ]
    stream = "".join(json.dumps(chunk, ensure_ascii=False) + "\n" for chunk in chunks)
    assert heard("ollama", stream) == ("余白\x85\u2028 and", "Hm")
    assert said("ollama", stream) == "余白\x85\u2028 and"


@pytest.mark.parametrize(
    ("dialect", "event", "delta"),
    [
        ("openai_chat", {"choices": [{"delta": {"content": "a", "refusal": None}}]}, ("a", "")),
        ("openai_chat", {"choices": [{"delta": {"refusal": "No."}}]}, ("No.", "")),
        ("openai_chat", {"choices": [{"delta": {"reasoning_content": "b"}}]}, ("", "b")),
        ("openai_chat", {"choices": [{"delta": {"reasoning": "c"}}]}, ("", "c")),
        ("openai_chat", {"choices": []}, ("", "")),
        ("openai_responses", {"type": "response.output_text.delta", "delta": "a"}, ("a", "")),
        ("openai_responses", {"type": "response.output_text.done", "text": "a"}, ("", "")),
        ("openai_responses", {"type": "response.reasoning_text.delta", "delta": "b"}, ("", "b")),
        ("openai_responses", {"type": "response.function_call_arguments.delta", "delta": "{"}, ("", "")),
        ("anthropic", {"type": "content_block_start", "content_block": {"type": "text", "text": "a"}}, ("a", "")),
        ("anthropic", {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}, ("a", "")),
        ("anthropic", {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "b"}}, ("", "b")),
        ("anthropic", {"type": "content_block_delta", "delta": {"partial_json": "{"}}, ("", "")),
        (
            "gemini",
            {"candidates": [{"content": {"parts": [{"text": "a"}, {"text": "b", "thought": True}]}}]},
            ("a", "b"),
        ),
        ("gemini", {"candidates": [{"content": {"parts": {"text": "a"}}}]}, ("a", "")),
        ("gemini", {"candidates": [{"finishReason": "STOP"}]}, ("", "")),
        ("ollama", {"message": {"content": "a", "thinking": "b"}}, ("a", "b")),
        ("ollama", {"done": True}, ("", "")),
    ],
)
def test_an_event_adds_what_it_says(dialect: str, event: dict[str, Any], delta: tuple[str, str]) -> None:
    assert dialect_named(dialect).stream_reader().feed(event) == delta


@every_dialect
@given(event=st.dictionaries(st.sampled_from(WORDS), anything(WORDS)))
def test_no_event_breaks_the_hearing(dialect: str, event: dict[str, Any]) -> None:
    text, thought = dialect_named(dialect).stream_reader().feed(event)
    assert isinstance(text, str) and isinstance(thought, str)
