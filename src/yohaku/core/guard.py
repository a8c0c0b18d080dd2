"""What no pass may fold, whoever wrote it: what is pinned, and for as long as there is room what the user opened again.

Law: the engine asks here about every fold that is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from yohaku.core.folds import Cut, Fold, Gist, Slot, Stub, View
from yohaku.core.pins import title_in

Place: TypeAlias = tuple[str, Slot | None]
"""Where a fold stands: the key, and the slot of a stub; a gist has none."""

AGAIN = "undone_but_needed"


def place_of(fold: Fold) -> Place:
    return fold.key, fold.slot if isinstance(fold, Stub) else None


class Guard:
    def __init__(self, view: View, held: Iterable[Place], count: Callable[[str], int]) -> None:
        """`held`: places of folds that were undone."""
        self._view = view
        self._count = count
        self._places = frozenset(held)
        self._cuts = _cuts(view) if self._places or view.pins.media else {}
        self._keys = self._held_keys()
        """Of what may not go into a gist: turns by their prompts, and steps."""
        self._opened = self._opened_keys()
        """Of what a gist that was undone hid: no piece of it may be folded either."""
        turns, steps = view.history.turns[-1:], view.history.steps[-1:] if self._places else ()
        self._newest = {turn.key for turn in turns} | {step.key for step in steps}

    @property
    def holds(self) -> bool:
        """Whether anything that can be seen is held open."""
        return bool(self._keys)

    def let(self, view: View, folds: Iterable[Fold], *, held: bool, newest: bool = False) -> list[Fold]:
        """Those of the folds that may be made, a passage that is pinned put into them.

        With `held` what is held stays, and with `newest` the newest prompt and step: the user's undo matters less than
        they do. Without, what was held and is folded all the same says so.
        """
        allowed = (self._unpinned(fold) for fold in folds)
        found = [fold for fold in allowed if fold is not None]
        if not self._keys:
            return found
        if held:
            spared = self._keys | (self._newest if newest else set())
            whole = self._opened | (self._newest if newest else set())
            return [fold for fold in found if not self._touches(view, fold, spared, whole)]
        again = (self._touches(view, fold, self._keys, self._opened) for fold in found)
        return [replace(fold, why=AGAIN) if yes else fold for fold, yes in zip(found, again, strict=True)]

    def _unpinned(self, fold: Fold) -> Fold | None:
        pins = self._view.pins
        if isinstance(fold, Gist):
            hidden = _keys_before(self._view, self._cuts.get(fold.key, Cut(0, 0))) if pins.media else set()
            return None if hidden & pins.media else fold
        if pins.spares(fold.key, fold.slot, fold.text):
            return fold
        if fold.slot.where == "thought" or fold.slot in pins.whole.get(fold.key, ()):
            return None
        said = [pin.value for pin in pins.passages[fold.key][fold.slot] if pin.value not in fold.text]
        text = "\n".join([fold.text, title_in(said[0]), *said])
        return replace(fold, text=text, after=self._count(text))

    def _touches(self, view: View, fold: Fold, keys: set[str], whole: set[str]) -> bool:
        """Whether a gist hides any of the keys, or a stub stands on one that is to stay whole, or on what is held."""
        if isinstance(fold, Stub):
            return fold.key in whole or (fold.key, fold.slot) in self._places
        cut = self._cuts.get(fold.key, Cut(0, 0))
        return cut > view.cut and bool((_keys_before(view, cut) - _keys_before(view, view.cut)) & keys)

    def _held_keys(self) -> set[str]:
        if not self._places:
            return set()
        seen = {key for turn in self._view.visible() for key in (turn.key, *(step.key for step in turn.steps))}
        return {key for key, slot in self._places if slot and key in seen} | self._opened_keys()

    def _opened_keys(self) -> set[str]:
        ends = [self._cuts[key] for key, slot in self._places if slot is None and key in self._cuts]
        end = max(ends, default=Cut(0, 0))
        if end <= self._view.cut:
            return set()
        return _keys_before(self._view, end) - _keys_before(self._view, self._view.cut)


def _cuts(view: View) -> dict[str, Cut]:
    turns = view.history.turns
    return {
        view.key_at(cut): cut for n, turn in enumerate(turns) for cut in (Cut(n, s) for s in range(len(turn.steps) + 1))
    }


def _keys_before(view: View, cut: Cut) -> set[str]:
    turns = view.history.turns
    whole = {key for turn in turns[: cut.turn] for key in (turn.key, *(step.key for step in turn.steps))}
    return whole | {step.key for step in turns[cut.turn].steps[: cut.steps]} if cut.turn < len(turns) else whole
