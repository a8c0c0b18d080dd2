"""Originals of folded parts: pieces by their slot, turns rendered as text, and content addresses (refs).

Law: the same original has the same ref everywhere, and texts are kept verbatim.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from yohaku.core.model import Call, Opaque, Part, Step, Text, ToolUse, Turn


class Slot(NamedTuple):
    """Place of a piece inside a turn or step."""

    where: Literal["prompt", "item", "result", "argument", "thought"]
    item: int
    """Index among the prompt's parts, the step's items without its thoughts, or its thoughts."""
    part: int | str = 0
    """Index of the result's part, or name of the argument."""


class OutputRef(NamedTuple):
    """Ref of all that a tool gave, with its size: data of the message, never sent to a provider."""

    id: str
    byte_size: int
    line_count: int
    """Lines, separated by line feeds; the last may have none."""


def replace_arguments(arguments: str, texts: Mapping[str, str]) -> str:
    """Return the arguments as compact JSON with some values replaced."""
    return json.dumps({**_parse_arguments(arguments), **texts}, ensure_ascii=False, separators=(",", ":"))


def argument_text(call: Call, name: int | str) -> str:
    value = _parse_arguments(call.arguments)[str(name)]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def arguments_of(arguments: str) -> dict[str, Any]:
    """Return the arguments by name; none if they are not an object or have a number too big to be written again."""
    return dict(_parse_arguments(arguments))


@lru_cache(16)
def _parse_arguments(arguments: str) -> Mapping[str, Any]:
    """Parse once for all arguments of a call: one may have thousands."""
    try:
        values = json.loads(arguments, parse_float=_parse_finite)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _parse_finite(number: str) -> float:
    if math.isinf(float(number)):
        raise ValueError(number)
    return float(number)


def original_at(owner: Turn | Step, slot: Slot) -> str | bytes:
    if isinstance(owner, Turn):
        return original_of(owner.prompt[slot.item])
    if slot.where == "thought":
        return original_of(owner.thoughts[slot.item])
    item = owner.solid[slot.item]
    if not isinstance(item, ToolUse):
        return original_of(item)
    if slot.where == "argument":
        return argument_text(item.call, slot.part)
    return original_of(item.result.parts[int(slot.part)])


def original_of(part: Part) -> str | bytes:
    """Return the text of a part, the bytes of an image, or the JSON of an unknown block."""
    if isinstance(part, Text):
        return part.text
    if part.form == "base64":
        try:
            return base64.b64decode(part.data, validate=True)
        except ValueError:
            return part.data
    return part.data


def render_turns(turns: Iterable[Turn]) -> str:
    """Return a transcript of the turns: every text verbatim, an image or document as its own ref."""
    return "\n\n".join(render_entries(turns))


def ref_of_turns(turns: Iterable[Turn]) -> str:
    """Return the ref of `render_turns(turns)`.

    Encodes entry by entry: one Japanese character would double the memory of the whole joined text.
    """
    return ref_of(b"\n\n".join([entry.encode("utf-8", "surrogatepass") for entry in render_entries(turns)]))


def render_entries(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield the transcript in its entries: a part of a prompt, a text of a reply, a call, a result."""
    for turn in turns:
        for part in turn.prompt:
            yield f"## {_speaker(part)}\n{_render_part(part)}"
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, ToolUse):
                    yield f"## call {item.call.name}\n{item.call.arguments}"
                    title = "## error" if item.result.error else "## result"
                    yield "\n".join([title, *map(_render_part, item.result.parts)])
                else:
                    yield f"## assistant\n{_render_part(item)}"


def _speaker(part: Part) -> str:
    return part.by if isinstance(part, Text) and part.by else "user"


def _render_part(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return (
        f"[{part.kind} {part.mime}; ref={ref_of(original_of(part))}]"
        if is_media(part)
        else f"[{part.kind}]\n{part.data}"
    )


def parts_of(turns: Iterable[Turn]) -> Iterator[Part]:
    for turn in turns:
        yield from turn.prompt
        for item in (item for step in turn.steps for item in step.items):
            if isinstance(item, ToolUse):
                yield from item.result.parts
            else:
                yield item


def ref_of(original: str | bytes) -> str:
    """Return the content address of an original: short enough to show, long enough not to collide (60 bits)."""
    data = original.encode("utf-8", "surrogatepass") if isinstance(original, str) else original
    number = int.from_bytes(sha256(data).digest()[:8], "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in (50, 40, 30, 20, 10, 0)])


def output_ref_of(text: str) -> OutputRef:
    data = text.encode("utf-8", "surrogatepass")
    return OutputRef(ref_of(data), len(data), data.count(b"\n") + (data[-1:] not in (b"", b"\n")))


_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]


def is_media(part: Part) -> bool:
    """Test for a part that a text may replace. Providers would refuse that for a signed thought or an unknown block."""
    return isinstance(part, Opaque) and part.kind in ("image", "document", "audio", "video")
