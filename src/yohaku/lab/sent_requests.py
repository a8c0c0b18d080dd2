"""What is sent, request by request: whether it may be, what it weighs, and what a prompt cache would know of it.

Law: a request is priced against the one sent before it, by the longest beginning the two share.
"""

from __future__ import annotations

from typing import NamedTuple

from yohaku.core.meter import Meter
from yohaku.lab.entries import Entry, content_texts, problem, weigh
from yohaku.lab.recorded_session import RecordedSession

READ, WRITTEN = 0.1, 1.25
"""Price of a token read from the prompt cache, and of one written to it."""


class SentRequest(NamedTuple):
    tokens: int
    cost: float
    broken: bool
    """Whether the request before this is no beginning of it."""


class RequestLog:
    def __init__(self, recorded: RecordedSession, meter: Meter, limit: int) -> None:
        self.recorded, self.meter, self.limit = recorded, meter, limit
        self._known = {id(e): weight for e, weight in zip(recorded.entries, recorded.weights, strict=True)}
        self._last: list[Entry] = []
        self._weights: list[int] = []

    def send(self, shown: list[Entry]) -> SentRequest | str:
        """What it costs, or why it cannot be sent."""
        count = len(self._last)
        grown = 0 < count < len(shown) and shown[:count] == self._last
        weights = [*self._weights, *map(self._weigh, shown[count:])] if grown else [*map(self._weigh, shown)]
        total = self.recorded.fixed + sum(weights)
        if total > self.limit:
            return "over"
        # What goes on from something sound, all of whose calls were answered, is sound where what was added is.
        wrong = (
            problem(shown[count:], "assistant", self.recorded.empty)
            if grown
            else problem(shown, self.recorded.begins, self.recorded.empty)
        )
        if wrong:
            return "malformed"
        same = grown or shown == self._last
        cached = self.recorded.fixed + (sum(self._weights) if same else self._shared(shown, weights)) if count else 0
        self._last, self._weights = list(shown), weights
        return SentRequest(total, READ * cached + WRITTEN * (total - cached), count > 0 and not same)

    def _weigh(self, entry: Entry) -> int:
        weight = self._known.get(id(entry))
        return weigh(entry, self.meter) if weight is None else weight

    def _shared(self, shown: list[Entry], weights: list[int]) -> int:
        """Tokens of the longest beginning that was sent last time, too."""
        for at, (old, new) in enumerate(zip(self._last, shown, strict=False)):
            if old is not new and old != new:
                return sum(weights[:at]) + self._inside(old, new)
        return sum(weights[: len(self._last)])

    def _inside(self, old: Entry, new: Entry) -> int:
        if old["role"] != new["role"]:
            return 0
        one, other = ("\n".join(content_texts(entry)) for entry in (old, new))
        return self.meter.count(one[: common(one, other)])


def common(one: str, other: str) -> int:
    """How long the beginning is that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
