"""Stored folds that may be shown again: a store keeps those of every recipe and window side by side.

Law: what the user folded stays folded. Any other fold is shown only while the whole conversation reaches the level at
which this recipe folds, only if it was made for this recipe and a like limit, and beside no fold of another limit. So
nothing is folded below the first rung whatever was folded before, a larger window folds again from the whole, and a
limit that moves a little breaks no prompt cache. A gist is shown only with all chapters before it; those of a gist that
the user made stay with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from yohaku.core.budget import Budget
from yohaku.core.folds import MANUAL, QUIET, Fold, Gist, MadeFor, Place, Stub, place_of
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
    stored = list(stored)
    alike = [fold for fold in stored if serves(fold.made_for, recipe.name, limit)]
    nearest = _nearest_limit((fold.made_for for fold in alike), limit)
    ours = [fold for fold in alike if fold.made_for.how == MANUAL or fold.made_for.limit == nearest]
    if nearest and reach != "all":
        reach = _find_reach(history, weigher, recipe, budget)
    allowed = [fold for fold in ours if fold.made_for.how in ALLOWED[reach]]
    gists = [fold for fold in allowed if isinstance(fold, Gist)]
    rows = _shortest_rows([*gists, *_chapters_before(gists, stored)])
    stubs = _shortest_stubs(fold for fold in allowed if isinstance(fold, Stub))
    return Reusable((*rows, *stubs), nearest or limit, reach)


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


def _shortest_stubs(stubs: Iterable[Stub]) -> Iterator[Stub]:
    """Yield one stub for each place. A fold replaces another in its place only if it is shorter."""
    best: dict[Place, Stub] = {}
    for stub in stubs:
        found = best.get(place_of(stub))
        if found is None or stub.after < found.after:
            best[place_of(stub)] = stub
    return iter(best.values())


def _chapters_before(gists: Iterable[Gist], stored: Iterable[Fold]) -> Iterator[Gist]:
    """Yield the chapters that gists made by hand stand behind, which may be of a limit unlike this one."""
    wanted = [gist for gist in gists if gist.made_for.how == MANUAL and gist.start]
    known: dict[tuple[str, str, int], list[Gist]] = {}
    for fold in stored if wanted else ():
        if isinstance(fold, Gist):
            known.setdefault((fold.key, *fold.made_for[:2]), []).append(fold)
    while wanted:
        gist = wanted.pop()
        found = known.pop((gist.start, *gist.made_for[:2]), [])
        yield from found
        wanted += found


def _shortest_rows(gists: Iterable[Gist]) -> Iterator[Gist]:
    """Yield one gist for each end: the last of the shortest row of chapters that is whole; none where no row is."""
    by_key: dict[str, list[Gist]] = {}
    for gist in gists:
        by_key.setdefault(gist.key, []).append(gist)
    best: dict[str, _GistRow | None] = {}
    for key in by_key:
        waiting = [key] if key not in best else []
        while waiting:  # not recursive: rows may be long
            missing = [gist.start for gist in by_key[waiting[-1]] if gist.start in by_key and gist.start not in best]
            best.setdefault(waiting[-1], None)  # also keeps a row from leading back to its own end
            if missing:
                waiting.append(missing[0])
                continue
            rows = [row for gist in by_key[waiting[-1]] if (row := _row_with(gist, best)) is not None]
            best[waiting.pop()] = min(rows, default=None)
    return (row.last for row in best.values() if row is not None)


@dataclass(frozen=True, slots=True, order=True)
class _GistRow:
    tokens: int
    chapters: int
    made_for: MadeFor
    """Decides between rows that are alike, so that every process chooses the same."""
    last: Gist = field(compare=False)


def _row_with(gist: Gist, best: Mapping[str, _GistRow | None]) -> _GistRow | None:
    before = best.get(gist.start) if gist.start else None
    if gist.start and before is None:
        return None
    tokens, chapters = (before.tokens, before.chapters) if before else (0, 0)
    return _GistRow(tokens + gist.after, chapters + 1, gist.made_for, gist)
