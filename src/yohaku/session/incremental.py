"""Continuing from the last fit, when a client only appends: reading, weighing and writing no more than was added.

Law: adding changes nothing up to the mark; all but the last step, or the last prompt, lies before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome
from yohaku.core.errors import Unreadable
from yohaku.core.folds import Cut
from yohaku.core.model import History, Step, Turn, newest_step
from yohaku.core.recipe import Recipe
from yohaku.core.verdict import Fits
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.dialects.detect import detect
from yohaku.dialects.reader import IncrementalReader, SentEntries
from yohaku.session.stored_folds import StoredFolds
from yohaku.stores import Store

PLAIN_TEXT_DIALECT = "openai_chat"
"""The dialect that `detect` returns for plain texts, which are alike in several."""


@dataclass(slots=True)
class LastFit:
    """The result of the last fit, to continue from."""

    reader: IncrementalReader
    outcome: Outcome
    entry_count: int
    """Entries of its body."""
    written: list[Any] | None
    """The entries it handed out; None if nothing was folded."""
    store_version: int
    """Another session may have folded since."""
    sent: SentEntries
    stored: StoredFolds
    fitted_for: tuple[Recipe, Budget]
    stale: bool = False
    """True if others kept, undid or pinned something since, or recipe or budget are others now."""

    def extends_to(self, body: Any, *, check_dialect: bool) -> bool:
        """Return whether a body only adds entries to the last one, in the same dialect."""
        return self.reader.extends_to(body, self.sent) and not (check_dialect and self._changes_dialect(body))

    def _changes_dialect(self, body: Any) -> bool:
        dialect = self.reader.dialect
        added = dialect.entries_of(body)[self.entry_count :]
        if not added:
            return False
        try:
            found = detect(added)
        except Unreadable:
            return False  # nothing in it points to any dialect
        return found not in (dialect.name, PLAIN_TEXT_DIALECT) and detect(body) != dialect.name

    def extend_outcome(self, history: History, weigher: Weigher, starts_at: int, store: Store) -> Outcome | None:
        """Return the outcome for a longer history without planning; None if it has to be planned.

        That is so from `starts_at` tokens on, and where folds stand on anything after the mark.
        """
        view, before = self.outcome.view, self.outcome.after
        if self.stale or (view.history.system, view.history.tools) != (history.system, history.tools):
            return None
        mark = settled_mark(view.history)
        touched = any(key in view.stubs for key in keys_since(view.history, mark))
        if touched or view.cut > mark or store.folds(keys_since(history, mark)):
            return None
        added = weigher.turns(turns_since(history, mark)) - weigher.turns(turns_since(view.history, mark))
        newest = newest_step(history.turns)
        results = sum(weigher.parts(use.result.parts) for use in newest.uses) if newest else 0
        ledger = replace(before, turns=before.turns + added, last=results)
        if ledger.total >= starts_at:
            return None
        return Outcome(view.grown(history), ledger, ledger, Fits())


def write_body(
    reader: IncrementalReader,
    outcome: Outcome,
    last: LastFit | None,
    version: int,
    stored: StoredFolds,
    fitted_for: tuple[Recipe, Budget],
) -> tuple[Any, LastFit]:
    """Return the body to hand out, and what the next fit continues from."""
    dialect, body = reader.dialect, reader.body
    entries = dialect.entries_of(body)
    if last and not outcome.folds and _shows_the_same(last.outcome.view, outcome.view):
        written = None if last.written is None else [*last.written, *entries[last.entry_count :]]
        out = body if written is None else dialect.with_entries(body, list(written))
        sent = last.sent
    else:
        out = dialect.write(body, outcome.view)
        written = None if out is body else list(dialect.entries_of(out))
        sent = dialect.sent_entries(outcome.view, len(entries))
    return out, LastFit(reader, outcome, len(entries), written, version, sent, stored, fitted_for)


def _shows_the_same(before: View, now: View) -> bool:
    """Return whether a longer history is shown as before, with what was added behind it."""
    return before.stubs is now.stubs and before.stand_in == now.stand_in


def settled_mark(history: History) -> Cut:
    """Return the mark up to which a history cannot change when something is added."""
    if not history.turns:
        return Cut(0, 0)
    return Cut(len(history.turns) - 1, max(0, len(history.turns[-1].steps) - 1))


def turns_since(history: History, mark: Cut) -> Iterator[Turn]:
    if not history.turns:
        return
    first = history.turns[mark.turn]
    yield replace(first, prompt=() if mark.steps else first.prompt, steps=first.steps[mark.steps :])
    yield from history.turns[mark.turn + 1 :]


def steps_since(history: History, mark: Cut) -> Iterator[Step]:
    for number in range(mark.turn, len(history.turns)):
        yield from history.turns[number].steps[mark.steps if number == mark.turn else 0 :]


def keys_since(history: History, mark: Cut) -> Iterator[str]:
    for number in range(mark.turn, len(history.turns)):
        turn = history.turns[number]
        yield turn.key
        for step in turn.steps[mark.steps if number == mark.turn else 0 :]:
            yield step.key
