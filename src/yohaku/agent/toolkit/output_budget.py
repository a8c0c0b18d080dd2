"""How much a tool may still give: a context variable, so that no tool's signature knows of it.

Law: what does not fit is not built first and thrown away then; without a room the tools' own caps hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from yohaku.core.meter import Meter

LONGEST = 8
"""Bytes a token holds at most, as far as it pays to read on: vocabularies have 3 to 5 in English and code."""
LEAST = 64
"""Tokens a tool may always give: enough to say that there is no room."""


@dataclass(slots=True)
class OutputBudget:
    tokens: int
    meter: Meter
    spent: int = 0
    """By the calls of this step that have come back; calls that run at once share one room."""

    @property
    def left(self) -> int:
        return max(LEAST, self.tokens - self.spent)


_ROOM: ContextVar[OutputBudget | None] = ContextVar("room", default=None)


@contextmanager
def open(tokens: int, meter: Meter) -> Iterator[OutputBudget]:  # noqa: A001
    """Within it, tools give at most so many tokens, all together."""
    room = OutputBudget(tokens, meter)
    before = _ROOM.set(room)
    try:
        yield room
    finally:
        _ROOM.reset(before)


def left() -> int | None:
    """Tokens; None where there is no room but the caps."""
    room = _ROOM.get()
    return room.left if room else None


def size(cap: int) -> int:
    """Bytes worth reading: the cap, or less where so many could not be given."""
    room = _ROOM.get()
    return min(cap, room.left * LONGEST) if room else cap


def fits(text: str) -> bool:
    """Whether there is room for a text. Long ones are refused without being counted."""
    room = _ROOM.get()
    return room is None or (len(text) <= room.left * LONGEST and room.meter.count(text) <= room.left)


def take(text: str) -> None:
    """What was given is no longer left."""
    room = _ROOM.get()
    if room:
        room.spent += room.meter.count(text)


def head(text: str, note: str = "") -> tuple[str, bool]:
    """As many whole lines from the beginning as there is room for beside the note, and whether that is less."""
    cut = _cut(text, note, 1.0)
    return (text, False) if cut is None else (cut, True)


def ends(text: str, note: str, share: float = 0.5) -> tuple[str, bool]:
    """The beginning and the end, with the note between them, and whether something had to go."""
    cut = _cut(text, note, share)
    return (text, False) if cut is None else (cut, True)


def _cut(text: str, note: str, share: float) -> str | None:
    """None where all of it fits."""
    room = _ROOM.get()
    if room is None or fits(text):
        return None
    count, tokens = room.meter.count, room.left - room.meter.count(note) - 2
    text = _outer(text, tokens * LONGEST, share)
    keep = int(len(text) * tokens / max(1, count(text)))
    for _ in range(12):
        first = text[: int(keep * share)]
        last = text[len(text) - (keep - len(first)) :] if keep > len(first) else ""
        shown = "\n".join(filter(None, (_whole(first, end=False), note, _whole(last, end=True))))
        weight = count(shown)
        if weight <= room.left:
            return shown
        keep = int(keep * min(0.9, 0.95 * tokens / weight)) if tokens > 0 else 0
    return note


def _outer(text: str, most: int, share: float) -> str:
    """What of a long text could be shown at all, so that it is not counted whole."""
    most = max(1, most)
    if len(text) <= 2 * most:
        return text
    return text[:most] if share >= 1 else text[:most] + "\n" + text[-most:]


def _whole(side: str, *, end: bool) -> str:
    """Without the part of a line where it was cut, unless that is most of it."""
    if end:
        return side[side.index("\n") + 1 :] if "\n" in side[: len(side) // 2] else side
    return side[: side.rindex("\n")] if "\n" in side[len(side) // 2 :] else side
