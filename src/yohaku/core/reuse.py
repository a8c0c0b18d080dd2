"""Stored folds that may be shown again: a store keeps those of every recipe and window side by side.

Law: what the user folded stays folded. Any other fold is shown only while the whole conversation reaches the level at
which this recipe folds, only if it was made for this recipe and a like limit, and beside no fold of another limit. So
nothing is folded below the first rung whatever was folded before, a larger window folds again from the whole, and a
limit that moves a little breaks no prompt cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from yohaku.core.budget import Budget
from yohaku.core.folds import MANUAL, QUIET, Fold, MadeFor, Place, place_of
from yohaku.core.model import History
from yohaku.core.recipe import Recipe
from yohaku.core.weigh import Weigher

UNLIKE_RATIO = 2
"""Limits are alike if the larger is less than this many times the smaller: a reply of half a window changes nothing."""

Reach: TypeAlias = Literal["none", "quiet", "all"]
"""Rungs whose level the whole conversation reaches: none, only quiet ones, or others as well."""


ALLOWED: dict[Reach, tuple[str, ...]] = {"none": (MANUAL,), "quiet": (MANUAL, QUIET), "all": (MANUAL, QUIET, "")}


@dataclass(frozen=True, slots=True)
class Reusable:
    """Folds to show again, and the limit that folds made on top of them are remembered for."""

    folds: tuple[Fold, ...]
    limit: int
    reach: Reach


def select_reusable(
    stored: Iterable[Fold],
    history: History,
    weigher: Weigher,
    recipe: Recipe,
    budget: Budget,
    limit: int,
    reach: Reach = "none",
) -> Reusable:
    """Return the folds that this recipe may show again on this history.

    `limit`: that of the session, by which folds are compared; `budget` may differ from it by what a provider taught.
    `reach`: known already from a conversation that this one extends, which reaches at least as far.
    """
    alike = [fold for fold in stored if serves(fold.made_for, recipe.name, limit)]
    nearest = _nearest_limit((fold.made_for for fold in alike), limit)
    ours = [fold for fold in alike if fold.made_for.how == MANUAL or fold.made_for.limit == nearest]
    if nearest and reach != "all":
        reach = _find_reach(history, weigher, recipe, budget)
    shown = _shortest(fold for fold in ours if fold.made_for.how in ALLOWED[reach])
    return Reusable(tuple(shown), nearest or limit, reach)


def serves(made_for: MadeFor, recipe: str, limit: int) -> bool:
    """Test whether a fold may serve this recipe at this limit: made by hand, or for this recipe and a like limit."""
    if made_for.how == MANUAL:
        return True
    like = max(made_for.limit, limit) < UNLIKE_RATIO * min(made_for.limit, limit)
    return like and made_for.recipe in ("", recipe)


def _nearest_limit(found: Iterable[MadeFor], limit: int) -> int:
    """Return the limit most like this one that folds were made for by weight or quietly, or 0; of two, the larger."""
    known = sorted({made_for.limit for made_for in found if made_for.how != MANUAL}, reverse=True)
    return min(known, key=lambda other: max(other, limit) / min(other, limit), default=0)


def _find_reach(history: History, weigher: Weigher, recipe: Recipe, budget: Budget) -> Reach:
    enough = recipe.starts_at(budget)
    weight = _weigh_up_to(enough, history, weigher)
    if weight >= enough:
        return "all"
    return "quiet" if weight >= recipe.starts_at(budget, quiet=True) else "none"


def _weigh_up_to(enough: int, history: History, weigher: Weigher) -> int:
    """Return the tokens of a history, or of as much of its beginning as has `enough`."""
    total = 0
    for weight in _weights(history, weigher):
        total += weight
        if total >= enough:
            break
    return total


def _weights(history: History, weigher: Weigher) -> Iterator[int]:
    yield weigher.ledger(History(history.system, history.tools, forced=history.forced)).total
    for turn in history.turns:
        yield weigher.entries(turn.prompt)
        yield from map(weigher.step, turn.steps)


def _shortest(folds: Iterable[Fold]) -> Iterator[Fold]:
    """Yield one fold for each place. A fold replaces another in its place only if it is shorter."""
    best: dict[Place, Fold] = {}
    for fold in folds:
        found = best.get(place_of(fold))
        if found is None or fold.after < found.after:
            best[place_of(fold)] = fold
    return iter(best.values())
