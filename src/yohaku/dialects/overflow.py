"""Recognises "this is too long" in what a provider answers, in whatever words, and the numbers it gives.

Law: a rate limit is never taken for an overflow, and what a model says is never taken for an error. The words
themselves are rows of overflow.json, by provider.
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
    """Tokens, where the provider says."""

    limit: int | None = None
    needs: int | None = None
    """What was sent; some providers count the room asked for the reply into it."""


def recognise(status: int, body: str | dict[str, Any]) -> Overflow | None:
    """The overflow a reply tells of: an error body, or an error or stop reason inside a stream that began well."""
    if status == 429:
        return None
    if status < 400 and isinstance(body, str) and not _WORTH_READING.search(body):
        return None
    values = _values(body)
    if status in (400, 413) and (not values or values == [{}]) and (isinstance(body, dict) or not body.strip()):
        return Overflow()  # Cerebras says nothing more
    words = [word for value in values for word in (_words(value) if status >= 400 else _complaints(value))]
    if status >= 400 and isinstance(body, str) and not values:
        words = [body]
    fields = [found for value in values for found in _fields(value)]
    return _judged("\n".join(words), dict(fields))


def _judged(text: str, fields: dict[str, int]) -> Overflow | None:
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


def _values(body: str | dict[str, Any]) -> list[Any]:
    """The JSON in a body: one value, the events of a stream, or one value a line."""
    if not isinstance(body, str):
        return [body]
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return list(sse_events(body)) or [value for line in body.splitlines() for value in _line(line)]
    return value if isinstance(value, list) else [value]


def _line(line: str) -> list[Any]:
    try:
        return [json.loads(line)] if line.startswith("{") else []
    except (ValueError, RecursionError):
        return []


SPEAKING = ("message", "error", "detail", "details", "code", "type", "raw", "msg", "reason", "status", "title")
ECHOED = ("input", "messages", "request", "contents", "choices", "output")


def _words(value: Any, key: str = "error") -> Iterator[str]:
    """What an error body says, without what it quotes of the request."""
    match value:
        case str() if key in SPEAKING:
            yield value
        case list():
            for item in value:
                yield from _words(item, key)
        case dict():
            for name, item in value.items():
                if name not in ECHOED:
                    yield from _words(item, name)


def _complaints(event: Any) -> Iterator[str]:
    """What is an error or a stop reason in a reply that is none as a whole."""
    if not isinstance(event, dict):
        return
    if event.get("type") == "error":
        yield from _words(event)
    yield from _words(event.get("error"))
    for name in ("finish_reason", "stop_reason", "finishReason", "done_reason"):
        yield from _words(event.get(name))
    for name in ("response", "delta", "message"):
        yield from _complaints(event.get(name))
    for choice in event["choices"] if isinstance(event.get("choices"), list) else ():
        yield from _complaints(choice)


def _fields(value: Any) -> Iterator[tuple[str, int]]:
    """Numbers that have fields of their own."""
    if isinstance(value, dict):
        for name, known in _table().fields.items():
            for key in known:
                if type(value.get(key)) is int:
                    yield name, value[key]
        for name in ("error", "response"):
            yield from _fields(value.get(name))


@dataclass(frozen=True, slots=True)
class _Table:
    never: tuple[re.Pattern[str], ...]
    codes: tuple[str, ...]
    fields: dict[str, list[str]]
    texts: tuple[re.Pattern[str], ...]
    numbers: tuple[re.Pattern[str], ...]
    """Not proof of an overflow, but beside one they say how big it is."""


NUMBER = r"(?P<{}>\d+(?:[,_.'\u00a0\u202f]\d{{3}})*)"

_WORTH_READING = re.compile(r"error|context_window_exceeded")


@cache
def _table() -> _Table:
    rows = json.loads(files("yohaku.dialects").joinpath("overflow.json").read_text("utf-8"))
    texts = (text for pack in rows["texts"].values() for text in pack)
    never, numbers = _compiled(rows["never"]), _compiled(rows["numbers"])
    return _Table(never, tuple(rows["codes"]), rows["fields"], _compiled(texts), numbers)


def _compiled(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    limit, needs = NUMBER.format("limit"), NUMBER.format("needs")
    texts = (text.replace("{limit}", limit).replace("{needs}", needs) for text in patterns)
    return tuple(re.compile(text, re.IGNORECASE | re.DOTALL) for text in texts)
