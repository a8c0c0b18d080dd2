"""`yohaku demo`: a long recorded session in a small window, live in the terminal.

Calls `Session.fit` once before each recorded reply; needs no model and no network.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TextIO

from yohaku.core.folds import Gist
from yohaku.dialects.load import Request, load
from yohaku.dialects.openai_chat import OpenAIChat
from yohaku.messages import describe, say
from yohaku.session.session import Session

BAR_WIDTH = 44
PAUSE_SECONDS = 0.03


@dataclass
class DemoTotals:
    steps: int = 0
    over: int = 0
    """Requests over the limit without folding."""
    bad: int = 0
    """Requests over the limit with folding."""
    first_over: int = 0
    foldings: int = 0
    refs: set[str] = field(default_factory=set)


def play(window: int, lang: str, fast: bool = False, out: TextIO | None = None) -> int:
    out = out or sys.stdout
    messages = OpenAIChat().compose(read_recording())["messages"]
    requests = list(_request_lengths(messages))
    plain = Session(window=1 << 40, reserve=0)
    session = Session(window=window)
    totals = DemoTotals()
    screen = _Screen(out, lang, live=out.isatty())
    plain.fit(messages)
    assert plain.receipt
    screen.print_line(say("demo_title", lang, steps=len(requests), tokens=plain.receipt.after, window=window))
    for number, end in enumerate(requests, 1):
        _play_step(session, plain, messages[:end], number, totals, screen, len(requests))
        if not fast and screen.live:
            time.sleep(PAUSE_SECONDS)
    opened = sum(1 for ref in totals.refs if session.recall(ref))
    screen.end()
    facts = {"steps": totals.steps, "over": totals.over, "bad": totals.bad, "folds": totals.foldings, "refs": opened}
    screen.print_line(say("demo_end", lang, **facts))
    return 0 if not totals.bad and opened == len(totals.refs) else 1


def read_recording() -> Any:
    """Read the session that ships with the package as a History."""
    loaded = load(files("yohaku.demo").joinpath("session.jsonl.gz").read_bytes(), "session.jsonl.gz")
    assert not isinstance(loaded, Request)
    return loaded.history


def _request_lengths(messages: list[dict[str, Any]]) -> Iterator[int]:
    """Yield the number of messages before each reply, which is that of its request."""
    return (index for index, message in enumerate(messages) if message["role"] == "assistant")


def _play_step(
    session: Session, plain: Session, messages: list[Any], number: int, totals: DemoTotals, screen: _Screen, steps: int
) -> None:
    plain.fit(messages)
    session.fit(messages)
    assert plain.receipt and session.receipt
    raw, receipt = plain.receipt.after, session.receipt
    totals.steps += 1
    if raw > receipt.limit:
        totals.over += 1
        totals.first_over = totals.first_over or number
    totals.bad += receipt.after > receipt.limit
    if receipt.outcome.folds:
        totals.foldings += 1
        totals.refs |= {fold.ref for fold in receipt.outcome.folds}
        screen.print_folding(number, receipt)
    screen.draw_bars(number, steps, raw, receipt.after, receipt.limit, totals.first_over)


class _Screen:
    """Lines, and two moving bars below them. Without a terminal only the lines."""

    def __init__(self, out: TextIO, lang: str, live: bool) -> None:
        self.out, self.lang, self.live = out, lang, live
        self._lines_drawn = 0

    def print_line(self, text: str) -> None:
        self._wipe()
        print(text, file=self.out, flush=True)

    def print_folding(self, step: int, receipt: Any) -> None:
        made = receipt.outcome.folds
        facts = {"step": step, "before": receipt.before, "after": receipt.after, "count": len(made)}
        self.print_line("  " + say("demo_folded", self.lang, **facts))
        for fold in sorted(made, key=lambda fold: fold.after - fold.before)[:2]:
            what, why = describe(fold.what, fold.why, self.lang, fold.detail)
            what = what if isinstance(fold, Gist) else f"{what}: {why}"
            self.print_line(f"      {fold.before:>7,} → {fold.after:<6,} {what}; ref={fold.ref}")

    def draw_bars(self, step: int, steps: int, raw: int, after: int, limit: int, first_over: int) -> None:
        if not self.live:
            return
        self._wipe()
        over = say("demo_overflow", self.lang, step=first_over) if first_over else ""
        rows = [
            say("demo_step", self.lang, step=step, steps=steps),
            f"  {say('demo_without', self.lang):16}{_bar(raw, limit)} {raw:>9,} {over}",
            f"  {say('demo_with', self.lang):16}{_bar(after, limit)} {after:>9,} / {limit:,}",
        ]
        print("\n".join(rows), file=self.out, flush=True)
        self._lines_drawn = len(rows)

    def end(self) -> None:
        self._lines_drawn = 0

    def _wipe(self) -> None:
        if self._lines_drawn:
            self.out.write(f"\x1b[{self._lines_drawn}A\x1b[J")
            self._lines_drawn = 0


def _bar(tokens: int, limit: int) -> str:
    full = min(BAR_WIDTH, round(BAR_WIDTH * tokens / limit))
    colour = "31" if tokens > limit * 0.9 else "33" if tokens > limit * 0.6 else "32"
    return f"\x1b[{colour}m{'█' * full}\x1b[0m{'░' * (BAR_WIDTH - full)}"
