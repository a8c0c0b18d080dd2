from __future__ import annotations

import math

from yohaku.core.cache_break_even import CacheBreakEven, CachePrices, break_even
from yohaku.core.folds import Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.testing import ByteMeter

SCALES = Weigher(ByteMeter())


def step(number: int, result: str) -> Step:
    return Step((ToolUse(Call(str(number), "t", "{}"), Result((Text(result),))),))


VIEW = View(history_of(turns=(Turn((Text("go"),), tuple(step(n, "x" * 100) for n in range(4))),)))


def stub(number: int) -> Stub:
    return Stub(VIEW.history.steps[number].key, Slot("result", 0), "y" * 10, "ref", "t result", "why", 100, 10)


def test_what_stands_before_the_first_fold_stays_in_the_cache() -> None:
    each = SCALES.step(VIEW.history.steps[0])
    assert break_even(VIEW, VIEW.with_([stub(2)]), SCALES, CachePrices()) == CacheBreakEven(
        saved=90, again=each - 90 + each, steps=(2 * each - 90) * 1.15 / 9
    )
    assert break_even(VIEW, VIEW.with_([stub(0)]), SCALES, CachePrices()).again == 4 * each - 90


def test_folding_late_pays_back_sooner_than_folding_early() -> None:
    early, late = (break_even(VIEW, VIEW.with_([stub(n)]), SCALES, CachePrices()).steps for n in (0, 3))
    assert late < early


def test_a_gist_is_written_anew_with_all_behind_it() -> None:
    new = VIEW.with_([Gist(VIEW.history.steps[1].key, "[folded]", "ref", "what", "why", 200, 8)])
    assert break_even(VIEW, new, SCALES, CachePrices()).again == SCALES.ledger(new.shown).turns


def test_where_reading_costs_nothing_it_never_pays_back() -> None:
    back = break_even(VIEW, VIEW.with_([stub(0)]), SCALES, CachePrices(read=0, write=1))
    assert back.steps == math.inf and back.saved == 90
