"""Recognise "this is too long" in a provider's answer, in whatever words, and the numbers in it.

Law: a rate limit is never taken for an overflow, and text of a model is never taken for an error. The wordings are
rows of overflow.json, by provider.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from yohaku.dialects.answer import sse_events


@dataclass(frozen=True, slots=True)
class Overflow:
    """Tokens, where the provider reports them."""

    limit: int | None = None
    needs: int | None = None
    """Tokens sent; some providers add the tokens requested for the reply."""


def recognise(status: int, body: str | dict[str, Any]) -> Overflow | None:
    """Find an overflow in an error body, or in an error or stop reason inside a stream that began well."""
    if status == 429:
        return None
    if status < 400 and isinstance(body, str) and not _WORTH_READING.search(body):
        return None
    values = _decode_values(body)
    if status in (400, 413) and (not values or values == [{}]) and (isinstance(body, dict) or not body.strip()):
        return Overflow()  # Cerebras says nothing more
    words = [word for value in values for word in (_messages_in(value) if status >= 400 else _errors_in(value))]
    if status >= 400 and isinstance(body, str) and not values:
        words = [body]
    fields = [found for value in values for found in _numbers_in(value)]
    return _judge("\n".join(words), dict(fields))


def _judge(text: str, fields: dict[str, int]) -> Overflow | None:
    table = _table()
    if any(pattern.search(text) for pattern in table.never):
        return None
    found = [match for pattern in table.texts if (match := pattern.search(text))]
    if not found and not any(code in text for code in table.codes):
        return None
    found += [match for pattern in table.numbers if (match := pattern.search(text))]
    said = {name: value for match in reversed(found) for name, value in match.groupdict().items() if value}
    numbers = {name: int(re.sub(r"\D", "", value)) for name, value in said.items()} | fields
    return Overflow(numbers.get("limit"), numbers.get("needs"))


def _decode_values(body: str | dict[str, Any]) -> list[Any]:
    """Decode the JSON in a body: one value, the events of a stream, or one value a line."""
    if not isinstance(body, str):
        return [body]
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return list(sse_events(body)) or [value for line in body.splitlines() for value in _decode_line(line)]
    return value if isinstance(value, list) else [value]


def _decode_line(line: str) -> list[Any]:
    try:
        return [json.loads(line)] if line.startswith("{") else []
    except (ValueError, RecursionError):
        return []


MESSAGE_FIELDS = ("message", "error", "detail", "details", "code", "type", "raw", "msg", "reason", "status", "title")
ECHO_FIELDS = ("input", "messages", "request", "contents", "choices", "output")


def _messages_in(value: Any, key: str = "error") -> Iterator[str]:
    """Yield the messages of an error body, without what it quotes of the request."""
    match value:
        case str() if key in MESSAGE_FIELDS:
            yield value
        case list():
            for item in value:
                yield from _messages_in(item, key)
        case dict():
            for name, item in value.items():
                if name not in ECHO_FIELDS:
                    yield from _messages_in(item, name)


def _errors_in(event: Any) -> Iterator[str]:
    """Yield the errors and stop reasons inside a reply that is not an error as a whole."""
    if not isinstance(event, dict):
        return
    if event.get("type") == "error":
        yield from _messages_in(event)
    yield from _messages_in(event.get("error"))
    for name in ("finish_reason", "stop_reason", "finishReason", "done_reason"):
        yield from _messages_in(event.get(name))
    for name in ("response", "delta", "message"):
        yield from _errors_in(event.get(name))
    for choice in event["choices"] if isinstance(event.get("choices"), list) else ():
        yield from _errors_in(choice)


def _numbers_in(value: Any) -> Iterator[tuple[str, int]]:
    """Yield numbers that have fields of their own."""
    if isinstance(value, dict):
        for name, known in _table().fields.items():
            for key in known:
                if type(value.get(key)) is int:
                    yield name, value[key]
        for name in ("error", "response"):
            yield from _numbers_in(value.get(name))


@dataclass(frozen=True, slots=True)
class _Table:
    never: tuple[re.Pattern[str], ...]
    codes: tuple[str, ...]
    fields: dict[str, list[str]]
    texts: tuple[re.Pattern[str], ...]
    numbers: tuple[re.Pattern[str], ...]
    """Not proof of an overflow, but its size where there is one."""


NUMBER = r"(?P<{}>\d+(?:[,_.'\u00a0\u202f]\d{{3}})*)"

_WORTH_READING = re.compile(r"error|context_window_exceeded")


@cache
def _table() -> _Table:
    rows = json.loads(files("yohaku.dialects").joinpath("overflow.json").read_text("utf-8"))
    texts = (text for pack in rows["texts"].values() for text in pack)
    never, numbers = _compile(rows["never"]), _compile(rows["numbers"])
    return _Table(never, tuple(rows["codes"]), rows["fields"], _compile(texts), numbers)


def _compile(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    limit, needs = NUMBER.format("limit"), NUMBER.format("needs")
    texts = (text.replace("{limit}", limit).replace("{needs}", needs) for text in patterns)
    return tuple(re.compile(text, re.IGNORECASE | re.DOTALL) for text in texts)
