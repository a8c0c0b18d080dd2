from __future__ import annotations

import pytest

from yohaku.core.budget import Budget
from yohaku.core.folds import Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.preview_huge_result import preview_huge_result
from yohaku.testing import ByteMeter

METER = ByteMeter()


def view(size: int) -> View:
    step = Step((ToolUse(Call("1", "bash", "{}"), Result((Text("some text\n" * (size // 10)),))),))
    return View(history_of([Turn((Text("go"),), (step,))]))


def previewed(v: View, window: int) -> list[Stub]:
    weigher = Weigher(METER)
    found = preview_huge_result()(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def test_a_result_over_forty_thousand_tokens_is_shown_by_two_thousand_characters() -> None:  # P6
    assert previewed(view(40_000), 200_000) == []
    (stub,) = previewed(view(40_010), 200_000)
    first, second, rest = stub.text.split("\n", 2)
    assert first == f"[Output too large: 4,002 lines, 40,010 characters folded; ref={stub.ref}]"
    assert second == "Preview:"
    assert rest == "some text\n" * 200 + "…"


@pytest.mark.parametrize("window", [2_048, 8_192, 32_768])
def test_in_a_small_window_half_the_limit_is_too_much(window: int) -> None:  # P6
    half = Budget.of(window).limit // 2
    assert previewed(view(half - 10), window) == []
    (stub,) = previewed(view(half + 20), window)
    assert stub.after < half / 2


def test_it_is_done_once() -> None:
    v = view(50_000)
    assert previewed(v.with_(previewed(v, 200_000)), 200_000) == []
