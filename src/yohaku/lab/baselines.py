"""Baselines that recipes are compared with: simple ways to make a conversation fit.

Law: entries in, well-formed entries out; limit and meter are the same for all, and nothing changes while everything
fits. A step is dropped with all its results, and an old prompt not before its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from yohaku.core.meter import Meter
from yohaku.lab.entries import Entry
from yohaku.lab.recorded_session import RecordedSession, Target

REMOVED = "[removed to save room]"
MIN_CAP = 16
"""Tokens of the lowest cap."""
RECENT_STEPS = 3
"""Steps that `random` drops last."""


@dataclass
class BaselineInput:
    """The session a baseline works on, and shorter forms of its results."""

    recorded: RecordedSession
    meter: Meter
    limit: int
    """Tokens the entries may take, without those of the request itself."""
    _cut: dict[tuple[str, int], str] = field(default_factory=dict)
    _placeholders: dict[int, Entry] = field(default_factory=dict)
    _placeholder_weight: int = 0

    def __post_init__(self) -> None:
        self._placeholder_weight = self.meter.count(REMOVED) + max(self.meter.frame.result, self.meter.frame.message)

    def weight(self, at: int) -> int:
        return self.recorded.weights[at]

    def placeholder(self, at: int) -> Entry:
        if at not in self._placeholders:
            self._placeholders[at] = {**self.recorded.entries[at], "content": REMOVED}
        return self._placeholders[at]

    def placeholder_weight(self, at: int) -> int:
        return min(self._placeholder_weight, self.weight(at))

    def cap_result(self, at: int, cap: int) -> Entry:
        """Cut the middle out of a result, so that about `cap` tokens are left."""
        entry = self.recorded.entries[at]
        tokens = self.weight(at) - self.meter.frame.result
        text = entry["content"]
        if tokens <= cap or not isinstance(text, str):
            return entry
        if (text, cap) not in self._cut:
            keep = max(0, int(len(text) * (cap - 4) / tokens))
            for _ in range(6):
                shown = f"{text[: keep // 2]}\n[…]\n{text[len(text) - (keep - keep // 2) :]}" if keep else REMOVED
                if self.meter.count(shown) <= cap:
                    break
                keep = int(keep * 0.85)
            self._cut[text, cap] = shown
        return {**entry, "content": self._cut[text, cap]}


@dataclass
class Units:
    """Entries before a target, grouped by what can be dropped whole: prompts, and steps with their results."""

    system: list[int]
    prompts: list[list[int]]
    """By turn; the newest is last."""
    steps: list[list[list[int]]]
    """By turn."""


def units_before(entries: list[Entry], at: int) -> Units:
    units = Units([], [[]], [[]])
    for index in range(at):
        match entries[index]["role"]:
            case "system" if units.prompts == [[]] and units.steps == [[]]:
                units.system.append(index)
            case "assistant":
                units.steps[-1].append([index])
            case "tool":
                units.steps[-1][-1].append(index)
            case _:
                if units.steps[-1]:
                    units.prompts.append([])
                    units.steps.append([])
                units.prompts[-1].append(index)
    return units


def last_resort(units: Units) -> list[list[int]]:
    """List what can be dropped once one step is left: older prompts, then that step, with its prompt if that is old."""
    owner = max((turn for turn, steps in enumerate(units.steps) if steps), default=-1)
    if owner < 0:
        return units.prompts[:-1]
    newest = units.steps[owner][-1]
    return [*units.prompts[:owner], newest + (units.prompts[owner] if owner < len(units.prompts) - 1 else [])]


Baseline: TypeAlias = Callable[[BaselineInput, Target], list[Entry]]


def none(given: BaselineInput, target: Target) -> list[Entry]:
    return given.recorded.entries[: target.at]


def sliding(given: BaselineInput, target: Target) -> list[Entry]:
    """Drop the oldest steps, each old prompt with the last of its steps. The system and the newest prompt stay."""
    weights = given.recorded.weights[: target.at]
    return _slide(given, target, given.recorded.entries[: target.at], weights)


def _slide(given: BaselineInput, target: Target, shown: list[Entry], weights: list[int]) -> list[Entry]:
    over = sum(weights) - given.limit
    if over <= 0:
        return shown
    units = units_before(given.recorded.entries, target.at)
    dropped: set[int] = set()
    for turn, steps in enumerate(units.steps):
        newest = turn == len(units.steps) - 1
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            gone = step + (units.prompts[turn] if last and not newest else [])
            dropped.update(gone)
            over -= sum(weights[at] for at in gone)
            if over <= 0:
                return [entry for at, entry in enumerate(shown) if at not in dropped]
    return [entry for at, entry in enumerate(shown) if at not in dropped]


def last3(given: BaselineInput, target: Target) -> list[Entry]:
    return _newest_results(given, target, 3)


def last10(given: BaselineInput, target: Target) -> list[Entry]:
    return _newest_results(given, target, 10)


def _newest_results(given: BaselineInput, target: Target, count: int) -> list[Entry]:
    """Replace all but the newest results by one line, then drop the oldest steps."""
    entries = given.recorded.entries[: target.at]
    weights = given.recorded.weights[: target.at]
    if sum(weights) <= given.limit:
        return entries
    results = [at for at, entry in enumerate(entries) if entry["role"] == "tool"]
    for at in results[: max(0, len(results) - count)]:
        if given.placeholder_weight(at) < weights[at]:
            entries[at], weights[at] = given.placeholder(at), given.placeholder_weight(at)
    return _slide(given, target, entries, weights)


def cap(given: BaselineInput, target: Target) -> list[Entry]:
    """Cap every result at the largest size at which everything fits; if no cap is small enough, drop oldest steps."""
    entries = given.recorded.entries[: target.at]
    weights = given.recorded.weights[: target.at]
    over = sum(weights) - given.limit
    if over <= 0:
        return entries
    results = [at for at, entry in enumerate(entries) if entry["role"] == "tool" and isinstance(entry["content"], str)]
    frame = given.meter.frame.result
    sizes = sorted((weights[at] - frame for at in results), reverse=True)
    tokens = _round_down(_find_cap(sizes, sum(sizes) - over))
    while True:
        shown, now = list(entries), list(weights)
        for at in results:
            if weights[at] - frame > tokens:
                shown[at] = given.cap_result(at, tokens)
                now[at] = given.meter.count(shown[at]["content"]) + frame
        if sum(now) <= given.limit or tokens <= MIN_CAP:
            return _slide(given, target, shown, now)
        tokens = _round_down(tokens - 1)


def _find_cap(sizes: list[int], room: int) -> int:
    """Return the cap that brings sizes (largest first) down to `room` in total."""
    below = sum(sizes)
    for count, size in enumerate(sizes):
        following = sizes[count + 1] if count + 1 < len(sizes) else 0
        below -= size
        if below + (count + 1) * following <= room:
            return max(0, (room - below) // (count + 1))
    return 0


def _round_down(tokens: int) -> int:
    """Round down in steps of 5 %, so that a text is often cut where it was cut before."""
    value = float(MIN_CAP)
    while value * 1.05 <= tokens:
        value *= 1.05
    return int(value)


def random(given: BaselineInput, target: Target) -> list[Entry]:
    """Drop whole old steps in a fixed pseudo-random order, then old prompts from the oldest on."""
    weights = given.recorded.weights[: target.at]
    units = units_before(given.recorded.entries, target.at)
    steps = [step for turn in units.steps for step in turn]
    order = sorted(steps[:-RECENT_STEPS], key=lambda step: sha256(f"{given.recorded.name}:{step[0]}".encode()).digest())
    over = sum(weights) - given.limit
    dropped: set[int] = set()
    for unit in [*order, *steps[-RECENT_STEPS:-1], *last_resort(units)]:
        if over <= 0:
            break
        dropped.update(unit)
        over -= sum(weights[at] for at in unit)
    return [entry for at, entry in enumerate(given.recorded.entries[: target.at]) if at not in dropped]
