"""Writer of a reply, in one piece or event by event, and what the request asks for beside its conversation."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from yohaku.core.model import Call
from yohaku.dialects.answer import Answer, Delta, Usage
from yohaku.dialects.json_values import Json, object_or_empty


class RequestOptions(NamedTuple):
    """Fields of a request that another dialect can say too; None where the client leaves them to the server."""

    stream: bool = False
    in_list: bool = False
    """A reply in one piece is to stand in a list."""
    limit: int | None = None
    """Tokens of the reply."""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    schema: Json = None
    """JSON schema of the reply; an empty object for JSON of any form."""
    effort: str = ""
    """How much to think: "low", "medium", "high", or "none"."""
    uses_tools: bool = True
    tells_usage: bool = False
    """Token counts are asked for at the end of a stream."""
    custom_tools: frozenset[str] = frozenset()
    """Tools that take a text in place of arguments."""


class ReplyFacts(NamedTuple):
    """Facts around a reply: its id, time and model, and what the request asked for."""

    id: str
    created: int
    model: str
    prompt: int = 0
    """Tokens of the request by our count, for dialects that tell them before the server has."""
    options: RequestOptions = RequestOptions()


class ReplyWriter(ABC):
    """Writes one reply. `begin`, `add` and `end` return the events of a stream; `whole` the same in one piece."""

    closing: ClassVar[str] = ""
    """Ends a stream, after its last event."""
    stream_type: ClassVar[str] = "text/event-stream"

    def __init__(self, facts: ReplyFacts) -> None:
        self.facts = facts

    @abstractmethod
    def begin(self) -> list[Json]: ...

    @abstractmethod
    def add(self, delta: Delta) -> list[Json]: ...

    @abstractmethod
    def end(self, answer: Answer, cut_off: bool) -> list[Json]:
        """Write what closes a stream: calls, the reason it stopped, usage. `cut_off`: it reached its token limit."""

    @abstractmethod
    def whole(self, answer: Answer, cut_off: bool) -> Json: ...

    def fail(self, error: Json) -> list[Json]:
        """Write an error in the middle of a stream; `error` is the dialect's own error body."""
        return [error]

    def encode(self, events: list[Json]) -> bytes:
        return "".join(map(self.event_text, events)).encode()

    def event_text(self, event: Json) -> str:
        name = f"event: {event['type']}\n" if "type" in event else ""
        return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n"

    def usage(self, answer: Answer) -> Usage:
        return answer.usage or Usage(input=self.facts.prompt)


def custom_input(call: Call) -> str:
    """Return the text that a custom tool is given, from arguments that hold it."""
    try:
        given = object_or_empty(json.loads(call.arguments)).get("input")
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, str) else call.arguments


def number_or_none(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count_or_none(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Return stop words, which may stand alone."""
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(text for text in found if isinstance(text, str) and text)


EFFORTS = {"none": "none", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}


def effort_of(value: Any) -> str:
    return EFFORTS.get(value, "") if isinstance(value, str) else ""
