"""A server's answer: the reply, why it stopped, the tokens it cost; and the parser of its event stream.

Law: a stream is parsed once. What was passed on while it came is what stands in the answer.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from yohaku.core.errors import BadSetting, Malformed, YohakuError
from yohaku.core.model import Reply, Text
from yohaku.dialects.json_values import Json

PROMPT_FIELDS = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count", "prompt_eval_count")
CACHE_FIELDS = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts these beside its input tokens; elsewhere they are part of the prompt."""

OUTPUT_FIELDS = (
    "completion_tokens", "output_tokens", "eval_count",
    # Gemini counts thoughts apart; elsewhere they are part of the output.
    "candidatesTokenCount", "thoughtsTokenCount", "candidates_token_count", "thoughts_token_count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed for one exchange."""

    input: int = 0
    """Neither read from nor written to a prompt cache."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output

    @staticmethod
    def split(prompt: int, read: int, written: int, output: int) -> Usage:
        """Split a prompt reported as a whole; a router may report the same tokens as read and as written."""
        read = min(read, prompt)
        written = min(written, prompt - read)
        return Usage(prompt - read - written, read, written, output)


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer to a request, received in one piece or as a stream."""

    reply: Reply
    usage: Usage | None = None
    stop: str = ""
    """Why the reply ended, in the server's own word."""

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.reply.items if isinstance(item, Text))


class Delta(NamedTuple):
    """Text that one event adds to a reply."""

    text: str = ""
    thought: str = ""


class StreamReader(ABC):
    """Parser of one event stream. Feed it every event in order, then take the answer.

    A subclass implements `add` and `finish`.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._malformed: YohakuError | None = None

    def feed(self, event: dict[str, Json]) -> Delta:
        """Read an event and return what it adds. Never raises: a malformed event is reported by `answer`."""
        self._texts, self._thoughts = [], []
        try:
            self.add(event)
        except YohakuError as wrong:
            self._malformed = self._malformed or wrong
        except RecursionError:
            self._malformed = self._malformed or Malformed("this is nested too deeply", "reply")
        return Delta("".join(self._texts), "".join(self._thoughts))

    def answer(self) -> Answer:
        """Return the answer in all events so far, or raise `Malformed`."""
        if self._malformed:
            raise self._malformed
        return self.finish()

    @abstractmethod
    def add(self, event: dict[str, Json]) -> None:
        """Collect an event, and pass new text to `say` and `think` before anything that may be malformed."""

    @abstractmethod
    def finish(self) -> Answer:
        """Build the answer from what was collected."""

    def say(self, text: Json) -> None:
        if text and isinstance(text, str):
            self._texts.append(text)

    def think(self, text: Json) -> None:
        if text and isinstance(text, str):
            self._thoughts.append(text)


def sse_events(stream: str) -> Iterator[dict[str, Json]]:
    """Yield the JSON objects in `data:` fields; other lines, `[DONE]` and a torn last event are skipped."""
    for block in stream.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        yield from _decode(data)


def line_events(stream: str) -> Iterator[dict[str, Json]]:
    """Yield the JSON objects of a stream that has one in each line."""
    for line in stream.split("\n"):  # not splitlines: a text may hold other characters that end a line
        yield from _decode(line)


def _decode(text: str) -> Iterator[dict[str, Json]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value


def error_in(event: Json) -> Json:
    """Return the error that an event reports, or None."""
    match event:
        case {"type": "error"} | {"error": str() | dict()}:
            return event if event.get("error", True) else None
        case {"type": "response.failed", "response": {"error": dict(error)}}:
            return {"error": error}
    return None


def prompt_tokens(usage: Any) -> int:
    """Return the prompt tokens in a usage block of any provider: a dictionary, an SDK's object, or their number."""
    if isinstance(usage, int) and not isinstance(usage, bool):
        return usage
    for name in PROMPT_FIELDS:
        if isinstance(found := _get(usage, name), int):
            return found + sum(_get(usage, beside) or 0 for beside in CACHE_FIELDS)
    raise BadSetting(f"no prompt tokens in this usage: {str(usage)[:80]!r}; give their number")


def total_tokens(usage: Any) -> int:
    """Return the tokens of the prompt and its answer, with which the next prompt begins. A number stands for both."""
    output = (_get(usage, name) or 0 for name in OUTPUT_FIELDS) if not isinstance(usage, int) else ()
    return prompt_tokens(usage) + sum(number for number in output if isinstance(number, int))


def _get(usage: Any, name: str) -> Any:
    return usage.get(name) if isinstance(usage, dict) else getattr(usage, name, None)
