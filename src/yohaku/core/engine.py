"""Planning a folding: passes propose, this engine accepts what makes the conversation smaller, nobody else decides.

`plan` is a generator: where a pass needs a model it yields a `Question` and is sent the answer, so the same code
serves sync, async and tests. It touches nothing outside its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from yohaku.core.budget import At, Budget
from yohaku.core.cache_break_even import CacheBreakEven, CachePrices, break_even
from yohaku.core.errors import Refused, Unanswered
from yohaku.core.folds import Fold, Gist, View
from yohaku.core.guard import Guard, Place
from yohaku.core.meter import Meter
from yohaku.core.pins import PinnedWeigher, heaviest
from yohaku.core.weigh import Ledger, Weigher


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
class ReadFile:
    """What a pass asks the surface: a file as it is now."""

    path: str


@dataclass(frozen=True, slots=True)
class FoldStarting:
    """Said once before a folding: the surface may add words for it, or refuse it."""

    manual: bool
    """Asked for by the user, or started by the weight."""
    weight: int
    limit: int


Effect: TypeAlias = Question | ReadFile | FoldStarting
"""What a planning yields. It is sent a text: the answer, the file (none: empty), words to add."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
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
    held: frozenset[Place] = frozenset()
    """Places of folds that were undone: they are left open as long as the conversation fits without them."""
    prices: CachePrices = field(default_factory=CachePrices)


@dataclass(frozen=True, slots=True)
class PassContext:
    """What a pass may know beside the view."""

    budget: Budget
    weigher: Weigher
    ledger: Ledger
    """Of the view as it stands."""
    goal: int
    """Tokens to come down to."""
    wish: PlanOptions = field(default_factory=PlanOptions)

    @property
    def meter(self) -> Meter:
        return self.weigher.meter

    @property
    def excess(self) -> int:
        return self.ledger.total - self.goal

    def newest_is_too_big(self, view: View) -> bool:
        """Whether it is over the limit whatever is done about what is older."""
        return self.newest(view) > self.budget.limit

    def newest(self, view: View) -> int:
        """What the newest prompt and step weigh with all that no folding can touch."""
        turns = view.stubbed
        step = next((turn.steps[-1] for turn in reversed(turns) if turn.steps), None)
        prompt = self.weigher.entries(turns[-1].prompt) if turns else 0
        return self.ledger.fixed + prompt + (self.weigher.step(step) if step else 0)


AskingPass: TypeAlias = Generator[Effect, str, "list[Fold]"]
Pass: TypeAlias = Callable[[View, PassContext], "list[Fold] | AskingPass"]


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
    when: Callable[[View, PassContext], bool] | None = None
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
    """Code, a key of `TOO_BIG`."""
    needs: int
    """Tokens, folded as far as can be."""
    limit: int
    pin: str = ""
    """What to unpin, where it is a pin that stands in the way."""
    origin: str = ""
    """The call or text that is pinned."""
    name = "too_big"

    def __str__(self) -> str:
        what = TOO_BIG.get(self.what, self.what).format(origin=self.origin)
        return (
            f"does not fit: {what} would need {self.needs:,} tokens and the limit is {self.limit:,}; "
            f"{f'unpin {self.pin}' if self.pin else 'shorten it'}, or use a larger window"
        )


TOO_BIG = {
    "empty_request": "even an empty request",
    "system_prompt": "the system prompt",
    "tool_definitions": "the tool definitions",
    "system_prompt_and_tools": "the system prompt with the tool definitions",
    "newest_prompt": "the newest prompt",
    "newest_prompt_beside_system_prompt": "the newest prompt beside the system prompt",
    "newest_prompt_beside_tools": "the newest prompt beside the tool definitions",
    "newest_turn": "the newest turn",
    "newest_turn_beside_system_prompt": "the newest turn beside the system prompt",
    "newest_turn_beside_tools": "the newest turn beside the tool definitions",
    "pinned": "what is pinned ({origin})",
    "unfolded_conversation": "the conversation, which was not to be folded,",
}
"""Everything that can be too big, in English for the message of the exception."""

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
    break_even: CacheBreakEven | None = None


ROUNDS = 8
"""A later rung may leave an earlier one something to do. It is done at once, not at the next turn."""


def plan(
    view: View, budget: Budget, recipe: Recipe, meter: Meter, wish: PlanOptions | None = None
) -> Generator[Effect, str, Outcome]:
    wish = wish or PlanOptions()
    planning = _Planning(view, budget, meter, wish)
    before = planning.after
    if not budget.feasible(planning.ledger):
        return Outcome(view, before, before, planning.verdict())
    try:
        if planning.guard.holds and not wish.manual:
            yield from planning.climb(recipe.rungs, held=True)
            if planning.after.total > budget.limit:
                last = tuple(rung for rung in recipe.rungs if rung.level == "over" or rung.last)
                yield from planning.climb(last or recipe.rungs)
        else:
            yield from planning.climb(recipe.rungs)
    except Refused:
        made = _standing(planning.made, planning.view)
        return Outcome(
            planning.view, before, planning.after, _unfolded(planning.after, budget, bool(made)), made, planning.asks
        )
    made = _standing(planning.made, planning.view)
    back = break_even(view, planning.view, planning.weigher, wish.prices) if planning.made else None
    failed = tuple(planning.failed)
    return Outcome(planning.view, before, planning.after, planning.verdict(), made, planning.asks, failed, back)


