"""A tool call on the screen: one line, the end of its output while it runs, all of it when opened.

Law: what is kept for the screen is bounded, whatever a tool prints.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from yohaku.agent.events import SearchProgress, ToolFinished, ToolStarted
from yohaku.agent.format import clip, describe_search, strip_controls
from yohaku.agent.model_texts import REFUSED, STOPPED, failure_for_people
from yohaku.messages import say
from yohaku.tui.diff import colour_diff, summarize_changes

MAX_RUNNING_LINES = 5
"""Lines shown while it runs."""
MAX_OUTPUT_CHARS = 20_000
"""Characters of the output, its end."""
MAX_OPEN_LINES = 200
"""Lines shown when it is opened."""
MAX_DIFF_LINES = 12
"""Lines of a diff shown while it is closed."""


class ToolLine(Vertical):
    def __init__(self, calling: ToolStarted, lang: str) -> None:
        super().__init__(classes="-running")
        self.lang = lang
        self.title = strip_controls(calling.title)
        self.output = ""
        self._searched = ""
        """How far a running search is."""
        self._failure = ""
        """Why it failed, for people."""
        self.called: ToolFinished | None = None
        self.opened = False

    def compose(self) -> ComposeResult:
        yield Static(self._line(), classes="line", markup=False)
        yield Static("", classes="body", markup=False)

    def hear(self, text: str) -> None:
        self.output = (self.output + strip_controls(text))[-MAX_OUTPUT_CHARS:]
        self._draw()

    def note_searched(self, progress: SearchProgress) -> None:
        self._searched = describe_search(progress, self.lang)
        self._draw()

    def end(self, called: ToolFinished) -> None:
        self.called = called
        self.title = strip_controls(called.title) or self.title
        self.set_class(False, "-running")
        self.set_class(called.result.error, "-failed")
        text = strip_controls(called.result.text)
        self._failure = failure_for_people(called.call.name, text, self.lang) if called.result.error else ""
        if text.startswith((REFUSED, STOPPED)):
            text = self._failure
        self.output = text if len(text) <= MAX_OUTPUT_CHARS else text[:MAX_OUTPUT_CHARS]
        self._draw()

    def action_turn(self) -> None:
        self.opened = not self.opened
        self._draw()

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            self.action_turn()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.query_one(".line", Static).update(self._line())
        body = self.query_one(".body", Static)
        shown = self._body()
        body.display = bool(len(shown))
        body.update(shown)

    def _line(self) -> str:
        if self.called is None:
            return f"• {clip(self.title, 500)}  {self._searched}".rstrip()
        mark = "✗" if self.called.result.error else "✓"
        return f"{mark} {clip(self.title, 500)}  {'▾' if self.opened else '▸'} {self._extent()}"

    def _extent(self) -> str:
        assert self.called is not None
        if self.called.result.error:
            return say("screen_failed_tool", self.lang)
        if self.called.diff:
            return summarize_changes(self.called.diff)
        return self._count_lines()

    def _count_lines(self) -> str:
        """Return `40 lines`, or `363 of 100,000 lines` where the model is shown a part of all that the tool gave."""
        assert self.called is not None
        count, ref = len(self.called.result.text.splitlines()), self.called.output
        if ref and ref.line_count > count:
            return say("screen_lines_of", self.lang, count=count, all=ref.line_count)
        return say("screen_line" if count == 1 else "screen_lines", self.lang, count=count)

    def _body(self) -> Content:
        called = self.called
        lines = self.output.rstrip("\n").split("\n") if self.output.strip() else []
        if called is None:
            return Content("\n".join(line[:500] for line in lines[-MAX_RUNNING_LINES:]))
        if called.diff:
            return colour_diff(called.diff, self.lang, MAX_OPEN_LINES if self.opened else MAX_DIFF_LINES)
        if self.opened:
            more = (
                [say("screen_more", self.lang, count=len(lines) - MAX_OPEN_LINES)]
                if len(lines) > MAX_OPEN_LINES
                else []
            )
            return Content("\n".join([line[:2000] for line in lines[:MAX_OPEN_LINES]] + more))
        return Content(self._failure[:500])
