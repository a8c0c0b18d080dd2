"""Read along in a reply for the tokens that the provider counted, so that our estimates are right from then on.

Law: the reply passes as the bytes that came. No more than its beginning and its end are kept, until it is over.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from yohaku.core.errors import BadSetting
from yohaku.dialects.answer import PROMPT_FIELDS, prompt_tokens

USAGE_FIELDS = (b'"usage"', b'"usageMetadata"')
COUNT_FIELDS = (b'"prompt_eval_count"',)
"""Counts that stand alone."""
KEPT_BYTES = 16_384
"""Of the beginning and of the end of a reply."""
MAX_TRIES = 4
"""Usages to look at in either."""
_DECODER = json.JSONDecoder()


async def watch_usage(pieces: AsyncIterator[bytes], learn: Callable[[int], None]) -> AsyncIterator[bytes]:
    """Relay a reply; `learn` gets the tokens of its prompt at the end, where they are told."""
    head, tail = b"", b""
    async for piece in pieces:
        if len(head) < KEPT_BYTES:
            head += piece[: KEPT_BYTES - len(head)]
        tail = (tail + piece)[-KEPT_BYTES:]
        yield piece
    if found := read_prompt_tokens(tail) or read_prompt_tokens(head):
        learn(found)


def read_prompt_tokens(data: bytes) -> int:
    """Return the last count of prompt tokens in a piece of a reply; 0 where there is none."""
    text = data.decode("utf-8", "replace")
    for field in (*USAGE_FIELDS, *COUNT_FIELDS):
        at = len(text)
        for _ in range(MAX_TRIES):
            at = text.rfind(field.decode(), 0, at)
            if at < 0:
                break
            if tokens := _count_at(text, at + len(field)):
                return tokens
    return 0


def _count_at(text: str, at: int) -> int:
    start = text.find(":", at)
    try:
        value: Any = _DECODER.raw_decode(text[start + 1 :].lstrip())[0] if start >= 0 else None
        known = type(value) is int or (isinstance(value, dict) and any(name in value for name in PROMPT_FIELDS))
        return max(0, prompt_tokens(value)) if known else 0
    except (ValueError, RecursionError, BadSetting, TypeError):
        return 0
