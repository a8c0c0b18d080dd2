from __future__ import annotations

from dataclasses import replace

from yohaku.core.budget import Budget
from yohaku.core.folds import Fold, Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import History, Step, Text, Turn
from yohaku.core.recipe import PassContext, PlanOptions
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.use_draft import use_draft
from yohaku.testing import ByteMeter

METER = ByteMeter()
LIMIT = 10_000


def history(turns: int, size: int = 1_000) -> History:
    return history_of([Turn((Text(f"Task {n}."),), (Step((Text("x" * size),)),)) for n in range(turns)])


def gist(view: View, turn: int, text: str = "What came before.") -> Gist:
    return Gist(view.history.turns[turn].key, text, "r" * 12, "the conversation", "by_model", 0, 0)


def proposed(view: View, *drafts: Gist, words: str = "") -> list[Fold]:
    weigher = Weigher(METER)
    options = PlanOptions(drafts={draft.key: draft for draft in drafts}, words=words)
    found = use_draft()(
        view, PassContext(Budget(LIMIT, 0), weigher, weigher.ledger(view.shown), LIMIT * 6 // 10, options)
    )
    assert isinstance(found, list)
    return found


def test_of_several_drafts_the_one_that_hides_most_takes_its_place() -> None:
    view = View(history(10))
    few, many = gist(view, 3), gist(view, 7)
    (fold,) = proposed(view, few, many)
    assert isinstance(fold, Gist) and replace(fold, before=0, after=0) == many
    weigher = Weigher(METER)
    saved = weigher.ledger(view.shown).total - weigher.ledger(view.with_([fold]).shown).total
    assert fold.before - fold.after == saved - METER.frame.message, "weighed as an entry of its own"


def test_one_that_frees_too_little_is_left() -> None:
    view = View(history(10))
    assert proposed(view, gist(view, 1)) == []
    assert proposed(view, gist(view, 7, "long " * 1_500)) == []


def test_one_that_does_not_know_what_the_user_wants_kept_is_left() -> None:
    view = View(history(10))
    assert proposed(view, gist(view, 7), words="keep the numbers") == []


def test_one_whose_place_is_not_in_the_history_is_left() -> None:
    other = View(history(10, size=999))
    assert proposed(View(history(10)), gist(other, 7)) == []
