"""Tokens the tools of a step may still return, and a way to save what does not fit.

The budget is a context variable, so that no tool has to pass it on; without one the tools' own limits hold.
Law: a ref is shown only after its content is in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO

from yohaku.agent.toolkit.secrets import redact
from yohaku.agent.toolkit.tool import ToolContext
from yohaku.core.errors import StoreFailed
from yohaku.core.meter import Meter
from yohaku.core.originals import OutputRef

MAX_BYTES_PER_TOKEN = 8
"""Upper estimate; vocabularies have 3 to 5 in English and code."""
MIN_TOKENS = 64
"""Tokens a tool may always return: enough for a note that the budget is spent."""


@dataclass(slots=True)
class OutputBudget:
    tokens: int
    meter: Meter
    spent: int = 0
    """Tokens of the results of this step; calls that run at the same time share one budget."""

    @property
    def tokens_left(self) -> int:
        return max(MIN_TOKENS, self.tokens - self.spent)


_BUDGET: ContextVar[OutputBudget | None] = ContextVar("output_budget", default=None)


@contextmanager
def limit_output(tokens: int, meter: Meter) -> Iterator[OutputBudget]:
    """Limit what the tools run inside return, all together."""
    budget = OutputBudget(tokens, meter)
    before = _BUDGET.set(budget)
    try:
        yield budget
    finally:
        _BUDGET.reset(before)


def tokens_left() -> int | None:
    """Tokens; None where there is no room but the caps."""
    budget = _BUDGET.get()
    return budget.tokens_left if budget else None


def max_bytes(cap: int) -> int:
    """Return how many bytes are worth reading: the cap, or less where the budget is smaller."""
    budget = _BUDGET.get()
    return min(cap, budget.tokens_left * MAX_BYTES_PER_TOKEN) if budget else cap


def fits(text: str) -> bool:
    """Return whether a text fits the budget. A very long one is refused without being counted."""
    budget = _BUDGET.get()
    return budget is None or (
        len(text) <= budget.tokens_left * MAX_BYTES_PER_TOKEN and budget.meter.count(text) <= budget.tokens_left
    )


def spend(text: str) -> None:
    """Take the tokens of a result from the budget."""
    budget = _BUDGET.get()
    if budget:
        budget.spent += budget.meter.count(text)


def keep_head(text: str, note: str = "") -> tuple[str, bool]:
    """As many whole lines from the beginning as there is room for beside the note, and whether that is less."""
    cut = _cut(text, note, 1.0)
    return (text, False) if cut is None else (cut, True)


def keep_ends(text: str, note: str, share: float = 0.5) -> tuple[str, bool]:
    """The beginning and the end, with the note between them, and whether something had to go."""
    cut = _cut(text, note, share)
    return (text, False) if cut is None else (cut, True)


def _cut(text: str, note: str, share: float) -> str | None:
    """Return the shortened text; None if all of it fits."""
    budget = _BUDGET.get()
    if budget is None or fits(text):
        return None
    count, tokens = budget.meter.count, budget.tokens_left - budget.meter.count(note) - 2
    text = _drop_middle(text, tokens * MAX_BYTES_PER_TOKEN, share)
    keep = int(len(text) * tokens / max(1, count(text)))
    for _ in range(12):
        first = text[: int(keep * share)]
        last = text[len(text) - (keep - len(first)) :] if keep > len(first) else ""
        shown = "\n".join(
            filter(None, (_drop_partial_line(first, end=False), note, _drop_partial_line(last, end=True)))
        )
        weight = count(shown)
        if weight <= budget.tokens_left:
            return shown
        keep = int(keep * min(0.9, 0.95 * tokens / weight)) if tokens > 0 else 0
    return note


def _drop_middle(text: str, most: int, share: float) -> str:
    """Shorten a very long text to what could be shown at all, so that it need not be counted whole."""
    most = max(1, most)
    if len(text) <= 2 * most:
        return text
    return text[:most] if share >= 1 else text[:most] + "\n" + text[-most:]


def _drop_partial_line(side: str, *, end: bool) -> str:
    """Drop the part of a line at the cut, unless that is most of the text."""
    if end:
        return side[side.index("\n") + 1 :] if "\n" in side[: len(side) // 2] else side
    return side[: side.rindex("\n")] if "\n" in side[len(side) // 2 :] else side


async def save_output(context: ToolContext, original: str | IO[bytes]) -> OutputRef | None:
    """Store all of an output; None where there is no store."""
    return await asyncio.to_thread(save_in_thread, context, original)


def save_in_thread(context: ToolContext, original: str | IO[bytes]) -> OutputRef | None:
    """Do as `save_output`, for tools that work in a thread of their own. A file must hold no secrets."""
    if context.session is None:
        return None
    source = [redact(original)] if isinstance(original, str) else original
    try:
        kept = context.session.store.put_stream(source)
    except StoreFailed:  # the session tells the user; the model goes on with what it sees
        return None
    return OutputRef(kept.ref, kept.size, kept.lines)


def ref_note(saved: OutputRef | None) -> str:
    """Return `; ref=…` for a note; empty where nothing was stored."""
    return f"; ref={saved.id}" if saved else ""


def format_size(count: int) -> str:
    """Return a size as `4.8 MB`."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
