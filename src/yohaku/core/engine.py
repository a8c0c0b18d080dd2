"""Planning a folding: passes propose, this engine accepts what makes the conversation smaller, nobody else decides.

`plan` is a generator: where a pass needs a model it yields a `Question` and is sent the answer, so the same code
serves sync, async and tests. It touches nothing outside its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from yohaku.core.budget import At, Budget
from yohaku.core.errors import Refused, Unanswered
from yohaku.core.fold import Fold, Gist, View
from yohaku.core.ledger import Ledger, Scales
from yohaku.core.meter import Meter
from yohaku.core.payback import Payback, Prices, payback


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass asks a model."""

    purpose: str
    text: str
    """The whole prompt, complete in itself."""
    limit: int
    """Tokens the answer may have."""
    prefill: str = ""
    """What the answer may be made to begin with, by a server that can."""
    stop: tuple[str, ...] = ()
    schema: str = ""
    """JSON schema of an answer that is understood as well, for a server that can hold a model to one."""
    model: str = ""
    """Which model to ask, where the recipe names one."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a pass asks the surface: a file as it is now."""

    path: str


@dataclass(frozen=True, slots=True)
class Folding:
    """Said once before a folding: the surface may add words for it, or refuse it."""

    manual: bool
    """Asked for by the user, or started by the weight."""
    weight: int
    limit: int


Effect: TypeAlias = Question | Look | Folding
"""What a planning yields. It is sent a text: the answer, the file (none: empty), words to add."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the surface wants of a planning beyond the recipe."""

    manual: bool = False
    """Fold now, whatever the weight."""
    words: str = ""
    """What the user wants kept, in their words."""
    drafts: Mapping[str, Gist] = field(default_factory=dict)
    """Gists prepared earlier, by key: a pass that would ask takes one of these instead."""
    model: bool = True
    """Whether somebody is there to answer questions; where nobody is, none need be put together."""
    ahead: int | None = None
    """Steps that are expected to follow; as many as there were so far, where nobody knows."""
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Room:
    """What a pass may know beside the view."""

    budget: Budget
    scales: Scales
    ledger: Ledger
    """Of the view as it stands."""
    goal: int
    """Tokens to come down to."""
    wish: Wish = field(default_factory=Wish)

    @property
    def meter(self) -> Meter:
        return self.scales.meter

    @property
    def excess(self) -> int:
        return self.ledger.total - self.goal

    def newest_is_too_big(self, view: View) -> bool:
        """Whether the newest prompt and step alone are over the limit, whatever is done about the rest."""
        turns = view.stubbed
        step = next((turn.steps[-1] for turn in reversed(turns) if turn.steps), None)
        newest = self.scales.entries(turns[-1].prompt) if turns else 0
        return self.ledger.fixed + newest + (self.scales.step(step) if step else 0) > self.budget.limit


Asking: TypeAlias = Generator[Effect, str, "list[Fold]"]
Pass: TypeAlias = Callable[[View, Room], "list[Fold] | Asking"]


@dataclass(frozen=True, slots=True)
class Rung:
    level: At
    """Fires when the view weighs this much or more."""
    propose: Pass
    goal: At = "warm"
    """Folds down to this, well below its level, so that nothing changes again for many turns."""
    pays: bool = False
    """Only where what it saves is worth the part of the prompt cache it breaks."""
    last: bool = False
    """Fires by what the weight is by now, not by what it was when folding began, as all rungs at "over" do."""
    quiet: bool = False
    """Upkeep that is done at every turn: it is not announced, and so cannot be refused."""
    when: Callable[[View, Room], bool] | None = None
    """Fires only where this holds too, unless the user asks."""


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class Fits:
    name = "fits"


@dataclass(frozen=True, slots=True)
class Folded:
    name = "folded"


@dataclass(frozen=True, slots=True)
class Inflated:
    """What was proposed would have made it bigger, and was refused."""

    name = "inflated"


@dataclass(frozen=True, slots=True)
class TooBig:
    what: str
    """In the user's words: "system prompt", "tool definitions", "newest prompt" …"""
    needs: int
    """Tokens, folded as far as can be."""
    limit: int
    name = "too_big"

    def __str__(self) -> str:
        return (
            f"does not fit: {self.what} would need {self.needs:,} tokens and the limit is {self.limit:,}; "
            f"shorten it, or use a larger window"
        )


Verdict: TypeAlias = Fits | Folded | Inflated | TooBig


@dataclass(frozen=True, slots=True)
class Outcome:
    view: View
    before: Ledger
    after: Ledger
    verdict: Verdict
    folds: tuple[Fold, ...] = ()
    """The folds made by this planning, in order."""
    asks: int = 0
    """Questions put to a model."""
    failed: tuple[str, ...] = ()
    """Why questions had no answer."""
    payback: Payback | None = None


ROUNDS = 8
"""A later rung may leave an earlier one something to do. It is done at once, not at the next turn."""


