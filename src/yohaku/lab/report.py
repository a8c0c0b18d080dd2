"""Means over sessions, how sure they are, and which recipe is better than which.

Law: the same scores give the same report; chance comes from one fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

METRICS = (
    "fits", "all", "tool", "far", "by_ref", "rules", "ledger_f1", "fabricated", "tokens", "cost", "breaks", "cpu_ms",
)  # fmt: skip
PAIRED = ("fits", "all", "tool", "far", "rules", "ledger_f1", "tokens", "cost", "breaks")
SHOWN = ("all", "tool", "far", "rules", "ledger_f1", "cost")
"""Differences that are printed."""
SEED, DRAWS = 20_011, 1_000


class ReportRow(NamedTuple):
    """One session at one window with one recipe."""

    session: str
    source: str
    window: int
    recipe: str
    steps: int
    unsent: dict[str, int]
    """How many steps were refused, over the limit or malformed."""
    scores: dict[str, float | None] | None
    """None where the system prompt alone does not fit."""


class Interval(NamedTuple):
    mean: float | None
    low: float | None = None
    high: float | None = None
    """Between them lie 95 of 100 means of sessions drawn anew."""
    sessions: int = 0


def summary(rows: list[ReportRow]) -> dict[str, Any]:
    """By window: the recipes with their means, and the differences between each two of them."""
    windows: dict[str, Any] = {}
    for window in dict.fromkeys(row.window for row in rows):
        here = [row for row in rows if row.window == window]
        recipes = list(dict.fromkeys(row.recipe for row in here))
        by = {name: {row.session: row.scores or {} for row in here if row.recipe == name} for name in recipes}
        left_out = {row.session for row in here if row.scores is None}
        pairs = [(one, other) for at, one in enumerate(recipes) for other in recipes[at + 1 :]]
        windows[str(window)] = {
            "sessions": len({row.session for row in here} - left_out),
            "left_out": len(left_out),
            "recipes": {name: {metric: _mean(by[name], metric) for metric in METRICS} for name in recipes},
            "differences": {
                f"{one} - {other}": {metric: _difference(by[one], by[other], metric) for metric in PAIRED}
                for one, other in pairs
            },
        }
    return windows


Scored = dict[str, dict[str, float | None]]


def _mean(scores: Scored, metric: str) -> dict[str, Any]:
    return interval(score.get(metric) for score in scores.values())._asdict()


def _difference(one: Scored, other: Scored, metric: str) -> dict[str, Any]:
    """Over the sessions that both have a score for."""
    pairs = ((one[name].get(metric), other[name].get(metric)) for name in one if name in other)
    return interval(a - b for a, b in pairs if a is not None and b is not None)._asdict()


def interval(scores: Iterable[float | None]) -> Interval:
    values = [score for score in scores if score is not None]
    count = len(values)
    if not values:
        return Interval(None)
    mean = round(sum(values) / count, 5)
    if count == 1:
        return Interval(mean, mean, mean, 1)
    means = sorted(sum(draw(values)) / count for draw in _draws(count))
    cut = DRAWS // 40
    return Interval(mean, round(means[cut], 5), round(means[-1 - cut], 5), count)


@cache
def _draws(count: int) -> list[itemgetter[Any]]:
    chance = random.Random(SEED)
    return [itemgetter(*chance.choices(range(count), k=count)) for _ in range(DRAWS)]


HEADS = {"ledger_f1": "F1", "fabricated": "fabr.", "cpu_ms": "cpu ms"}


def table(windows: dict[str, Any]) -> str:
    """A plain table a window, the recipes as rows; below it the first recipe beside each of the others."""
    lines: list[str] = []
    for window, found in windows.items():
        left = f"; {found['left_out']} left out, their system prompt alone does not fit" if found["left_out"] else ""
        lines.append(f"window {int(window):,}, {found['sessions']} sessions{left}")
        lines.append(f"{'':12}" + "".join(f"{HEADS.get(metric, metric):>8}" for metric in METRICS))
        for name, means in found["recipes"].items():
            lines.append(f"{name:12}" + "".join(f"{_cell(metric, means[metric]['mean']):>8}" for metric in METRICS))
        first = next(iter(found["recipes"]))
        for pair, differences in found["differences"].items():
            if pair.startswith(f"{first} - "):
                told = "  ".join(f"{HEADS.get(name, name)} {_span(name, differences[name])}" for name in SHOWN)
                lines.append(f"  {pair}: {told}")
        lines.append("")
    return "\n".join(lines)


def _cell(metric: str, mean: float | None, sign: str = "") -> str:
    if mean is None:
        return "–"
    places = {"tokens": 0, "cost": 0, "breaks": 1, "cpu_ms": 1, "fabricated": 2}.get(metric, 3)
    return f"{mean:{sign},.{places}f}"


def _span(metric: str, found: dict[str, Any]) -> str:
    if found["mean"] is None:
        return "–"
    mean, low, high = (_cell(metric, found[name], "+") for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"
