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
from yohaku.tui.panel_facts import MAX_STEPS, PanelFacts, describe_files, describe_mode, fact_lines, plan_lines

ROOMY_LINES = 32
"""Lines of a panel from which on it shows all of a plan."""
LEVELS = ("calm", "warm", "hot", "full", "over")


class Panel(Vertical):
    def __init__(self, lang: str, *, debug: bool = False) -> None:
        super().__init__(id="panel", classes="-debug" if debug else "")
        self.lang = lang
        self.debug_rows = debug
        self.gauge: Gauge | None = None
        self.facts = PanelFacts()
        self.border_title = say("panel_title", lang)

    def compose(self) -> ComposeResult:
        yield Static(say("panel_none", self.lang), id="gauge", markup=False)
        yield Static("", id="where", markup=False)
        yield Static("", id="coming", markup=False)
        yield Static("", id="facts", markup=False)
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

    def tell(self, facts: PanelFacts) -> None:
        self.facts = facts
        self.query_one("#facts", Static).update(self._facts())

    def on_resize(self) -> None:
        if self.gauge:
            self.show(self.gauge)
        self.tell(self.facts)

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

    def _facts(self) -> Content:
        facts, lang, width = self.facts, self.lang, self._width
        steps = MAX_STEPS if self.size.height >= ROOMY_LINES else 2
        plan = plan_lines(facts.plan, lang, width, steps)
        title = say("panel_last_folding", lang)
        blocks: list[list[str | tuple[str, str]]] = [
            ["\n".join(fact_lines(facts, lang, width))],
            [(plan[0], "bold"), "\n" + "\n".join(plan[1:])] if plan else [],
            [(title, "bold"), f"\n{facts.folding}"] if facts.folding else [],
        ]
        parts = [part for block in blocks if block and block[0] for part in ("\n\n", *block)]
        return Content.assemble("\n", *parts[1:]) if parts else Content("")


class GaugeLine(Static):
    def __init__(self, lang: str) -> None:
        super().__init__("", id="gaugeline", markup=False)
        self.lang = lang
        self.gauge: Gauge | None = None
        self.facts = PanelFacts()

    def show(self, gauge: Gauge) -> None:
        self.gauge = gauge
        for level in LEVELS:
            self.set_class(gauge.level == level, f"-{level}")
        width = max(20, self.app.size.width - 2)
        mode, files = describe_mode(self.facts, self.lang), describe_files(self.facts.files, self.lang)
        plan = plan_lines(self.facts.plan, self.lang, width)[:1]
        room = width - count_columns(format_headline(gauge, self.lang)) - 8
        beside: list[str] = []
        for text in filter(None, (mode, files, *plan)):
            room -= count_columns(text) + 3
            beside += [text] if room >= 0 else []
        told = "".join(f" · {text}" for text in beside)
        self.update(format_gauge(gauge, self.lang, width - count_columns(told)) + told)

    def tell(self, facts: PanelFacts) -> None:
        self.facts = facts
        if self.gauge:
            self.show(self.gauge)

    def on_resize(self) -> None:
        if self.gauge:
            self.show(self.gauge)
