"""What recipes are compared with: simple ways to make a conversation fit.

Law: entries in, entries out, well formed by construction; the limit and the meter are the same for all. Nothing is
touched while everything fits.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

from yohaku.lab.baseline_input import BaselineInput, behind, units_before
from yohaku.lab.entries import Entry
from yohaku.lab.oracle import oracle
from yohaku.lab.recorded_session import Target

Control: TypeAlias = Callable[[BaselineInput, Target], list[Entry]]


def none(bench: BaselineInput, target: Target) -> list[Entry]:
    return bench.recorded.entries[: target.at]


def sliding(bench: BaselineInput, target: Target) -> list[Entry]:
    """The oldest steps go, each old prompt with the last of its steps; the system and the newest prompt stay."""
    weights = bench.recorded.weights[: target.at]
    return _slide(bench, target, bench.recorded.entries[: target.at], weights)


def _slide(bench: BaselineInput, target: Target, shown: list[Entry], weights: list[int]) -> list[Entry]:
    over = sum(weights) - bench.limit
    if over <= 0:
        return shown
    units = units_before(bench.recorded.entries, target.at)
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


def last3(bench: BaselineInput, target: Target) -> list[Entry]:
    return _newest_results(bench, target, 3)


def last10(bench: BaselineInput, target: Target) -> list[Entry]:
    return _newest_results(bench, target, 10)


def _newest_results(bench: BaselineInput, target: Target, count: int) -> list[Entry]:
    """All but the newest results become one line; then the oldest steps go."""
    entries = bench.recorded.entries[: target.at]
    weights = bench.recorded.weights[: target.at]
    if sum(weights) <= bench.limit:
        return entries
    results = [at for at, entry in enumerate(entries) if entry["role"] == "tool"]
    for at in results[: max(0, len(results) - count)]:
        if bench.placeholder_weight(at) < weights[at]:
            entries[at], weights[at] = bench.placeholder(at), bench.placeholder_weight(at)
    return _slide(bench, target, entries, weights)


def cap(bench: BaselineInput, target: Target) -> list[Entry]:
    """One cap for every result, the largest at which everything fits; where none is small enough, sliding."""
    entries = bench.recorded.entries[: target.at]
    weights = bench.recorded.weights[: target.at]
    over = sum(weights) - bench.limit
    if over <= 0:
        return entries
    results = [at for at, entry in enumerate(entries) if entry["role"] == "tool" and isinstance(entry["content"], str)]
    frame = bench.meter.frame.result
    sizes = sorted((weights[at] - frame for at in results), reverse=True)
    tokens = _grid(_level(sizes, sum(sizes) - over))
    while True:
        shown, now = list(entries), list(weights)
        for at in results:
            if weights[at] - frame > tokens:
                shown[at] = bench.capped(at, tokens)
                now[at] = bench.meter.count(shown[at]["content"]) + frame
        if sum(now) <= bench.limit or tokens <= SMALLEST:
            return _slide(bench, target, shown, now)
        tokens = _grid(tokens - 1)


SMALLEST = 16
"""Tokens of the lowest cap."""


def _level(sizes: list[int], room: int) -> int:
    """The cap under which sizes, the largest first, come down to `room`."""
    below = sum(sizes)
    for count, size in enumerate(sizes):
        following = sizes[count + 1] if count + 1 < len(sizes) else 0
        below -= size
        if below + (count + 1) * following <= room:
            return max(0, (room - below) // (count + 1))
    return 0


def _grid(tokens: int) -> int:
    """Caps in steps of a twentieth, so that a cut text is often one that was cut before."""
    value = float(SMALLEST)
    while value * 1.05 <= tokens:
        value *= 1.05
    return int(value)


RECENT = 3
"""Steps that are not old."""


def random(bench: BaselineInput, target: Target) -> list[Entry]:
    """Whole old steps go in an order that is as good as random and does not change; then old prompts, oldest first."""
    weights = bench.recorded.weights[: target.at]
    units = units_before(bench.recorded.entries, target.at)
    steps = [step for turn in units.steps for step in turn]
    order = sorted(steps[:-RECENT], key=lambda step: sha256(f"{bench.recorded.name}:{step[0]}".encode()).digest())
    over = sum(weights) - bench.limit
    dropped: set[int] = set()
    for unit in [*order, *steps[-RECENT:-1], *behind(units)]:
        if over <= 0:
            break
        dropped.update(unit)
        over -= sum(weights[at] for at in unit)
    return [entry for at, entry in enumerate(bench.recorded.entries[: target.at]) if at not in dropped]


CONTROLS: dict[str, Control] = {
    "none": none,
    "sliding": sliding,
    "last3": last3,
    "last10": last10,
    "cap": cap,
    "random": random,
    "oracle": oracle,
}
