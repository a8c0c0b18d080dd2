"""Law 5 whatever was folded before: several windows, reserves and recipes in turn on one store.

The fit of each is looked at from outside: what the conversation weighs as it is, what is shown, what the store has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.session.test_session import agent
from yohaku import Session, dialects
from yohaku.core.budget import Budget
from yohaku.core.errors import DoesNotFit
from yohaku.core.folds import MANUAL, QUIET, Fold, Gist, Place, place_of
from yohaku.core.history_builder import history_of
from yohaku.core.model import History, Step, Turn
from yohaku.core.recipe import Recipe
from yohaku.core.weigh import weigh
from yohaku.recipes.auto import RECIPES
from yohaku.stores.memory import MemoryStore
from yohaku.testing import ByteMeter, conversation

SEEDS = max(20, int(os.environ.get("YOHAKU_LAWS", "10000")) // 50)
"""Each is a dozen fits or so, every one beside a session that reads the store anew."""
METER = ByteMeter()
DIALECT = dialects.dialect_named("openai_chat")


@dataclass(frozen=True)
class Turned:
    """One fit of a row of them: who, and of how much of the conversation."""

    recipe: str
    window: int
    reserve: int
    share: float
    manual: bool = False

    @property
    def budget(self) -> Budget:
        return Budget(self.window, self.reserve)

    def session(self, store: MemoryStore) -> Session:
        return Session(self.window, self.reserve, self.recipe, dialect="openai_chat", meter=METER, store=store)


@dataclass
class Row:
    history: History
    store: MemoryStore = field(default_factory=MemoryStore)
    made_by_hand: set[Any] = field(default_factory=set)

    def check(self, turned: Turned) -> None:
        history = _beginning(self.history, turned.share)
        body = DIALECT.compose(history, "some-model")
        session = turned.session(self.store)
        try:
            out = session.fit(body, fold=turned.manual)
        except DoesNotFit:
            receipt = session.receipt
            assert receipt and receipt.outcome.after.total > turned.budget.limit, "refused, though it would fit"
            return
        receipt = session.receipt
        assert receipt is not None and receipt.outcome.after.total <= turned.budget.limit
        self._check_calm(turned, session, body, out)
        if turned.manual:
            self.made_by_hand |= set(map(place_of, receipt.outcome.folds))
        self._check_agreement(turned, body, out)

    def _check_calm(self, turned: Turned, session: Session, body: Any, out: Any) -> None:
        """Below the first rung only what was folded by hand is folded."""
        receipt, recipe = session.receipt, RECIPES[turned.recipe]
        assert receipt is not None
        whole = weigh(DIALECT.read(body).history(), METER).total
        by_hand = self.made_by_hand | ({place_of(fold) for fold in receipt.folds} if turned.manual else set())
        stays = _chapters_before_those_made_by_hand(receipt.folds)
        by_hand |= stays
        causes = {fold.made_for.how for fold in receipt.folds if place_of(fold) not in by_hand}
        if whole < _first_rung(recipe, turned.budget, quiet=True):
            assert not causes, "folded below the first rung"
            assert self.made_by_hand or turned.manual or out is body
        if whole < _first_rung(recipe, turned.budget, quiet=False):
            assert causes <= {QUIET}, "folded below the first rung that is not quiet"
        others = [fold for fold in receipt.folds if fold.made_for.how != MANUAL and place_of(fold) not in stays]
        made_for = {fold.made_for[:2] for fold in others}
        assert len(made_for) <= 1, "folds for two limits beside one another"
        for name, limit in made_for:
            assert name == turned.recipe, "folded for another recipe"
            assert max(limit, turned.budget.limit) < 2 * min(limit, turned.budget.limit), "folded for another window"

    def _check_agreement(self, turned: Turned, body: Any, out: Any) -> None:
        """Another process shows the same; and so does a later one, if nobody who has the same folds folded since."""
        again = replace(turned, manual=False)
        if turned.manual:  # once through the rungs: what is left to do is done by the next fit
            out = again.session(self.store).fit(body)
        assert again.session(self.store).fit(body) == out, "another process shows it otherwise"
        kept = self.store.version
        assert again.session(self.store).fit(body) == out and self.store.version == kept, "it folds again and again"


def _chapters_before_those_made_by_hand(folds: Iterable[Fold]) -> set[Place]:
    """A chapter made by hand tells its own stretch only: it stays, and so does every chapter before it."""
    gists = {fold.key: fold for fold in folds if isinstance(fold, Gist)}
    stays: set[Place] = set()
    for gist in gists.values():
        start = gist.start if gist.made_for.how == MANUAL else ""
        while start in gists:
            stays.add(place_of(gists[start]))
            start = gists[start].start
    return stays


def _first_rung(recipe: Recipe, budget: Budget, *, quiet: bool) -> int:
    return min(budget.at(rung.level) for rung in recipe.rungs if quiet or not rung.quiet)


def _beginning(history: History, share: float) -> History:
    return beginning(history, max(1, round(share * len(history.steps))))


def beginning(history: History, steps: int) -> History:
    """The conversation up to some step: the same one earlier, as after going back, or later, as it went on."""
    turns: list[Turn] = []
    for turn in history.turns:
        taken: tuple[Step, ...] = turn.steps[:steps]
        turns.append(Turn(turn.prompt, taken))
        steps -= len(taken)
        if steps <= 0:
            break
    return history_of(turns, history.system, history.tools)


def turn(chance: Random, whole: int) -> Turned:
    """Windows are near the size of the conversation, where it is folded in one and not in the next."""
    window = int(max(300, whole) * chance.choice((0.15, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.2, 1.4, 1.7, 2.5, 10)))
    reserve = chance.choice((0, window // 8, window // 4, window // 2))
    recipe = chance.choice(("auto", "auto", *RECIPES))
    return Turned(recipe, window, reserve, chance.choice((0.3, 0.6, 1.0, 1.0)), chance.random() < 0.15)


def check(seed: int) -> None:
    chance = Random(f"reuse {seed}")
    row = Row(conversation(chance, max_turns=6, max_steps=5))
    whole = weigh(row.history, METER).total
    for _ in range(6):
        row.check(turn(chance, whole))


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
@example(4_060_617)
def test_nothing_is_folded_below_the_first_rung_whatever_was_folded_before(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(max(1, SEEDS // 50)))
def test_nothing_is_folded_below_the_first_rung_whatever_was_folded_before_for_many(chunk: int) -> None:
    for seed in range(chunk * 50, chunk * 50 + 50):
        try:
            check(seed)
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}") from broken


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_growing_conversation_keeps_what_it_shows_while_the_reserve_moves_a_little(recipe: str) -> None:
    """As `max_tokens` differs from request to request: nothing shown before changes without a folding."""
    chance = Random(recipe)
    one = Session(4_000, 500, recipe, dialect="openai_chat", meter=METER)
    before: list[Any] = []
    foldings = 0
    for steps in range(5, 80):
        one.budget = Budget(4_000, chance.choice((500, 700, 900)))
        out = one.fit(agent(steps))
        assert one.receipt is not None
        by_weight = [fold for fold in one.receipt.outcome.folds if fold.made_for.how != QUIET]
        foldings += bool(by_weight)
        if not one.receipt.outcome.folds:
            assert out[: len(before)] == before, "changed without a folding"
        before = list(out)
    assert foldings < 25
