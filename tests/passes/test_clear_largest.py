from __future__ import annotations

from yohaku.core.budget import Budget
from yohaku.core.folds import Fold, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.cap_results import cap_results
from yohaku.passes.clear_largest import clear_largest
from yohaku.testing import ByteMeter

METER = ByteMeter()


def context(view: View, limit: int, goal: int) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(view.shown), goal)


def view(*sizes: int) -> View:
    """One step for each size, in bytes of its result."""
    steps = (Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * size),))),)) for n, size in enumerate(sizes))
    return View(history_of([Turn((Text("go"),), tuple(steps))]))


def proposed(view: View, limit: int, goal: int, *where: str, keep: float = 0.25, least: float = 0.1) -> list[Fold]:
    found = clear_largest(*(where or ("result",)), keep=keep, least=least)(view, context(view, limit, goal))
    assert isinstance(found, list)
    return found


def steps_of(view: View, folds: list[Fold]) -> list[int]:
    return [[step.key for step in view.history.steps].index(fold.key) for fold in folds]


def test_the_biggest_old_results_go_first_and_no_more_than_the_goal_needs() -> None:
    v = view(300, 900, 500, 700, 300, 300)
    assert steps_of(v, proposed(v, limit=3_000, goal=2_600, keep=0)) == [1]
    assert steps_of(v, proposed(v, limit=3_000, goal=2_000, keep=0)) == [1, 3]
    assert steps_of(v, proposed(v, limit=3_000, goal=1_500, keep=0)) == [1, 3, 2]


def test_among_results_of_one_size_the_oldest_go_first() -> None:
    v = view(500, 500, 500, 500, 500)
    assert steps_of(v, proposed(v, limit=2_600, goal=1_800, keep=0)) == [0, 1]


def test_each_becomes_one_line_with_its_reason() -> None:
    (fold,) = proposed(view(2_000, 10), limit=2_000, goal=1_000)
    assert (fold.text, fold.why) == (f"[bash result folded: 1 line, 2,000 characters; ref={fold.ref}]", "old_and_big")
    assert (fold.before, fold.after) == (2_000, len(fold.text))


def test_the_newest_are_kept_up_to_their_share_of_the_goal() -> None:
    v = view(500, 500, 500, 500, 500)
    assert steps_of(v, proposed(v, limit=2_000, goal=1_000, keep=0)) == [0, 1, 2, 3]
    assert steps_of(v, proposed(v, limit=2_000, goal=1_000, keep=1)) == [0, 1, 2]
    assert steps_of(v, proposed(v, limit=2_000, goal=1_000, keep=2)) == [0]


def test_the_newest_step_and_prompt_are_never_touched() -> None:
    assert proposed(view(5_000), limit=1_000, goal=500, keep=0) == []
    asked = View(history_of([Turn((Text("x" * 5_000),))]))
    assert proposed(asked, 1_000, 500, "prompt", keep=0) == []
    answered = View(history_of([Turn((Text("x" * 5_000),), (Step((Text("ok"),)),)), Turn((Text("y" * 300),))]))
    assert [fold.key for fold in proposed(answered, 1_000, 500, "prompt", keep=0)] == [answered.history.turns[0].key]


def test_nothing_is_done_for_too_little_unless_it_is_over_the_limit() -> None:
    v = view(900, 5_000, 10)
    (all_of_it,) = proposed(view(900, 10), limit=1_000, goal=500, keep=0)
    assert all_of_it.before == 900
    small = view(300, *[40] * 100, 10)  # only one is worth a stub
    total = context(small, 1, 1).ledger.total
    assert proposed(small, limit=total, goal=total // 2, keep=0) == []
    assert len(proposed(small, limit=total - 1, goal=total // 2, keep=0)) == 1
    assert len(proposed(small, limit=total, goal=total // 2, keep=0, least=0.01)) == 1
    assert steps_of(v, proposed(v, limit=6_000, goal=5_000, keep=0)) == [1]


def test_only_the_kinds_asked_for_are_cleared() -> None:
    write = ToolUse(Call("1", "write", f'{{"content":"{"x" * 800}","path":"a.py"}}'), Result((Text("y" * 800),)))
    first = Turn((Text("p" * 800),), (Step((Text("t" * 800), write)),))
    v = View(history_of([first, Turn((Text("go on"),), (Step((Text("ok"),)),))]))
    kinds = {
        where: [str(fold.what) for fold in proposed(v, 1_000, 100, where, keep=0)] for where in ("result", "argument")
    }
    assert kinds == {"result": ["write result"], "argument": ["write argument content"]}
    both = proposed(v, 1_000, 100, "argument", "prompt", keep=0)
    assert {str(fold.what) for fold in both} == {"write argument content", "prompt"}


def test_what_was_clipped_may_be_cleared_later_and_opens_to_the_same_original() -> None:
    v = view(5_000, 10)
    clipped = cap_results(most=1_000)(v, context(v, 10_000, 100))
    assert isinstance(clipped, list) and len(clipped) == 1
    again = v.with_(clipped)
    (fold,) = proposed(again, limit=1_000, goal=100, keep=0, least=0)
    assert (fold.ref, fold.before) == (clipped[0].ref, clipped[0].after)
    assert fold.after < fold.before and again.with_([fold]).live == (fold,)


def test_a_line_that_would_be_longer_than_what_it_hides_is_not_proposed() -> None:
    assert proposed(view(50, 50, 50, 10), limit=100, goal=10, keep=0) == []


def test_slots_tell_which_result_of_a_batch_is_meant() -> None:
    uses = tuple(ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * 400),))) for n in range(3))
    v = View(history_of([Turn((Text("go"),), (Step(uses), Step((Text("ok"),))))]))
    folds = proposed(v, limit=1_000, goal=100, keep=0)
    assert sorted(fold.slot for fold in folds if isinstance(fold, Stub)) == [Slot("result", n, 0) for n in range(3)]
