"""Folds that the store has for one conversation, and those that its view shows: read on as the conversation grows.

Law: the view is the same as if every fold had been read again, so that every process on the store shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from yohaku.core.folds import QUIET, UNKNOWN_MAKER, Fold, FoldId, MadeFor, id_of
from yohaku.core.reuse import Reach, Reusable
from yohaku.core.view import View
from yohaku.session.fold_log import FoldLog

Select: TypeAlias = Callable[[Iterable[Fold]], Reusable]


@dataclass(slots=True)
class StoredFolds:
    found: dict[FoldId, Fold] = field(default_factory=dict)
    limit: int = 0
    """Limit that folds made now are remembered for."""
    reach: Reach = "none"
    _shown: frozenset[FoldId] = frozenset()

    def add(self, folds: Iterable[Fold], log: FoldLog) -> None:
        """Add folds as they were read, without those recorded as undone: the store may not have forgotten them yet."""
        standing = [fold for fold in folds if id_of(fold) not in log.undone_folds]
        self.found |= {id_of(fold): fold for fold in _with_recorded_limits(standing, log)}

    def view_on(self, view: View, select: Select, before: View | None) -> View:
        """Return a view with the folds that may show; with the maps of `before` itself if those show already."""
        reusable = select(self.found.values())
        shown = frozenset(map(id_of, reusable.folds))
        self.limit, self.reach = reusable.limit, reusable.reach
        if before is not None and shown == self._shown:
            return View(view.history, before.stubs, before.gists, view.pins)
        self._shown = shown
        return view.with_(reusable.folds)

    def note_made(self, folds: Iterable[Fold]) -> None:
        """Add the folds of a planning; those made by weight show that the conversation reaches that level."""
        made = {id_of(fold): fold for fold in folds}
        self.found |= made
        self._shown |= made.keys()
        causes = {fold.made_for.how for fold in made.values()}
        if "" in causes:
            self.reach = "all"
        elif QUIET in causes and self.reach == "none":
            self.reach = "quiet"


class ShownFolds:
    """Folds that a session has made or shown, to find those that it shows for the first time."""

    def __init__(self) -> None:
        self._ids: set[FoldId] = set()

    def add(self, view: View, made: Iterable[Fold]) -> tuple[Fold, ...]:
        """Add the folds of a view; return those not made now that are new here."""
        self._ids.update(map(id_of, made))
        new = tuple(fold for fold in view.shown_folds if id_of(fold) not in self._ids)
        self._ids.update(map(id_of, new))
        return new


def _with_recorded_limits(folds: list[Fold], log: FoldLog) -> Iterator[Fold]:
    """Yield the folds; those of an older version with the limits in the records of their foldings."""
    old = any(fold.made_for == UNKNOWN_MAKER for fold in folds)
    limits = {each: done.row["limit"] for each, done in log.latest().items()} if old else {}
    for fold in folds:
        limit = limits.get(id_of(fold), 0) if fold.made_for == UNKNOWN_MAKER else 0
        yield replace(fold, made_for=MadeFor(limit=limit)) if limit else fold
