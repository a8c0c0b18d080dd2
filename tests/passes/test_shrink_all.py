from __future__ import annotations

from yohaku.core.budget import Budget
from yohaku.core.folds import Fold
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.shrink_all import shrink_all
from yohaku.testing import PNG, ByteMeter

METER = ByteMeter()


def context(view: View, goal: int) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(goal, 0), weigher, weigher.ledger(view.shown), goal)


def lines(size: int) -> str:
    return ("a line of text\n" * size)[:size]


def view(prompt: int, *sizes: int) -> View:
    uses = tuple(ToolUse(Call(str(n), "bash", "{}"), Result((Text(lines(size)),))) for n, size in enumerate(sizes))
    return View(history_of([Turn((Text(lines(prompt)),), (Step(uses),) if uses else ())]))


def proposed(view: View, goal: int, prompts: bool = True) -> list[Fold]:
    found = shrink_all(prompts)(view, context(view, goal))
    assert isinstance(found, list)
    return found


def after(view: View, folds: list[Fold]) -> int:
    return context(view.with_(folds), 1).ledger.total


def test_the_biggest_arelevelled_until_the_whole_just_fits() -> None:
    v = view(300, 200, 2_000, 4_000)
    folds = proposed(v, 3_000)
    assert [fold.before for fold in folds] == [2_000, 4_000]
    assert all(fold.why == "over_limit" for fold in folds)
    assert max(fold.after for fold in folds) - min(fold.after for fold in folds) < 60
    assert 2_800 < after(v, folds) <= 3_000


def test_the_newest_prompt_is_spared_where_it_may_not_be_touched() -> None:
    v = view(5_000, 5_000)
    assert [str(fold.what) for fold in proposed(v, 6_000, prompts=False)] == ["bash result"]
    assert [str(fold.what) for fold in proposed(v, 6_000)] == ["prompt", "bash result"]
    assert [str(fold.what) for fold in proposed(view(5_000), 2_000, prompts=False)] == []


def test_an_older_prompt_may_be_squeezed_in_any_case() -> None:
    turns = [Turn((Text(lines(5_000)),), (Step((Text("ok"),)),)), Turn((Text(lines(500)),))]
    v = View(history_of(turns))
    (fold,) = proposed(v, 2_000, prompts=False)
    assert fold.key == v.history.turns[0].key


def test_nothing_is_proposed_where_it_fits() -> None:
    v = view(300, 200, 400)
    assert proposed(v, context(v, 1).ledger.total) == []


def test_where_nothing_is_left_each_piece_becomes_one_line() -> None:
    folds = proposed(view(500, 500), 10)
    assert [fold.text.startswith(f"[{fold.what} folded: ") for fold in folds] == [True, True]


def test_images_become_one_line_and_thoughts_are_left_alone() -> None:
    image = Opaque("image", PNG, "base64", "image/png")
    v = View(history_of([Turn((image,), (Step((Opaque("thought", "x" * 5_000), Text("ok"))),))]))
    assert [fold.text.split(":")[0] for fold in proposed(v, 50)] == ["[image folded"]
