"""Stored folds that may be shown again. The laws over many windows and recipes are in `tests/laws/test_reuse.py`."""

from __future__ import annotations

from itertools import permutations

from yohaku.core.budget import Budget
from yohaku.core.folds import MANUAL, Fold, Gist, MadeFor
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.reuse import Reach, select_reusable
from yohaku.core.weigh import Weigher
from yohaku.recipes.auto import AUTO
from yohaku.testing import ByteMeter

BUDGET = Budget(4_000, 0)
STEPS = tuple(Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * 900),))),)) for n in range(6))
HISTORY = history_of([Turn((Text("go"),), STEPS)])
KEYS = [step.key for step in HISTORY.steps]
OURS = MadeFor("auto", 4_000)


def gist(number: int, start: int | None = None, after: int = 100, made_for: MadeFor = OURS) -> Gist:
    begin = "" if start is None else KEYS[start]
    return Gist(KEYS[number], "[gist]", "aaaaaaaaaaaa", "what", "why", 900, after, start=begin, made_for=made_for)


def chosen(*stored: Fold, reach: Reach = "all", limit: int = 4_000) -> set[Fold]:
    budget = Budget(limit, 0)
    found = {
        select_reusable(each, HISTORY, Weigher(ByteMeter()), AUTO, budget, limit, reach).folds
        for each in permutations(stored)
    }
    assert len(set(map(frozenset, found))) == 1, "the choice depends on the order in which folds are read"
    return set(found.pop())


def test_a_chapter_without_the_one_before_it_is_left_out() -> None:
    first, second, third = gist(0), gist(1, 0), gist(2, 1)
    assert chosen(first, second, third) == {first, second, third}
    assert chosen(first, third) == {first}
    assert chosen(second, third) == set()


def test_of_two_gists_with_one_end_the_one_with_the_shorter_row_shows() -> None:
    first, second = gist(0, after=300), gist(1, 0, after=100)
    anew, longer = (gist(1, after=after, made_for=OURS._replace(how=MANUAL)) for after in (350, 450))
    assert chosen(first, second, anew) == {first, anew}
    assert chosen(first, second, longer) == {first, second}
    assert chosen(second, anew) == {anew}


def test_the_chapters_before_one_made_by_hand_stay_with_it_in_any_window() -> None:
    by_hand = gist(2, 1, made_for=OURS._replace(how=MANUAL))
    first, second = gist(0), gist(1, 0)
    assert chosen(first, second, by_hand, reach="none", limit=100_000) == {first, second, by_hand}
    assert chosen(first, second, reach="none", limit=100_000) == set()
    other = gist(1, 0, made_for=OURS._replace(limit=2_000))
    assert chosen(first, other, by_hand, reach="none", limit=100_000) == set()


def test_a_row_that_leads_back_to_its_own_end_is_left_out() -> None:
    assert chosen(gist(1, 2), gist(2, 1), gist(3, 3)) == set()
