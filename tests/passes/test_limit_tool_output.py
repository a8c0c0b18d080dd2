from __future__ import annotations

import pytest

from yohaku.core.budget import Budget
from yohaku.core.folds import Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.limit_tool_output import context_budget, limit_tool_output
from yohaku.testing import ByteMeter

METER = ByteMeter()


def view(*sizes: int) -> View:
    steps = (
        Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text(chr(97 + n) * size),))),))
        for n, size in enumerate(sizes)
    )
    return View(history_of([Turn((Text("go"),), tuple(steps))]))


def trimmed(v: View, most: int | None = None, window: int = 8_192) -> list[Stub]:
    weigher = Weigher(METER)
    found = limit_tool_output(most)(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def steps_of(v: View, folds: list[Stub]) -> list[int]:
    return [[step.key for step in v.history.steps].index(fold.key) for fold in folds]


@pytest.mark.parametrize(
    ("window", "budget"),
    [
        (2_048, 512), (8_192, 2_048), (32_768, 8_192), (79_996, 19_999), (80_000, 20_000), (128_000, 32_000),
        (240_000, 60_000), (1_000_000, 60_000),
    ],
)  # fmt: skip
def test_the_budget_is_a_quarter_of_the_window_and_at_most_sixty_thousand(window: int, budget: int) -> None:  # O3
    assert context_budget(window) == budget


def test_over_the_budget_the_oldest_go_and_the_newest_are_kept() -> None:  # O4
    v = view(500, 500, 500, 500, 500)
    assert steps_of(v, trimmed(v, 1_600)) == [0, 1]
    assert trimmed(v, 2_500) == []


def test_a_placeholder_keeps_the_ref() -> None:  # O1, O4
    v = view(500, 500)
    (stub,) = trimmed(v, 600)
    assert stub.text == f"[tool output trimmed; ref={ref_of('a' * 500)}]"
    assert list(v.originals(stub)) == [(stub.ref, "a" * 500)]


def test_the_newest_step_stays_whatever_it_weighs() -> None:
    v = view(100, 5_000)
    assert steps_of(v, trimmed(v, 1_000)) == [0]


def test_what_is_trimmed_stays_so_and_nothing_more_is() -> None:
    v = view(500, 500, 500, 500, 500)
    again = v.with_(trimmed(v, 1_600))
    assert trimmed(again, 1_600) == []


def test_by_default_the_window_sets_the_budget() -> None:  # O3
    v = view(1_500, 1_500, 1_500)
    assert [len(trimmed(v, window=window)) for window in (4_096, 8_192, 16_384, 65_536)] == [2, 2, 1, 0]
