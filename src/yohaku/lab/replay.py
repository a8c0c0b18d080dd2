"""One recorded session, one window, one recipe: every step fitted, what was shown compared with what came next.

Law: a step that is refused, over the limit or malformed shows nothing. What is measured is the entries that would be
sent, never what the engine says about them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from yohaku.core.errors import DoesNotFit, UnknownRef
from yohaku.core.meter import Meter
from yohaku.lab.baseline_input import BaselineInput
from yohaku.lab.baselines import CONTROLS
from yohaku.lab.entries import Entry
from yohaku.lab.recorded_session import RecordedSession, Target
from yohaku.lab.sent_requests import RequestLog, SentRequest
from yohaku.lab.visibility import Recall, VisibilityScore, VisibilityScorer
from yohaku.session.session import Session

Fit: TypeAlias = Callable[[Target], "list[Entry] | None"]
"""The entries to be sent before a target; None where it is refused."""

Scores: TypeAlias = dict[str, float | None]


@dataclass
class ReplayTotals:
    """Sums over the steps of one session; `scores` makes shares and means of them."""

    steps: int = 0
    sent: int = 0
    unsent: Counter[str] = field(default_factory=Counter)
    """Why: refused, over, malformed."""
    hits: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    f1: list[float] = field(default_factory=list)
    fabricated: set[str] = field(default_factory=set)
    tokens: int = 0
    cost: float = 0.0
    breaks: int = 0
    seconds: float = 0.0

    def send(self, sent: SentRequest) -> None:
        self.sent += 1
        self.tokens += sent.tokens
        self.cost += sent.cost
        self.breaks += sent.broken

    def see(self, target: Target, found: VisibilityScore) -> None:
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

    def scores(self) -> Scores:
        return {
            "fits": _ratio(self.sent, self.steps),
            **{name: _ratio(self.hits[name], self.of[name]) for name in ("all", "tool", "far", "by_ref", "rules")},
            "ledger_f1": _ratio(sum(self.f1), len(self.f1)),
            "fabricated": float(len(self.fabricated)),
            "tokens": _ratio(self.tokens, self.sent),
            "cost": _ratio(self.cost, self.sent),
            "breaks": _ratio(100 * self.breaks, self.sent - 1),
            "cpu_ms": _ratio(1000 * self.seconds, self.steps),
        }


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole > 0 else None


def replay(recorded: RecordedSession, window: int, recipe: str, meter: Meter, model: str) -> ReplayTotals | None:
    """None where the system prompt alone is over the limit: no recipe can do anything about that."""
    name = "auto" if recipe in CONTROLS else recipe
    session = Session(window, recipe=name, model=model, dialect="openai_chat", meter=meter)
    limit = session.budget.limit
    if recorded.fixed + recorded.system > limit:
        return None
    fit, recall = _control(recorded, recipe, meter, limit) if recipe in CONTROLS else _engine(recorded, session)
    tally, eye, wire = ReplayTotals(), VisibilityScorer(recorded, recall), RequestLog(recorded, meter, limit)
    for target in recorded.targets:
        if recipe == "oracle" and not target.scored:
            continue  # it has nothing to go by
        start = time.process_time()
        shown = fit(target)
        tally.seconds += time.process_time() - start
        tally.steps += 1
        sent = "refused" if shown is None else wire.send(shown)
        if isinstance(sent, SentRequest):
            tally.send(sent)
        else:
            tally.unsent[sent] += 1
            shown = None
        if target.scored:
            tally.see(target, eye.look(target, shown or []))
    return tally


def _engine(recorded: RecordedSession, session: Session) -> tuple[Fit, Recall]:
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


def _control(recorded: RecordedSession, name: str, meter: Meter, limit: int) -> tuple[Fit, Recall]:
    bench, control = BaselineInput(recorded, meter, limit - recorded.fixed), CONTROLS[name]
    return lambda target: control(bench, target), lambda ref: ""
