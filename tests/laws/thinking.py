"""Thoughts put into composed bodies, as each wire format carries them; no dialect of ours composes all of them.

An entry says by itself what was thought before it, so that a conversation that grows has the same thoughts again.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

Json = Any
WORDS = ("The user wants the number of the port. ", "まず設定を確認する。", "Hm.\n", '{"a": 1} or "b"? ')


def with_thoughts(name: str, body: Json) -> Json:
    """The body with a thought or two before most of the model's replies, those with calls among them."""
    field = {"openai_responses": "input", "gemini": "contents"}.get(name, "messages")
    return {**body, field: [thinking for entry in body[field] for thinking in THINKING[name](entry)]}


def _thoughts(entry: Json) -> list[str]:
    """None, one or two, short or long."""
    number = int.from_bytes(sha256(json.dumps(entry, sort_keys=True).encode()).digest()[:6], "big")
    count = (0, 1, 1, 2)[number % 4]
    return [WORDS[(number >> 8 + n) % 4] * (1, 4, 40, 200)[(number >> 12 + n) % 4] for n in range(count)]


def _chat(entry: Json) -> list[Json]:
    thoughts = _thoughts(entry) if entry["role"] == "assistant" else []
    fields = dict(zip(("reasoning_content", "reasoning"), thoughts, strict=False))
    return [{**entry, **fields, "unknown": "kept"} if thoughts else entry]


def _ollama(entry: Json) -> list[Json]:
    thoughts = _thoughts(entry) if entry["role"] == "assistant" else []
    return [{**entry, "thinking": thoughts[0]} if thoughts else entry]


def _anthropic(entry: Json) -> list[Json]:
    """One before all that is said, and one before the last block."""
    thoughts = _thoughts(entry) if entry["role"] == "assistant" else []
    if not thoughts:
        return [entry]
    content = entry["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    for place, thought in zip((0, -1), thoughts, strict=False):
        sealed = {"type": "thinking", "thinking": thought, "signature": f"c2lnbmVk{len(thought)}"}
        blocks.insert(place if place == 0 else len(blocks) - 1, sealed)
    return [{**entry, "content": blocks}]


def _gemini(entry: Json) -> list[Json]:
    """The second of two is signed."""
    thoughts = _thoughts(entry) if entry["role"] == "model" else []
    marks: tuple[dict[str, str], ...] = ({}, {"thoughtSignature": "c2lnbmVk"})
    parts = [{"text": thought, "thought": True, **mark} for thought, mark in zip(thoughts, marks, strict=False)]
    return [{**entry, "parts": [*parts, *entry["parts"]]}]


def _responses(entry: Json) -> list[Json]:
    by_model = entry.get("role") == "assistant" or entry.get("type") == "function_call"
    thoughts = _thoughts(entry)[:1] if by_model else []
    summaries = [[{"type": "summary_text", "text": thought}] for thought in thoughts]
    return [*({"type": "reasoning", "id": f"rs_{len(said[0]['text'])}", "summary": said} for said in summaries), entry]


THINKING = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
