"""Replay of one recorded session at one window with one recipe: fit every step, compare it with the recorded reply.

Law: a step that is refused, over the limit or malformed shows nothing. Scores come from the entries that would be
sent, never from the engine's own figures. A request is priced by the longest prefix it shares with the one before it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from yohaku.core.errors import DoesNotFit, UnknownRef
from yohaku.core.meter import Meter
from yohaku.lab.baselines import Baseline, BaselineInput, cap, last3, last10, none, random, sliding
from yohaku.lab.entries import Entry, content_texts, problem, weigh
from yohaku.lab.oracle import oracle
from yohaku.lab.recorded_session import RecordedSession, Target
from yohaku.lab.visibility import Recall, VisibilityScore, VisibilityScorer
from yohaku.session.session import Session

BASELINES: dict[str, Baseline] = {
    "none": none,
    "sliding": sliding,
    "last3": last3,
    "last10": last10,
    "cap": cap,
    "random": random,
    "oracle": oracle,
}
CACHE_READ_PRICE, CACHE_WRITE_PRICE = 0.1, 1.25
"""As shares of the plain price of a prompt token."""

Fit: TypeAlias = Callable[[Target], "list[Entry] | None"]
"""Returns the entries to send before a target, or None to refuse."""


@dataclass
class ReplayTotals:
    """Sums over the steps of one session. `yohaku.lab.report` makes shares and means of them."""

    steps: int = 0
    sent: int = 0
    unsent: Counter[str] = field(default_factory=Counter)
    """By reason: refused, over, malformed."""
    hits: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    f1: list[float] = field(default_factory=list)
    fabricated: set[str] = field(default_factory=set)
    tokens: int = 0
    cost: float = 0.0
    breaks: int = 0
    seconds: float = 0.0

    def add_request(self, sent: SentRequest) -> None:
        self.sent += 1
        self.tokens += sent.tokens
        self.cost += sent.cost
        self.breaks += sent.broken

    def add_score(self, target: Target, found: VisibilityScore) -> None:
        for name, wanted in (("all", target.all), ("tool", target.tool), ("far", target.far)):
            self._add(name, len(wanted - found.missing), len(wanted))
        self._add("by_ref", found.openable, len(found.missing))
        self._add("rules", found.rules, found.of_rules)
        self.fabricated |= found.fabricated
        if found.f1 is not None:
            self.f1.append(found.f1)

    def _add(self, name: str, hits: int, of: int) -> None:
        self.hits[name] += hits
        self.of[name] += of


def replay(recorded: RecordedSession, window: int, recipe: str, meter: Meter, model: str) -> ReplayTotals | None:
    """Return None if the system prompt alone is over the limit: no recipe can change that."""
    name = "auto" if recipe in BASELINES else recipe
    session = Session(window, recipe=name, model=model, dialect="openai_chat", meter=meter)
    limit = session.budget.limit
    if recorded.fixed + recorded.system > limit:
        return None
    fit, recall = (
        _use_baseline(recorded, recipe, meter, limit) if recipe in BASELINES else _use_engine(recorded, session)
    )
    totals, scorer, requests = ReplayTotals(), VisibilityScorer(recorded, recall), RequestLog(recorded, meter, limit)
    for target in recorded.targets:
        if recipe == "oracle" and not target.scored:
            continue  # it would not know what the next reply needs
        start = time.process_time()
        shown = fit(target)
        totals.seconds += time.process_time() - start
        totals.steps += 1
        sent = "refused" if shown is None else requests.send(shown)
        if isinstance(sent, SentRequest):
            totals.add_request(sent)
        else:
            totals.unsent[sent] += 1
            shown = None
        if target.scored:
            totals.add_score(target, scorer.score(target, shown or []))
    return totals


def _use_engine(recorded: RecordedSession, session: Session) -> tuple[Fit, Recall]:
    def fit(target: Target) -> list[Entry] | None:
        try:
            out: Any = session.fit(recorded.body(recorded.entries[: target.at]))
        except DoesNotFit:
            return None
        shown: list[Entry] = out["messages"] if isinstance(out, dict) else out
        return shown

    def recall(ref: str) -> str:
        try:
            found = session.recall(ref)
        except UnknownRef:
            return ""
        return found if isinstance(found, str) else ""

    return fit, recall


def _use_baseline(recorded: RecordedSession, name: str, meter: Meter, limit: int) -> tuple[Fit, Recall]:
    given, baseline = BaselineInput(recorded, meter, limit - recorded.fixed), BASELINES[name]
    return lambda target: baseline(given, target), lambda ref: ""


class SentRequest(NamedTuple):
    tokens: int
    cost: float
    """In plain prompt tokens."""
    broken: bool
    """True unless the request before it is a prefix of it."""


class RequestLog:
    """Checks each request and prices it as a prompt cache would."""

    def __init__(self, recorded: RecordedSession, meter: Meter, limit: int) -> None:
        self.recorded, self.meter, self.limit = recorded, meter, limit
        self._known = {id(e): weight for e, weight in zip(recorded.entries, recorded.weights, strict=True)}
        self._last: list[Entry] = []
        self._weights: list[int] = []

    def send(self, shown: list[Entry]) -> SentRequest | str:
        """Return its price, or the reason why it cannot be sent."""
        count = len(self._last)
        grown = 0 < count < len(shown) and shown[:count] == self._last
        weights = [*self._weights, *map(self._weigh, shown[count:])] if grown else [*map(self._weigh, shown)]
        total = self.recorded.fixed + sum(weights)
        if total > self.limit:
            return "over"
        # The request before was well formed with all calls answered, so only the added entries need a check.
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
        cost = CACHE_READ_PRICE * cached + CACHE_WRITE_PRICE * (total - cached)
        return SentRequest(total, cost, count > 0 and not same)

    def _weigh(self, entry: Entry) -> int:
        weight = self._known.get(id(entry))
        return weigh(entry, self.meter) if weight is None else weight

    def _shared(self, shown: list[Entry], weights: list[int]) -> int:
        """Count the tokens of the longest prefix shared with the last request."""
        for at, (old, new) in enumerate(zip(self._last, shown, strict=False)):
            if old is not new and old != new:
                return sum(weights[:at]) + self._shared_inside(old, new)
        return sum(weights[: len(self._last)])

    def _shared_inside(self, old: Entry, new: Entry) -> int:
        if old["role"] != new["role"]:
            return 0
        one, other = ("\n".join(content_texts(entry)) for entry in (old, new))
        return self.meter.count(one[: common_prefix(one, other)])


def common_prefix(one: str, other: str) -> int:
    """Return the length of the longest common prefix, by bisection."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
