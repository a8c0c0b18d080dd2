from __future__ import annotations

from yohaku.core.budget import Budget
from yohaku.core.folds import Fold
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.shrink_newest import shrink_newest
from yohaku.testing import ByteMeter

LIMIT = 10_000


def context(view: View, goal: float = 0.7) -> PassContext:
    weigher = Weigher(ByteMeter())
    return PassContext(Budget(LIMIT, 0), weigher, weigher.ledger(view.shown), int(LIMIT * goal))


def lines(size: int) -> str:
    return ("a line of text\n" * size)[:size]


def step(number: int, *sizes: int) -> Step:
    uses = [ToolUse(Call(f"{number}.{n}", "bash", "{}"), Result((Text(lines(size)),))) for n, size in enumerate(sizes)]
    return Step(tuple(uses))


def view(*steps: Step, prompt: int = 100) -> View:
    return View(history_of([Turn((Text(lines(prompt)),), steps)]))


def proposed(view: View, share: float = 0.2) -> list[Fold]:
    found = shrink_newest(share)(view, context(view))
    assert isinstance(found, list)
    return found


def weight(view: View) -> int:
    return context(view).ledger.total


def test_a_newest_step_that_can_be_sent_whole_is_left_alone_however_full_it_is() -> None:
    assert proposed(view(step(1, 9_000), step(2, 9_000))) == []
    assert proposed(view()) == proposed(view(prompt=20_000)) == []


def test_one_that_cannot_is_cut_and_nothing_older_with_it() -> None:
    before = view(step(1, 9_000), step(2, 300, 40_000))
    (fold,) = proposed(before)
    assert (str(fold.what), fold.why, fold.before) == ("bash result", "over_limit", 40_000)
    after = before.with_([fold])
    assert after.shown.turns[0].steps[0] == before.shown.turns[0].steps[0]
    assert 1_500 < fold.after <= 0.2 * LIMIT


def test_it_takes_what_is_older_leaves() -> None:
    alone, beside = view(step(1, 40_000)), view(step(1, 3_000), step(2, 40_000))
    assert 0.6 * LIMIT < weight(alone.with_(proposed(alone))) <= 0.7 * LIMIT
    assert 0.6 * LIMIT < weight(beside.with_(proposed(beside))) <= 0.7 * LIMIT
    crowded = view(step(1, 8_000), step(2, 40_000))
    assert proposed(crowded, 0.4)[0].after > proposed(crowded, 0.2)[0].after


def test_the_biggest_of_its_results_are_levelled() -> None:
    folds = proposed(view(step(1, 100, 30_000, 50_000)))
    assert [fold.before for fold in folds] == [30_000, 50_000]
    assert abs(folds[0].after - folds[1].after) < 60


def test_where_the_prompt_leaves_too_little_room_it_is_not_its_turn() -> None:
    assert proposed(view(step(1, 40_000), prompt=9_900)) == []
    assert proposed(view(step(1, *[4_000] * 90))) == []
