"""Panel at the right, or one line in a narrow terminal: how full the window is, and what happens next.

Law: percent, bar and colour are shares of the limit; without colours the marks say the same.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from yohaku.agent.events import Gauge
from yohaku.agent.format import (
    MARKS,
    clip,
    count_columns,
    describe_level,
    draw_bar,
    format_counts,
    format_gauge,
    format_headline,
    gauge_rows,
    pad,
    remaining_row,
)
from yohaku.messages import say

LEVELS = ("calm", "warm", "hot", "full", "over")


class Panel(Vertical):
    def __init__(self, lang: str, *, debug: bool = False) -> None:
        super().__init__(id="panel", classes="-debug" if debug else "")
        self.lang = lang
        self.debug_rows = debug
        self.gauge: Gauge | None = None
        self.border_title = say("panel_title", lang)

    def compose(self) -> ComposeResult:
        yield Static(say("panel_none", self.lang), id="gauge", markup=False)
        yield Static("", id="where", markup=False)
        yield Static("", id="coming", markup=False)
        yield Static("", id="model", markup=False)

    def show(self, gauge: Gauge) -> None:
        self.gauge = gauge
        for level in LEVELS:
            self.set_class(gauge.level == level, f"-{level}")
        self.query_one("#gauge", Static).update(self._head(gauge))
        where = self.query_one("#where", Static)
        where.display = self.debug_rows
        where.update("\n".join(self._where(gauge)) if self.debug_rows else "")
        self.query_one("#coming", Static).update(self._coming(gauge))

    def name_model(self, name: str) -> None:
        self.query_one("#model", Static).update(name)

    def on_resize(self) -> None:
        if self.gauge:
            self.show(self.gauge)

    @property
    def _width(self) -> int:
        return max(10, self.content_size.width)

    def _head(self, gauge: Gauge) -> str:
        head = format_headline(gauge, self.lang, whole=self.debug_rows)
        if count_columns(head) > self._width:
            head = format_headline(gauge, self.lang)
        marks = MARKS[gauge.level]
        if marks and count_columns(head) + 1 + len(marks) <= self._width:
            head = f"{head} {marks}"
        return f"{clip(head, self._width)}\n{draw_bar(gauge.share, self._width)}"

    def _where(self, gauge: Gauge) -> list[str]:
        table = (*gauge_rows(gauge, self.lang), remaining_row(gauge, self.lang))
        width = max(count_columns(row.label) for row in table) + 2
        lines = [f"{pad(row.label + ':', width)}{row.tokens:>9,} ({row.percent:>2}%)" for row in table]
        return ["", *lines[:-1], "─" * count_columns(lines[0]), lines[-1], "", *format_counts(gauge, self.lang)]

    def _coming(self, gauge: Gauge) -> Content:
        state = describe_level(gauge, self.lang)
        if not gauge.coming:
            return Content(f"\n{state}")
        return Content.assemble(f"\n{state}\n\n", (say("panel_next", self.lang), "bold"), f"\n{gauge.coming}")


class GaugeLine(Static):
    def __init__(self, lang: str) -> None:
        super().__init__("", id="gaugeline", markup=False)
        self.lang = lang
        self.gauge: Gauge | None = None

    def show(self, gauge: Gauge) -> None:
        self.gauge = gauge
        for level in LEVELS:
            self.set_class(gauge.level == level, f"-{level}")
        self.update(format_gauge(gauge, self.lang, max(20, self.app.size.width - 2)))

    def on_resize(self) -> None:
        if self.gauge:
            self.show(self.gauge)
