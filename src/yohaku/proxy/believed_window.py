"""Token counts in the scale of a window that the client believes in.

Clients that take every model for one of 200,000 tokens watch how full that is. With the counts that they are told
multiplied by (believed window / real one), their meters and their own compaction are right again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

USAGE_FIELDS = ("usage", "usageMetadata", "usage_metadata")
HOLDERS = ("response", "message")
"""Fields of an event that may hold the usage."""
OLLAMA_FIELDS = ("prompt_eval_count", "eval_count")
MARKS = tuple(f'"{name}"'.encode() for name in (*USAGE_FIELDS, *OLLAMA_FIELDS))
MAX_LINE_BYTES = 1 << 22


def scale_usage(value: Any, factor: float) -> Any:
    """Return a reply, or an event of one, with its token counts multiplied."""
    if not isinstance(value, dict):
        return value
    scaled = dict(value)
    for name, inner in value.items():
        if name in USAGE_FIELDS:
            scaled[name] = _scale_counts(inner, factor)
        elif name in HOLDERS:
            scaled[name] = scale_usage(inner, factor)
        elif name in OLLAMA_FIELDS and type(inner) is int:
            scaled[name] = round(inner * factor)
    return scaled


def _scale_counts(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_scale_counts(item, factor) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: round(inner * factor) if type(inner) is int and "token" in name.lower() else _scale_counts(inner, factor)
        for name, inner in value.items()
    }


async def scale_stream(pieces: AsyncIterator[bytes], factor: float) -> AsyncIterator[bytes]:
    """Multiply the counts in a stream of lines; every line without counts passes as the bytes that came."""
    waiting = b""
    async for piece in pieces:
        *lines, waiting = (waiting + piece).split(b"\n")
        if lines:
            yield b"".join(_scale_line(line, factor) + b"\n" for line in lines)
        if len(waiting) > MAX_LINE_BYTES:
            yield waiting
            waiting = b""
    if waiting:
        yield _scale_line(waiting, factor)


async def scale_whole(pieces: AsyncIterator[bytes], factor: float) -> AsyncIterator[bytes]:
    """Multiply the counts in a reply of one piece."""
    data = b"".join([piece async for piece in pieces])
    yield _scale_json(data, factor)


def _scale_line(line: bytes, factor: float) -> bytes:
    if not any(mark in line for mark in MARKS):
        return line
    head = b"data: " if line.startswith(b"data: ") else b"data:" if line.startswith(b"data:") else b""
    end = b"\r" if line.endswith(b"\r") else b""
    return head + _scale_json(line[len(head) : len(line) - len(end)], factor) + end


def _scale_json(data: bytes, factor: float) -> bytes:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return data
    if isinstance(value, list):  # Gemini's streams without events
        return msgspec.json.encode([scale_usage(item, factor) for item in value])
    return msgspec.json.encode(scale_usage(value, factor)) if isinstance(value, dict) else data
