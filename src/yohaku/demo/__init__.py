"""`yohaku demo`: a long recorded session goes through a small window, live in the terminal.

No model and no network: what is shown is the same `Session.fit` that everyone uses, once before each recorded reply.
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

WIDTH = 44
PAUSE = 0.03
"""Seconds between two steps, so that the eye can follow."""


@dataclass
class DemoTotals:
    steps: int = 0
    over: int = 0
    """Requests that would not have fitted as they were."""
    bad: int = 0
    """Requests that did not fit after all."""
    first_over: int = 0
    foldings: int = 0
    refs: set[str] = field(default_factory=set)


def play(window: int, lang: str, fast: bool = False, out: TextIO | None = None) -> int:
    out = out or sys.stdout
    messages = OpenAIChat().compose(recorded())["messages"]
    requests = list(_requests(messages))
    plain = Session(window=1 << 40, reserve=0)
    session = Session(window=window)
    tally = DemoTotals()
    screen = _Screen(out, lang, live=out.isatty())
    plain.fit(messages)
    assert plain.receipt
    screen.line(say("demo_title", lang, steps=len(requests), tokens=plain.receipt.after, window=window))
    for number, end in enumerate(requests, 1):
        _step(session, plain, messages[:end], number, tally, screen, len(requests))
        if not fast and screen.live:
            time.sleep(PAUSE)
    opened = sum(1 for ref in tally.refs if session.recall(ref))
    screen.end()
    facts = {"steps": tally.steps, "over": tally.over, "bad": tally.bad, "folds": tally.foldings, "refs": opened}
    screen.line(say("demo_end", lang, **facts))
    return 0 if not tally.bad and opened == len(tally.refs) else 1


def recorded() -> Any:
    """The session that ships with the package, as a History."""
    loaded = load(files("yohaku.demo").joinpath("session.jsonl.gz").read_bytes(), "session.jsonl.gz")
    assert not isinstance(loaded, Request)
    return loaded.history


def _requests(messages: list[dict[str, Any]]) -> Iterator[int]:
    """How many messages each request of the session had: all before a reply."""
    return (index for index, message in enumerate(messages) if message["role"] == "assistant")


def _step(
    session: Session, plain: Session, messages: list[Any], number: int, tally: DemoTotals, screen: _Screen, steps: int
) -> None:
    plain.fit(messages)
    session.fit(messages)
    assert plain.receipt and session.receipt
    raw, receipt = plain.receipt.after, session.receipt
    tally.steps += 1
    if raw > receipt.limit:
        tally.over += 1
        tally.first_over = tally.first_over or number
    tally.bad += receipt.after > receipt.limit
    if receipt.outcome.folds:
        tally.foldings += 1
        tally.refs |= {fold.ref for fold in receipt.outcome.folds}
        screen.folding(number, receipt)
    screen.show(number, steps, raw, receipt.after, receipt.limit, tally.first_over)


class _Screen:
    """Lines that stay, and two bars below them that move. Without a terminal only the lines."""

    def __init__(self, out: TextIO, lang: str, live: bool) -> None:
        self.out, self.lang, self.live = out, lang, live
        self._drawn = 0

    def line(self, text: str) -> None:
        self._wipe()
        print(text, file=self.out, flush=True)

    def folding(self, step: int, receipt: Any) -> None:
        made = receipt.outcome.folds
        facts = {"step": step, "before": receipt.before, "after": receipt.after, "count": len(made)}
        self.line("  " + say("demo_folded", self.lang, **facts))
        for fold in sorted(made, key=lambda fold: fold.after - fold.before)[:2]:
            what, why = describe(fold.what, fold.why, self.lang, fold.detail)
            what = what if isinstance(fold, Gist) else f"{what}: {why}"
            self.line(f"      {fold.before:>7,} → {fold.after:<6,} {what}; ref={fold.ref}")

    def show(self, step: int, steps: int, raw: int, after: int, limit: int, first_over: int) -> None:
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
        self._drawn = len(rows)

    def end(self) -> None:
        self._drawn = 0

    def _wipe(self) -> None:
        if self._drawn:
            self.out.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


def _bar(tokens: int, limit: int) -> str:
    full = min(WIDTH, round(WIDTH * tokens / limit))
    colour = "31" if tokens > limit * 0.9 else "33" if tokens > limit * 0.6 else "32"
    return f"\x1b[{colour}m{'█' * full}\x1b[0m{'░' * (WIDTH - full)}"
