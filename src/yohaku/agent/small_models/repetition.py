"""Detection of models that repeat themselves: the same call with the same result, the same text, a text without end.

Law: repeating a call after a change is no repetition. Each check costs no more than what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from yohaku.core.model import Call, ToolUse
from yohaku.core.originals import ref_of

MIN_TEXT_CHARS = 60
"""Shorter texts are repeated by any model ("Let me look.")."""

MAX_REPEATS = 3
"""Occurrences of the same call with the same result, or of the same text, that count as circling."""

MAX_REPEATS_ACROSS_FOLDINGS = 6
"""The same, where foldings lie between: after each the model may have to look once more."""

MAX_TAIL_CHARS = 4_000
"""Characters at the end of a text that are searched for a repeating piece."""
MIN_LOOP_CHARS = 2_000
"""Characters at the end of a text that must be one piece repeated."""
MIN_LOOP_TIMES = 8
LONG_PIECE_CHARS, LONG_PIECE_TIMES = 24, 16
"""A piece of so many characters, as a line of code, has no end when it comes so often, however short that is."""
PROBE_CHARS = 48
"""Characters at the end by which the piece before is found."""


@dataclass
class RepetitionGuard:
    """Calls and texts of one turn, counted."""

    strict: bool = False
    """Refuse a call that repeats the newest step before it is run."""
    _counts: Counter[str] = field(default_factory=Counter)
    """Calls with their results, and texts."""
    _across: Counter[str] = field(default_factory=Counter)
    """The same since the last change, foldings or not."""
    _newest: frozenset[str] = frozenset()
    """Calls of the newest step."""

    def add_step(self, uses: Iterable[ToolUse], text: str, *, changed: bool) -> None:
        """Count a step; `changed`: one of its calls was to change something, so that reading again makes sense."""
        uses = tuple(uses)
        self._newest = frozenset(_signature(use.call) for use in uses)
        if changed and not any(use.result.error for use in uses):
            self.forget()
            self._across.clear()
        else:
            for use in uses:
                self._count(ref_of(f"{_signature(use.call)}\0{use.result.text}"))
        if len(text) >= MIN_TEXT_CHARS:
            self._count(text)

    def forget(self) -> None:
        """Start over: something was folded, so the model may have to look again; but not for ever."""
        self._counts.clear()
        self._newest = frozenset()

    def _count(self, item: str) -> None:
        self._counts[item] += 1
        self._across[item] += 1

    def warn(self, calls: Iterable[Call]) -> None:
        """Start over after the model was warned, and refuse these calls if it makes them next."""
        self.forget()
        self._across = Counter({item: min(n, MAX_REPEATS_ACROSS_FOLDINGS - 2) for item, n in self._across.items()})
        self.strict, self._newest = True, frozenset(map(_signature, calls))

    def repeats_newest(self, calls: Iterable[Call]) -> bool:
        """Return whether all calls are in the newest step; always False unless the guard is strict."""
        return self.strict and frozenset(map(_signature, calls)) <= self._newest

    @property
    def circling(self) -> bool:
        recent, all_along = (max(counts.values(), default=0) for counts in (self._counts, self._across))
        return recent >= MAX_REPEATS or all_along >= MAX_REPEATS_ACROSS_FOLDINGS


def _signature(call: Call) -> str:
    return f"{call.name} {call.asked}"


def is_endless(text: str) -> bool:
    """Return whether a text ends in one piece over and over."""
    tail = text[-MAX_TAIL_CHARS:]
    before = tail.rfind(tail[-PROBE_CHARS:], 0, len(tail) - 1)
    period = len(tail) - PROBE_CHARS - before
    least = MIN_LOOP_CHARS if period < LONG_PIECE_CHARS else LONG_PIECE_TIMES * period
    least = max(least, period * MIN_LOOP_TIMES)
    if before < 0 or len(tail) < least:
        return False
    loop = tail[-least:]
    return loop[period:] == loop[:-period]


def cut_repetition(text: str) -> str:
    """Return the text with the piece that repeats at its end kept once."""
    tail = text[-MAX_TAIL_CHARS:]
    before = tail.rfind(tail[-PROBE_CHARS:], 0, len(tail) - 1)
    period = len(tail) - PROBE_CHARS - before
    if before < 0 or period < 1:
        return text
    end = len(text)
    while end - 2 * period >= 0 and text[end - period : end] == text[end - 2 * period : end - period]:
        end -= period
    return text[:end]
