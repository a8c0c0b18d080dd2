"""Planning of a folding: passes propose folds, the engine accepts those that make the conversation smaller.

`plan` is a generator without side effects. If a pass needs a model, `plan` yields a `Question` and is sent the answer,
so the same code serves sync and async drivers and tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace

from yohaku.core.budget import Budget
from yohaku.core.cache_break_even import CacheBreakEven, break_even
from yohaku.core.errors import Refused, Unanswered
from yohaku.core.folds import MANUAL, QUIET, Cut, Fold, Gist, MadeFor, Place, Stub
from yohaku.core.meter import Meter
from yohaku.core.pins import PinnedWeigher, heaviest_pin, title_in
from yohaku.core.recipe import (
    Effect,
    FoldStarting,
    Pass,
    PassContext,
    PlanOptions,
    Question,
    ReadReminder,
    Recipe,
    Rung,
)
from yohaku.core.verdict import TooBig, Verdict, judge, judge_refused
from yohaku.core.view import View
from yohaku.core.weigh import Ledger, Weigher


@dataclass(frozen=True, slots=True)
class Outcome:
    view: View
    before: Ledger
    after: Ledger
    verdict: Verdict
    folds: tuple[Fold, ...] = ()
    """Folds made by this planning, in order."""
    asks: int = 0
    """Questions put to a model."""
    failed: tuple[str, ...] = ()
    """Messages of the questions that had no answer."""
    break_even: CacheBreakEven | None = None

    @property
    def announced(self) -> tuple[Fold, ...]:
        """Folds to tell the user of: all but those of quiet rungs."""
        return tuple(fold for fold in self.folds if fold.made_for.how != QUIET)


MAX_ROUNDS = 8
"""A later rung may leave an earlier one something to do, which is done at once and not at the next turn."""


def plan(
    view: View, budget: Budget, recipe: Recipe, meter: Meter, options: PlanOptions | None = None
) -> Generator[Effect, str, Outcome]:
    options = options or PlanOptions()
    planning = _Planning(view, budget, meter, options, recipe.name)
    before = planning.after
    if not budget.feasible(planning.ledger):
        return Outcome(view, before, before, planning.verdict())
    try:
        if planning.guard.holds and not options.manual:
            yield from planning.climb(recipe.rungs, held=True)
            if planning.after.total > budget.limit:
                last = tuple(rung for rung in recipe.rungs if rung.level == "over" or rung.last)
                yield from planning.climb(last or recipe.rungs)
        else:
            yield from planning.climb(recipe.rungs)
    except Refused:
        made, verdict = _select_shown(planning.made, planning.view), judge_refused(planning.after, budget)
        return Outcome(planning.view, before, planning.after, verdict, made, planning.asks)
    made = _select_shown(planning.made, planning.view)
    back = break_even(view, planning.view, planning.weigher, options.prices) if planning.made else None
    failed = tuple(planning.failed)
    return Outcome(planning.view, before, planning.after, planning.verdict(), made, planning.asks, failed, back)


class _Planning:
    """State of one planning."""

    def __init__(self, view: View, budget: Budget, meter: Meter, options: PlanOptions, recipe: str) -> None:
        self.view, self.budget, self.options = view, budget, options
        self._made_for = MadeFor(recipe, options.made_for or budget.limit, MANUAL if options.manual else "")
        self.weigher = Weigher(meter)
        self._pinned_weigher = PinnedWeigher(meter, view.history, view.pins) if view.pins else None
        self.guard = _Guard(view, options.held, meter.count)
        self.after = self.weigher.ledger(view.shown)
        self.made: list[Fold] = []
        self.asks = 0
        self.failed: list[str] = []
        self._inflated = self._begun = False

    @property
    def ledger(self) -> Ledger:
        """Tokens as passes see them: whatever is pinned counts as fixed."""
        if self._pinned_weigher is None:
            return self.after
        preface = self.view.preface
        self._pinned_weigher.preface = preface.text if preface else ""
        self._pinned_weigher.tails = tuple(filter(None, self.view.pinned))
        self._pinned_weigher.before = preface.before if preface and preface.place == "joined" else None
        return self._pinned_weigher.pinned(self.view.shown, self.after)

    def climb(self, rungs: tuple[Rung, ...], *, held: bool = False) -> Generator[Effect, str, None]:
        """Run all rungs until none changes anything. `held`: keep open what the user undid."""
        for _ in range(MAX_ROUNDS):
            start, settled = self.after.total, True
            for rung in rungs:
                if self._fires(rung, start):
                    settled &= not (yield from self._run(rung, held))
            if settled or self.options.manual:
                return

    def _fires(self, rung: Rung, start: int) -> bool:
        """Test the size at the start, so that a folding goes on down to its goal and the next one is many turns away.

        Emergency rungs test the current size.
        """
        now, level = self.after.total, self.budget.at(rung.level)
        if rung.level == "over" or rung.last:
            return now >= level or (self.options.manual and rung.by_hand)
        goal = rung.goal_in(self.budget, self.after.fixed)
        return self.options.manual or (start >= level and now > goal)

    def _run(self, rung: Rung, held: bool) -> Generator[Effect, str, bool]:
        """Run one rung; return whether it changed anything. Raise `Refused` if the surface refuses to fold."""
        context = self._context(rung, held)
        if not (rung.when is None or self.options.manual or rung.when(self.view, context)):
            return False
        if not (self._begun or rung.quiet):
            self._begun = True
            words = yield FoldStarting(self.options.manual, self.after.total, self.budget.limit, self.options.words)
            self.options = replace(self.options, words="\n".join(filter(None, (self.options.words, words))))
            context = self._context(rung, held)
        proposed, asked = yield from _propose(rung.propose, self.view, context, self.failed)
        self.asks += asked
        allowed = self.guard.allow(self.view, proposed, held=held, newest=held and rung.level == "over")
        made_for = self._made_for._replace(how=QUIET) if rung.quiet and not self.options.manual else self._made_for
        kept = map(self._keep_lines, allowed) if self.options.kept_lines else allowed
        folds = [replace(fold, made_for=made_for) for fold in kept if fold.after < fold.before]
        if any(isinstance(fold, Gist) for fold in folds) and (reminder := (yield ReadReminder())):
            folds = self._with_reminder(folds, reminder)
        candidate = self.view.with_(folds)
        weight = self.weigher.ledger(candidate.shown) if folds else self.after
        if weight.total >= self.after.total:
            self._inflated |= bool(allowed) and not rung.quiet
            return False
        if rung.pays and self.after.total <= self.budget.limit:
            back = break_even(self.view, candidate, self.weigher, self.options.prices)
            if back.steps > _expected_steps(self.options, self.view):
                return False
        self.view, self.after = candidate, weight
        self.made += folds
        return True

    def _keep_lines(self, fold: Fold) -> Fold:
        """Return a stub with the lines that are to stay of the text that it hides."""
        if not isinstance(fold, Stub):
            return fold
        original = "\n".join(str(text) for _, text in self.view.originals(fold))
        lines = [line for line in self.options.kept_lines if line in original and line not in fold.text]
        text = "\n".join([fold.text, *lines])
        return replace(fold, text=text, after=self.weigher.meter.count(text)) if lines else fold

    def _with_reminder(self, folds: list[Fold], reminder: str) -> list[Fold]:
        """Return the folds with a reminder at the end of the last gist, unless it makes it too big."""
        gist = [fold for fold in folds if isinstance(fold, Gist)][-1]
        longer = replace(gist, text=f"{gist.text}\n\n{reminder}")
        longer = replace(longer, after=gist.after + self.weigher.turn(longer.turn) - self.weigher.turn(gist.turn))
        reminded = [longer if fold is gist else fold for fold in folds]
        weight = self.weigher.ledger(self.view.with_(reminded).shown).total
        fits = weight <= self.budget.limit or self.after.total - gist.before + gist.after > self.budget.limit
        return reminded if fits and longer.after < longer.before and weight < self.after.total else folds

    def _context(self, rung: Rung, held: bool) -> PassContext:
        goal = rung.goal_in(self.budget, self.after.fixed)
        if self.options.manual:
            goal = min(goal, self.after.total // 2)
        # Most gists would hide a place held open and be refused, so no model is asked to write one.
        options = replace(self.options, model=False) if held else self.options
        return PassContext(self.budget, self._pinned_weigher or self.weigher, self.ledger, goal, options)

    def verdict(self) -> Verdict:
        weight, limit = self.after.total, self.budget.limit
        if weight > limit and self._pinned_weigher is not None:
            pins, free = self.view.pins, weight - self.ledger.fixed + self.after.fixed
            blocked = free <= limit or bool(pins.media)  # by its weight, or because no gist may hide it
            if blocked and (found := heaviest_pin(self.view.history, pins, self.weigher)):
                origin, pin = found
                return TooBig("pinned", weight, limit, str(pin), origin)
        return judge(self.view, self.after, self.budget, bool(self.made), self._inflated)


def _expected_steps(options: PlanOptions, view: View) -> int:
    """Return the steps expected to follow: as many as there were, if the options give none."""
    return len(view.history.steps) if options.ahead is None else options.ahead


def _propose(
    propose: Pass, view: View, context: PassContext, failed: list[str]
) -> Generator[Effect, str, tuple[list[Fold], int]]:
    proposed = propose(view, context)
    if isinstance(proposed, list):
        return proposed, 0
    asks = 0
    try:
        effect = next(proposed)
        while True:
            asks += isinstance(effect, Question)
            try:
                answer = yield effect
            except Unanswered as error:
                failed.append(str(error))
                effect = proposed.throw(error)
            else:
                effect = proposed.send(answer)
    except StopIteration as stop:
        return stop.value, asks


def _select_shown(made: list[Fold], view: View) -> tuple[Fold, ...]:
    """Return the folds that still show: a later rung may have folded over an earlier one."""
    gists = (view.gists[gist.key] for gist in view.chapters)  # as they were made, without the pinned texts
    shown = {id(fold) for fold in (*view.live, *gists)}
    return tuple(fold for fold in made if id(fold) in shown)


AGAIN = "undone_but_needed"
"""Reason of a fold that the user had undone, made again because the conversation does not fit without it."""


class _Guard:
    """Filter for proposed folds: keeps pinned pieces open, and those that the user opened by undo while they fit."""

    def __init__(self, view: View, held: Iterable[Place], count: Callable[[str], int]) -> None:
        """`held`: places of folds that were undone."""
        self._view = view
        self._count = count
        self._places = frozenset(held)
        self._cuts = _cuts(view) if self._places or view.pins.media else {}
        self._keys = self._held_keys()
        """Keys of prompts and steps that no gist may hide."""
        self._opened = self._opened_keys()
        """Keys that an undone gist hid: no piece of them may be folded either."""
        turns, steps = view.history.turns[-1:], view.history.steps[-1:] if self._places else ()
        self._newest = {turn.key for turn in turns} | {step.key for step in steps}

    @property
    def holds(self) -> bool:
        """Test whether anything visible is held open."""
        return bool(self._keys)

    def allow(self, view: View, folds: Iterable[Fold], *, held: bool, newest: bool = False) -> list[Fold]:
        """Return the folds that may be made, with pinned passages added to their texts.

        `held`: refuse folds of places held open, and with `newest` also of the newest prompt and step, which matter
        more than an undo. Without `held`, folds of such places get the reason `AGAIN`.
        """
        checked = (self._apply_pins(fold) for fold in folds)
        found = [fold for fold in checked if fold is not None]
        if not self._keys:
            return found
        if held:
            spared = self._keys | (self._newest if newest else set())
            whole = self._opened | (self._newest if newest else set())
            return [fold for fold in found if not self._hides(view, fold, spared, whole)]
        again = (self._hides(view, fold, self._keys, self._opened) for fold in found)
        return [replace(fold, why=AGAIN) if yes else fold for fold, yes in zip(found, again, strict=True)]

    def _apply_pins(self, fold: Fold) -> Fold | None:
        """Return the fold with the pinned passages that it hides, or None if it may not be made."""
        pins = self._view.pins
        if isinstance(fold, Gist):
            hidden = _keys_before(self._view, self._cuts.get(fold.key, Cut(0, 0))) if pins.media else set()
            return None if hidden & pins.media else fold
        if pins.spares(fold.key, fold.slot, fold.text):
            return fold
        if fold.slot.where == "thought" or fold.slot in pins.whole.get(fold.key, ()):
            return None
        passages = [pin.value for pin in pins.passages[fold.key][fold.slot] if pin.value not in fold.text]
        text = "\n".join([fold.text, title_in(passages[0]), *passages])
        return replace(fold, text=text, after=self._count(text))

    def _hides(self, view: View, fold: Fold, keys: set[str], whole: set[str]) -> bool:
        """Test for a gist that hides any of `keys`, or a stub on one of `whole` or on a place held open."""
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
