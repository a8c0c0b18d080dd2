from __future__ import annotations

from yohaku.lab.report import METRICS, Interval, ReportRow, interval, summary, table


def row(session: str, recipe: str, value: float | None, window: int = 4096) -> ReportRow:
    scores = None if value is None else dict.fromkeys(METRICS, value)
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
