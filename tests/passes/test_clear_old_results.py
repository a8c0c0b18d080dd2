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
from yohaku.passes.clear_old_results import clear_old_results
from yohaku.testing import ByteMeter

METER = ByteMeter()


def view(*results: tuple[str, int]) -> View:
    steps = (
        Step((ToolUse(Call(str(n), tool, "{}"), Result((Text("x" * size),))),))
        for n, (tool, size) in enumerate(results)
    )
    return View(history_of([Turn((Text("go"),), tuple(steps))]))


def cleared(v: View, window: int = 200_000) -> list[Stub]:
    weigher = Weigher(METER)
    found = clear_old_results()(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def steps_of(v: View, folds: list[Stub]) -> list[int]:
    return [[step.key for step in v.history.steps].index(fold.key) for fold in folds]


def test_results_older_than_the_newest_three_are_cleared_if_they_are_big() -> None:  # P1
    v = view(("bash", 15_000), ("read", 900), ("grep", 6_000), ("bash", 9_000), ("bash", 9_000), ("bash", 9_000))
    folds = cleared(v)
    assert steps_of(v, folds) == [0, 2]
    assert folds[0].text == f"[Old tool result content cleared; ref={ref_of('x' * 15_000)}]"


def test_nothing_is_done_for_less_than_twenty_thousand_tokens() -> None:  # P1
    v = view(("bash", 10_000), ("bash", 10_000), *[("bash", 9_000)] * 3)
    assert cleared(v) == []
    assert len(cleared(view(("bash", 10_100), ("bash", 10_100), *[("bash", 9_000)] * 3))) == 2


@pytest.mark.parametrize(("window", "size"), [(4_096, 500), (8_192, 900), (32_768, 3_400), (200_000, 20_100)])
def test_what_it_must_save_scales_down_with_the_window(window: int, size: int) -> None:  # P1, Ruling
    enough, little = (view(("bash", part), *[("bash", 60)] * 3) for part in (size, window // 10))
    assert len(cleared(enough, window)) == 1
    assert cleared(little, window) == []


@pytest.mark.parametrize(
    ("tool", "known"),
    [
        ("bash", True), ("Bash", True), ("read_file", True), ("fs.readFile", True), ("write", True),
        ("edit_file", True), ("Glob", True), ("grep", True), ("list_dir", True), ("notebook_edit", True),
        ("NotebookEdit", True),
        ("list_issues", False), ("browser_click", False), ("breadth", False),
    ],
)  # fmt: skip
def test_tools_are_known_by_the_words_of_their_names(tool: str, known: bool) -> None:  # P1
    v = view((tool, 30_000), *[("bash", 60)] * 3)
    assert len(cleared(v)) == known


def test_other_tools_do_not_count_among_the_newest_three() -> None:
    v = view(*[("bash", 30_000)] * 4, *[("click", 60)] * 5)
    assert steps_of(v, cleared(v)) == [0]


def test_a_newest_step_with_many_results_is_left_alone() -> None:
    uses = tuple(ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * 30_000),))) for n in range(6))
    assert cleared(View(history_of([Turn((Text("go"),), (Step(uses),))]))) == []


def test_what_is_cleared_stays_so() -> None:
    v = view(("bash", 30_000), *[("bash", 60)] * 3)
    assert cleared(v.with_(cleared(v))) == []
