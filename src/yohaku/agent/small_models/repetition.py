"""A model that goes round in circles, noticed: the same call with the same result, the same words, a text without end.

Law: looking again after something was changed is no circle. Each look costs no more than what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from yohaku.core.folds import ref_of
from yohaku.core.model import Call, Result

WORDS = 60
"""Characters. Shorter texts are said again and again by anybody ("Let me look.")."""

TIMES_SEEN = 3
"""The same call with the same result, or the same words, so often are a circle."""

LOOKED = 4_000
"""Characters at the end of a text that are looked at for a circle."""
CIRCLE = 2_000
"""Characters that must be one piece over and over, and how often at least."""
TIMES = 8
SIGN = 48
"""Characters by which a piece is found again."""


@dataclass
class RepetitionGuard:
    """Of one prompt's work."""

    hasty: bool = False
    """For small models: the call they have just made need not be made again to know what comes of it."""
    _seen: Counter[str] = field(default_factory=Counter)
    """Calls with their results, and texts."""
    _last: frozenset[str] = frozenset()
    """Calls of the newest step."""

    def stepped(self, calls: Iterable[Call], results: Mapping[str, Result], text: str, changed: bool) -> None:
        """A step was made; `changed` when a call of it was to change something, so that looking again makes sense."""
        self._last = frozenset(map(_sign, calls))
        if changed and not any(result.error for result in results.values()):
            self.forget()
        else:
            for call in calls:
                self._seen[ref_of(f"{_sign(call)}\0{results[call.id].text}")] += 1
        if len(text) >= WORDS:  # said beside the calls
            self._seen[text] += 1

    def forget(self) -> None:
        """What was seen may have to be looked at again: something changed, or was folded away."""
        self._seen.clear()
        self._last = frozenset()

    def warned(self, calls: Iterable[Call]) -> None:
        """The model was told that it repeats itself: it begins anew, but for these very calls."""
        self.forget()
        self.hasty, self._last = True, frozenset(map(_sign, calls))

    def again(self, calls: Iterable[Call]) -> bool:
        """Whether the very same calls are made that were made just now."""
        return self.hasty and frozenset(map(_sign, calls)) <= self._last

    @property
    def circling(self) -> bool:
        """Time to say so to the model; and if that was done, to stop."""
        return max(self._seen.values(), default=0) >= TIMES_SEEN


def _sign(call: Call) -> str:
    return f"{call.name} {call.asked}"


def endless(text: str) -> bool:
    """Whether a text ends in one piece over and over, as small models do that cannot find an end."""
    tail = text[-LOOKED:]
    if len(tail) < CIRCLE:
        return False
    before = tail.rfind(tail[-SIGN:], 0, len(tail) - 1)
    period = len(tail) - SIGN - before
    if before < 0 or period * TIMES > len(tail):
        return False
    size = max(CIRCLE, period * TIMES)
    circle = tail[-size:]
    return circle[period:] == circle[:-period]


def once(text: str) -> str:
    """The text up to where it begins to go round, and that piece once."""
    tail = text[-LOOKED:]
    before = tail.rfind(tail[-SIGN:], 0, len(tail) - 1)
    period = len(tail) - SIGN - before
    if before < 0 or period < 1:
        return text
    end = len(text)
    while end - 2 * period >= 0 and text[end - period : end] == text[end - 2 * period : end - period]:
        end -= period
    return text[:end]
