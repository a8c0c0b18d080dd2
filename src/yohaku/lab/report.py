"""The columns of the lab's report, their means over sessions with confidence intervals, and the printed table.

To add a column, add a row to COLUMNS; what it needs beyond the sums of `ReplayTotals` is counted there.
Law: the same scores give the same report; random draws come from one fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from yohaku.lab.replay import ReplayTotals

Scores: TypeAlias = dict[str, float | None]
SEED, DRAWS = 20_011, 1_000


class Column(NamedTuple):
    """One score of a replayed session."""

    name: str
    """Its key in the JSON report."""
    score: Callable[[ReplayTotals], float | None]
    heading: str
    decimals: int = 3
    compared: bool = True
    """Whether recipes are compared by it, in the JSON report."""
    printed: bool = False
    """Whether that comparison is printed below the table."""


COLUMNS = (
    Column("fits", lambda totals: _ratio(totals.sent, totals.steps), "fits"),
    Column("all", lambda totals: _share(totals, "all"), "all", printed=True),
    Column("tool", lambda totals: _share(totals, "tool"), "tool", printed=True),
    Column("far", lambda totals: _share(totals, "far"), "far", printed=True),
    Column("by_ref", lambda totals: _share(totals, "by_ref"), "by_ref", compared=False),
    Column("rules", lambda totals: _share(totals, "rules"), "rules", printed=True),
    Column("ledger_f1", lambda totals: _ratio(sum(totals.f1), len(totals.f1)), "F1", printed=True),
    Column("fabricated", lambda totals: float(len(totals.fabricated)), "fabr.", decimals=2, compared=False),
    Column("tokens", lambda totals: _ratio(totals.tokens, totals.sent), "tokens", decimals=0),
    Column("cost", lambda totals: _ratio(totals.cost, totals.sent), "cost", decimals=0, printed=True),
    Column("breaks", lambda totals: _ratio(100 * totals.breaks, totals.sent - 1), "breaks", decimals=1),
    Column("cpu_ms", lambda totals: _ratio(1000 * totals.seconds, totals.steps), "cpu ms", decimals=1, compared=False),
)


def score(totals: ReplayTotals) -> Scores:
    return {column.name: column.score(totals) for column in COLUMNS}


def _share(totals: ReplayTotals, name: str) -> float | None:
    return _ratio(totals.hits[name], totals.of[name])


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole > 0 else None


class ReportRow(NamedTuple):
    """One session at one window with one recipe."""

    session: str
    source: str
    window: int
    recipe: str
    steps: int
    unsent: dict[str, int]
    """Steps that were refused, over the limit or malformed."""
    scores: Scores | None
    """None if the system prompt alone does not fit."""


class Interval(NamedTuple):
    """A mean and its 95 % confidence interval, by drawing the sessions again."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    sessions: int = 0


def summary(rows: list[ReportRow]) -> dict[str, Any]:
    """Return, by window, the means of each recipe and the differences between each two."""
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
            "recipes": {name: {column.name: _mean(by[name], column.name) for column in COLUMNS} for name in recipes},
            "differences": {
                f"{one} - {other}": {
                    column.name: _difference(by[one], by[other], column.name) for column in COLUMNS if column.compared
                }
                for one, other in pairs
            },
        }
    return windows


ScoresBySession: TypeAlias = dict[str, Scores]


def _mean(scores: ScoresBySession, name: str) -> dict[str, Any]:
    return interval(found.get(name) for found in scores.values())._asdict()


def _difference(one: ScoresBySession, other: ScoresBySession, name: str) -> dict[str, Any]:
    """Compare the sessions that both have a score for."""
    pairs = ((one[session].get(name), other[session].get(name)) for session in one if session in other)
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
    generator = random.Random(SEED)
    return [itemgetter(*generator.choices(range(count), k=count)) for _ in range(DRAWS)]


def table(windows: dict[str, Any]) -> str:
    """Render one table a window with the recipes as rows; below it the first recipe compared with the others."""
    lines: list[str] = []
    for window, found in windows.items():
        left = f"; {found['left_out']} left out, their system prompt alone does not fit" if found["left_out"] else ""
        lines.append(f"window {int(window):,}, {found['sessions']} sessions{left}")
        lines.append(f"{'':12}" + "".join(f"{column.heading:>8}" for column in COLUMNS))
        for name, means in found["recipes"].items():
            cells = (_format(column, means[column.name]["mean"]) for column in COLUMNS)
            lines.append(f"{name:12}" + "".join(f"{cell:>8}" for cell in cells))
        first = next(iter(found["recipes"]))
        for pair, differences in found["differences"].items():
            if pair.startswith(f"{first} - "):
                shown = [column for column in COLUMNS if column.compared and column.printed]
                spans = (f"{column.heading} {_format_span(column, differences[column.name])}" for column in shown)
                lines.append(f"  {pair}: {'  '.join(spans)}")
        lines.append("")
    return "\n".join(lines)


def _format(column: Column, mean: float | None, sign: str = "") -> str:
    return "–" if mean is None else f"{mean:{sign},.{column.decimals}f}"


def _format_span(column: Column, found: dict[str, Any]) -> str:
    if found["mean"] is None:
        return "–"
    mean, low, high = (_format(column, found[name], "+") for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"
