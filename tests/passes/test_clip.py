from __future__ import annotations

import pytest

from yohaku.analysis.tool_calls import is_reader
from yohaku.core.budget import Budget
from yohaku.core.engine import PassContext
from yohaku.core.folds import Fold, View, ref_of
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.weigh import Weigher
from yohaku.passes.clip import clip_bytes, clip_results
from yohaku.passes.pieces import SMALL
from yohaku.testing import ByteMeter

METER = ByteMeter()
LIMIT = 16_000  # results over 1,000 are outsized, and none of them is shown at less than 250


def room(view: View, goal: int = 0, limit: int = LIMIT) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(view.shown), goal)


def view(*sizes: int, tool: str = "bash") -> View:
    """One step for each size, in bytes of its result."""
    text = "line\n" * 20_000
    steps = (Step((ToolUse(Call(str(n), tool, "{}"), Result((Text(text[:size]),))),)) for n, size in enumerate(sizes))
    return View(history_of([Turn((Text("p" * 5_000),), tuple(steps))]))


def proposed(view: View, goal: int = 0, limit: int = LIMIT, **how: float) -> list[Fold]:
    """Levelled as far as may be, or as far as the goal asks."""
    found = clip_results(**how)(view, room(view, goal, limit))
    assert isinstance(found, list)
    return found


def weight(view: View, folds: list[Fold]) -> int:
    return room(view.with_(folds)).ledger.total


def test_results_over_a_sixteenth_of_the_limit_are_shown_at_a_sixty_fourth_at_least() -> None:
    v = view(1_000, 1_005, 12_000, 10)
    folds = proposed(v)
    assert [fold.key for fold in folds] == [v.history.steps[1].key, v.history.steps[2].key]
    assert all(150 < fold.after <= 250 and fold.why == "outsized_result" for fold in folds)
    assert [fold.before for fold in folds] == [1_005, 12_000]


def test_outsized_results_are_levelled_only_as_far_as_the_goal_asks() -> None:
    v = view(900, 3_000, 12_000, 6_000, 10)
    total = weight(v, [])
    for goal, before in [
        (total - 3_000, [12_000]),
        (total - 9_000, [12_000, 6_000]),
        (total - 15_000, [3_000, 12_000, 6_000]),
    ]:
        folds = proposed(v, goal)
        assert [fold.before for fold in folds] == before
        assert goal - sum(before) // 8 < weight(v, folds) <= goal
        assert max(fold.after for fold in folds) - min(fold.after for fold in folds) < 60


def test_where_the_goal_is_met_nothing_is_clipped() -> None:
    v = view(12_000, 10)
    assert proposed(v, weight(v, [])) == []


def test_in_a_tiny_window_a_result_is_outsized_when_it_is_worth_a_clip() -> None:
    assert proposed(view(8 * SMALL, 10), limit=500) == []
    (fold,) = proposed(view(8 * SMALL + 1, 10), limit=500)
    assert 2 * SMALL < fold.after <= 4 * SMALL


def test_the_newest_step_is_spared() -> None:
    assert proposed(view(5_000)) == []


def test_shares_are_the_configuration() -> None:
    v = view(1_000, 3_000, 10)
    assert [fold.before for fold in proposed(v, over=1 / 8)] == [3_000]
    (fold,) = proposed(v, over=1 / 8, to=1 / 32)
    assert 400 < fold.after <= 500


def test_commands_are_shown_by_both_ends_and_reads_by_their_beginning() -> None:
    (command,), (read,) = proposed(view(5_000, 10)), proposed(view(5_000, 10, tool="Read_File"))
    assert command.text.startswith("line\n") and command.text.endswith("line")
    assert read.text.startswith("line\n") and read.text.endswith(f"ref={read.ref}]")


@pytest.mark.parametrize(
    ("tool", "read"),
    [
        ("read_file", True),
        ("Read", True),
        ("cat", True),
        ("web_fetch", True),
        ("fs.cat", True),
        ("openPage", True),
        ("bash", False),
        ("grep", False),
        ("", False),
    ],
)
def test_a_tool_that_reads_is_known_by_its_name(tool: str, read: bool) -> None:
    assert is_reader(tool) is read


@pytest.mark.parametrize("tool", ["HTTPGet", "PDFRead", "MCPFetchPage"])
def test_a_word_behind_capitals_is_a_word(tool: str) -> None:
    assert is_reader(tool)


@pytest.mark.parametrize("tool", ["build_target", "locate", "create_widget", "thread_dump", "preview_deploy"])
def test_a_tool_that_does_not_read_is_not_taken_for_one(tool: str) -> None:
    assert not is_reader(tool)


def test_prompts_replies_and_arguments_are_left_alone() -> None:
    long = "line\n" * 1_000
    call = Call("1", "write", f'{{"content":"{"x" * 5_000}"}}')
    steps = (Step((Text(long), ToolUse(call, Result((Text("ok"),))))), Step((Text("done"),)))
    assert proposed(View(history_of([Turn((Text(long),), steps)]))) == []


def test_what_is_clipped_already_is_not_clipped_again() -> None:
    v = view(5_000, 10)
    assert proposed(v.with_(proposed(v))) == []


def test_a_result_over_so_many_bytes_ends_with_the_note_that_opens_the_rest() -> None:
    text = "日本語の一行です。\n" * 5_000
    before = View(history_of([Turn((Text("go"),), (Step((used("1", text),)), Step((used("2", "short"),))))]))
    (fold,) = clip_bytes(most=10_000)(before, room(before))
    assert len(fold.text.encode()) <= 10_000 and fold.text.endswith(f"ref={ref_of(text)}]")
    assert text.startswith(fold.text.rpartition("\n")[0])
    assert clip_bytes(most=10_000)(before.with_([fold]), room(before)) == []


def test_lines_without_an_end_are_cut_whatever_the_bytes() -> None:
    text = "a" * 5_000 + "\nshort\n" + "b" * 300
    before = View(history_of([Turn((Text("go"),), (Step((used("1", text),)),))]))
    (fold,) = clip_bytes()(before, room(before))
    assert (
        fold.text == f"{'a' * 2_000}… [+3,000 characters]\nshort\n{'b' * 300}\n[long lines folded; ref={ref_of(text)}]"
    )


def used(call_id: str, text: str) -> ToolUse:
    return ToolUse(Call(call_id, "bash", "{}"), Result((Text(text),)))