class _Planning:
    """A planning as it goes on."""

    def __init__(self, view: View, budget: Budget, meter: Meter, wish: PlanOptions) -> None:
        self.view, self.budget, self.wish = view, budget, wish
        self.weigher = Weigher(meter)
        self._lean = PinnedWeigher(meter, view.history, view.pins) if view.pins else None
        self.guard = Guard(view, wish.held, meter.count)
        self.after = self.weigher.ledger(view.shown)
        self.made: list[Fold] = []
        self.asks = 0
        self.failed: list[str] = []
        self._inflated = self._begun = False

    @property
    def ledger(self) -> Ledger:
        """The weight as passes see it."""
        if self._lean is None:
            return self.after
        self._lean.tail = self.view.pinned
        return self._lean.pinned(self.view.shown, self.after)

    def climb(self, rungs: tuple[Rung, ...], *, held: bool = False) -> Generator[Effect, str, None]:
        """Rung after rung, and again while one leaves another something to do; with `held` what is held open stays."""
        for _ in range(ROUNDS):
            start, settled = self.after.total, True
            for rung in rungs:
                if _fires(rung, self.budget, start, self.after.total, self.wish.manual):
                    settled &= not (yield from self._take(rung, held))
            if settled or self.wish.manual:
                return

    def _take(self, rung: Rung, held: bool) -> Generator[Effect, str, bool]:
        """Whether the rung changed anything. Raises `Refused` where the surface wants no folding."""
        room = self._room(rung, held)
        if not (rung.when is None or self.wish.manual or rung.when(self.view, room)):
            return False
        if not (self._begun or rung.quiet):
            self._begun = True
            words = yield FoldStarting(self.wish.manual, self.after.total, self.budget.limit)
            self.wish = replace(self.wish, words="\n".join(filter(None, (self.wish.words, words))))
            room = self._room(rung, held)
        proposed, asked = yield from _propose(rung.propose, self.view, room, self.failed)
        self.asks += asked
        allowed = self.guard.let(self.view, proposed, held=held, newest=held and rung.level == "over")
        folds = [fold for fold in allowed if fold.after < fold.before]
        candidate = self.view.with_(folds)
        weight = self.weigher.ledger(candidate.shown) if folds else self.after
        if weight.total >= self.after.total:
            self._inflated |= bool(allowed) and not rung.quiet
            return False
        if rung.pays and self.after.total <= self.budget.limit:
            back = break_even(self.view, candidate, self.weigher, self.wish.prices)
            if back.steps > _ahead(self.wish, self.view):
                return False
        self.view, self.after = candidate, weight
        self.made += folds
        return True

    def _room(self, rung: Rung, held: bool) -> PassContext:
        goal = self.budget.at(rung.goal)
        if self.wish.manual:
            goal = min(goal, self.after.total // 2)
        # What is held makes most gists impossible: no model is asked for one that may not stand.
        wish = replace(self.wish, model=False) if held else self.wish
        return PassContext(self.budget, self._lean or self.weigher, self.ledger, goal, wish)

    def verdict(self) -> Verdict:
        weight, limit = self.after.total, self.budget.limit
        if weight > limit and self._lean is not None:
            pins, free = self.view.pins, weight - self.ledger.fixed + self.after.fixed
            blocked = free <= limit or bool(pins.media)  # by its weight, or as no gist can go over it
            if blocked and (found := heaviest(self.view.history, pins, self.weigher)):
                origin, pin = found
                return TooBig("pinned", weight, limit, str(pin), origin)
        return _verdict(self.view, self.after, self.budget, bool(self.made), self._inflated)


def _fires(rung: Rung, budget: Budget, start: int, now: int, manual: bool) -> bool:
    """Once folding begins it goes on down to the goal, so that the next time is many turns away.

    Only what is for emergencies looks at what the weight is by now, not at what it was at the start.
    """
    if rung.level == "over" or rung.last:
        return now >= budget.at(rung.level)
    return manual or (start >= budget.at(rung.level) and now > budget.at(rung.goal))


def _ahead(wish: PlanOptions, view: View) -> int:
    """How many steps to expect. What has lasted long lasts long."""
    return len(view.history.steps) if wish.ahead is None else wish.ahead


def _propose(
    propose: Pass, view: View, room: PassContext, failed: list[str]
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
    gist = view.gists[view.gist.key] if view.gist else None  # as it was made, without what is pinned
    shown = {id(fold) for fold in (*view.live, gist)}
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
    return TooBig("unfolded_conversation", after.total, budget.limit)


def too_big(view: View, after: Ledger, budget: Budget) -> TooBig:
    """Names what stands in the way, the first of the things that cannot be folded which is over the limit."""
    limit = budget.limit
    system, tools = after.request + after.system, after.request + after.tools
    if after.fixed > limit:
        if not after.system and not after.tools:
            return TooBig("empty_request", system, limit)
        if system > limit or not after.tools:
            return TooBig("system_prompt", system, limit)
        if tools > limit:
            return TooBig("tool_definitions", tools, limit)
        return TooBig("system_prompt_and_tools", after.fixed, limit)
    newest = "newest_turn" if view.shown.turns and view.shown.turns[-1].steps else "newest_prompt"
    if after.turns > limit:
        return TooBig(newest, after.turns, limit)
    beside = "tools" if after.tools > after.system else "system_prompt"
    return TooBig(f"{newest}_beside_{beside}" if after.fixed > after.request else newest, after.total, limit)
