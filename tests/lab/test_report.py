from __future__ import annotations

import pytest

from yohaku.lab import report
from yohaku.lab.replay import ReplayTotals
from yohaku.lab.report import COLUMNS, Column, Interval, ReportRow, interval, score, summary, table


def row(session: str, recipe: str, value: float | None, window: int = 4096) -> ReportRow:
    scores = None if value is None else dict.fromkeys((column.name for column in COLUMNS), value)
    return ReportRow(session, "source", window, recipe, 3, {}, scores)


def test_an_interval_lies_around_the_mean_and_is_the_same_each_time() -> None:
    values = [n / 100 for n in range(100)]
    found = interval(values)
    assert found == interval(values) and found.sessions == 100
    assert found.low and found.mean and found.high and found.low < found.mean < found.high
    assert 0.10 < found.high - found.low < 0.13, "about four standard errors of the mean"
    assert interval([1.0, 1.0, None]) == Interval(1.0, 1.0, 1.0, 2)
    assert interval([None]) == Interval(None)
    assert interval([0.5]) == Interval(0.5, 0.5, 0.5, 1)


def test_recipes_are_compared_session_by_session() -> None:
    rows = [row("a", "auto", 0.9), row("b", "auto", 0.3), row("a", "sliding", 0.8), row("b", "sliding", 0.2)]
    found = summary(rows)["4096"]
    assert found["recipes"]["auto"]["all"]["mean"] == 0.6
    assert found["differences"]["auto - sliding"]["all"] == {"mean": 0.1, "low": 0.1, "high": 0.1, "sessions": 2}


def test_sessions_left_out_are_counted_and_do_not_weigh() -> None:
    found = summary([row("a", "auto", 0.5), row("b", "auto", None)])["4096"]
    assert (found["sessions"], found["left_out"], found["recipes"]["auto"]["all"]["mean"]) == (1, 1, 0.5)


def test_the_table_has_a_row_for_each_recipe() -> None:
    text = table(
        summary([row("a", "auto", 0.9), row("a", "sliding", 0.8), row("b", "auto", None), row("b", "sliding", None)])
    )
    lines = text.splitlines()
    assert lines[0] == "window 4,096, 1 sessions; 1 left out, their system prompt alone does not fit"
    assert [line.split()[:3] for line in lines[2:4]] == [["auto", "0.900", "0.900"], ["sliding", "0.800", "0.800"]]
    assert lines[4].startswith("  auto - sliding: all +0.100 [+0.100, +0.100]  tool")


def test_a_column_is_one_row_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Column("sent", lambda totals: float(totals.sent), "sent", decimals=0, printed=True)
    monkeypatch.setattr(report, "COLUMNS", (*COLUMNS, mine))
    one, other = score(ReplayTotals(steps=9, sent=7)), score(ReplayTotals(steps=9, sent=4))
    rows = [ReportRow("a", "source", 4096, name, 9, {}, found) for name, found in (("auto", one), ("cap", other))]
    lines = table(summary(rows)).splitlines()
    assert [line.split()[-1] for line in lines[1:4]] == ["sent", "7", "4"]
    assert lines[4].endswith("sent +3 [+3, +3]")