def plan(
    view: View, budget: Budget, recipe: Recipe, meter: Meter, wish: Wish | None = None
) -> Generator[Effect, str, Outcome]:
    scales, wish = Scales(meter), wish or Wish()
    first, before = view, scales.ledger(view.shown)
    after = before
    if not budget.feasible(before):
        return Outcome(view, before, before, too_big(view, before, budget))
    made: list[Fold] = []
    asks, failed = 0, list[str]()
    inflated = begun = False
    for _ in range(ROUNDS):
        start, settled = after.total, True
        for rung in recipe.rungs:
            if not _fires(rung, budget, start, after.total, wish.manual):
                continue
            goal = min(budget.at(rung.goal), after.total // 2) if wish.manual else budget.at(rung.goal)
            room = Room(budget, scales, after, goal, wish)
            if not (rung.when is None or wish.manual or rung.when(view, room)):
                continue
            if not (begun or rung.quiet):
                begun = True
                try:
                    words = yield Folding(wish.manual, after.total, budget.limit)
                except Refused:
                    kept = _standing(made, view)
                    return Outcome(view, before, after, _unfolded(after, budget, bool(kept)), kept)
                wish = replace(wish, words="\n".join(filter(None, (wish.words, words))))
                room = replace(room, wish=wish)
            proposed, asked = yield from _propose(rung.propose, view, room, failed)
            asks += asked
            folds = [fold for fold in proposed if fold.after < fold.before]
            candidate = view.with_(folds)
            weight = scales.ledger(candidate.shown) if folds else after
            if weight.total >= after.total:
                inflated |= bool(proposed) and not rung.quiet
            elif (
                not rung.pays
                or after.total > budget.limit
                or payback(view, candidate, scales, wish.prices).steps <= _ahead(wish, view)
            ):
                view, after, settled = candidate, weight, False
                made += folds
        if settled or wish.manual:
            break
    verdict = _verdict(view, after, budget, bool(made), inflated)
    back = payback(first, view, scales, wish.prices) if made else None
    return Outcome(view, before, after, verdict, _standing(made, view), asks, tuple(failed), back)


def _fires(rung: Rung, budget: Budget, start: int, now: int, manual: bool) -> bool:
    """Once folding begins it goes on down to the goal, so that the next time is many turns away.

    Only what is for emergencies looks at what the weight is by now, not at what it was at the start.
    """
    if rung.level == "over" or rung.last:
        return now >= budget.at(rung.level)
    return manual or (start >= budget.at(rung.level) and now > budget.at(rung.goal))


def _ahead(wish: Wish, view: View) -> int:
    """How many steps to expect. What has lasted long lasts long."""
    return len(view.history.steps) if wish.ahead is None else wish.ahead


def _propose(
    propose: Pass, view: View, room: Room, failed: list[str]
) -> Generator[Effect, str, tuple[list[Fold], int]]:
    proposed = propose(view, room)
    if isinstance(proposed, list):
        return proposed, 0
    asks = 0
    try:
        effect = next(proposed)
        while True:
            asks += isinstance(effect, Question)
            try:
                answer = yield effect
            except Unanswered as nobody:
                failed.append(str(nobody))
                effect = proposed.throw(nobody)
            else:
                effect = proposed.send(answer)
    except StopIteration as stop:
        return stop.value, asks


def _standing(made: list[Fold], view: View) -> tuple[Fold, ...]:
    """Those of the folds made that still show: a later rung may have folded over an earlier one."""
    shown = {id(fold) for fold in (*view.live, view.gist)}
    return tuple(fold for fold in made if id(fold) in shown)


def _verdict(view: View, after: Ledger, budget: Budget, folded: bool, inflated: bool) -> Verdict:
    if after.total > budget.limit:
        return too_big(view, after, budget)
    if folded:
        return Folded()
    return Inflated() if inflated else Fits()


def _unfolded(after: Ledger, budget: Budget, folded: bool) -> Verdict:
    if after.total <= budget.limit:
        return Folded() if folded else Fits()
    return TooBig("the conversation, which was not to be folded,", after.total, budget.limit)


def too_big(view: View, after: Ledger, budget: Budget) -> TooBig:
    """Names what stands in the way, the first of the things that cannot be folded which is over the limit."""
    limit = budget.limit
    system, tools = after.request + after.system, after.request + after.tools
    if after.fixed > limit:
        if not after.system and not after.tools:
            return TooBig("even an empty request", system, limit)
        if system > limit or not after.tools:
            return TooBig("the system prompt", system, limit)
        if tools > limit:
            return TooBig("the tool definitions", tools, limit)
        return TooBig("the system prompt with the tool definitions", after.fixed, limit)
    newest = "newest turn" if view.shown.turns and view.shown.turns[-1].steps else "newest prompt"
    if after.turns > limit:
        return TooBig(f"the {newest}", after.turns, limit)
    beside = "tool definitions" if after.tools > after.system else "system prompt"
    return TooBig(
        f"the {newest} beside the {beside}" if after.fixed > after.request else f"the {newest}", after.total, limit
    )
