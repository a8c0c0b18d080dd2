"""A model that goes round in circles, noticed: the same call with the same result, the same words, a text without end.

Law: looking again after something was changed is no circle. Each look costs no more than what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from yohaku.core.fold import ref_of
from yohaku.core.model import Call, Result

WORDS = 60
"""Characters. Shorter texts are said again and again by anybody ("Let me look.")."""

LOOKED = 4_000
"""Characters at the end of a text that are looked at for a circle."""
CIRCLE = 2_000
"""Characters that must be one piece over and over, and how often at least."""
TIMES = 8
SIGN = 48
"""Characters by which a piece is found again."""


@dataclass
class Repeats:
    """Of one prompt's work."""

    patience: int = 2
    """How often the same may come of the same before the model is asked to do without tools."""
    _seen: Counter[str] = field(default_factory=Counter)
    """Calls with their results, and texts."""
    _made: set[str] = field(default_factory=set)
    """Calls alone."""

    def used(self, call: Call, result: Result, changed: bool) -> None:
        """A call and what came of it; `changed` when it changed something, so that looking again makes sense."""
        if changed and not result.error:
            self._seen.clear()
            self._made.clear()
        else:
            self._seen[ref_of("\0".join((call.name, call.asked, result.text)))] += 1
            self._made.add(f"{call.name} {call.asked}")

    def said(self, text: str) -> None:
        """What the model said beside its calls."""
        if len(text) >= WORDS:
            self._seen[text] += 1

    def again(self, calls: Iterable[Call]) -> bool:
        """Whether an impatient reader need not even run these: each was made before, and nothing has changed since."""
        return self.patience < 2 and all(f"{call.name} {call.asked}" in self._made for call in calls)

    @property
    def circling(self) -> bool:
        """Time to ask once more, without tools; and if that was done, to stop."""
        return max(self._seen.values(), default=0) > self.patience


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
