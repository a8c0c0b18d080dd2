"""The panel as one line, for a terminal too narrow for it."""

from __future__ import annotations

from textual.widgets import Static

from yohaku.agent.events import Gauge
from yohaku.agent.format import format_gauge
from yohaku.tui.panel import LEVELS


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
