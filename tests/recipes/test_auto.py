from __future__ import annotations

import pytest

from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import UnknownRecipe
from yohaku.core.folds import Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.verdict import Fits, Folded, TooBig
from yohaku.core.view import View
from yohaku.recipes.auto import AUTO, CHAT, HIGH_WATER, RECIPES, low_water, recipe_named, shrunk_size
from yohaku.session.driver import drive
from yohaku.testing import ByteMeter

METER = ByteMeter()


def step(number: int, size: int) -> Step:
    text = f"line {number} of a log\n" * (size // 16)
    return Step((ToolUse(Call(f"c{number}", "bash", f'{{"command":"ls {number}"}}'), Result((Text(text),))),))


def one_prompt(sizes: list[int]) -> History:
    return history_of([Turn((Text("Fix it."),), tuple(step(n, size) for n, size in enumerate(sizes)))])


def chatting(turns: int, size: int, last: int = 20) -> History:
    said = [Turn((Text(f"Question {n}?"),), (Step((Text(f"Answer {n}. " * (size // 11)),)),)) for n in range(turns)]
    return history_of([*said, Turn((Text("x" * last),))])


def folded(history: History, window: int, name: str) -> Outcome:
    return drive(plan(View(history), Budget.of(window), RECIPES[name], METER))


def test_recipes_are_found_by_name() -> None:
    assert (recipe_named("auto"), recipe_named("chat")) == (AUTO, CHAT)
    names = ["auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot"]
    assert [(name, recipe.name) for name, recipe in RECIPES.items()] == [(name, name) for name in names]


def test_an_unknown_recipe_says_which_there_are() -> None:
    with pytest.raises(UnknownRecipe) as raised:
        recipe_named("atuo")
    known = "auto, local, chat, chat-summary, chat-hybrid, cache, layers, snapshot"
    assert str(raised.value) == f"unknown recipe 'atuo': use one of {known}"
    assert raised.value.facts == {"name": "atuo", "known": known}


def test_the_rungs_are_a_table_to_be_read() -> None:
    assert [(rung.level, rung.goal) for rung in AUTO.rungs] == [
        *[(HIGH_WATER, low_water)] * 3,
        ("over", "hot"),
        ("over", shrunk_size),
        (HIGH_WATER, low_water),
        *[("over", "hot")] * 2,
        ("over", shrunk_size),
        *[("over", "hot")] * 5,
    ]
    assert [(rung.level, rung.goal) for rung in CHAT.rungs] == [("over", "hot")] * 3


def test_low_water_is_a_function_of_the_window() -> None:
    windows = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 1_048_576)
    shares = [round(low_water(budget) / budget.limit, 2) for budget in map(Budget.of, windows)]
    assert shares == [0.5, 0.5, 0.7, 0.6, 0.8, 0.65, 0.8]
    shares = [round(shrunk_size(budget) / budget.limit, 2) for budget in map(Budget.of, windows)]
    assert shares == [0.6, 0.6, *[0.7] * 5]


def test_a_folding_in_a_big_window_saves_twenty_thousand_tokens_or_what_a_large_reserve_leaves() -> None:
    for window in (64_000, 80_000, 128_000, 2_000_000):
        budget = Budget.of(window)
        assert budget.limit - low_water(budget) >= 20_000
    assert low_water(Budget(64_000, 50_000)) == 8_400


@pytest.mark.parametrize("window", [2_048, 8_192, 65_536, 1_048_576])
def test_auto_leaves_a_conversation_below_high_water_alone(window: int) -> None:
    budget = Budget.of(window)
    outcome = folded(one_prompt([budget.limit * 2 // 3, budget.limit // 4]), window, "auto")
    assert outcome.verdict == Fits() and budget.level(outcome.before.total) == "full"


@pytest.mark.parametrize("window", [4_096, 8_192, 65_536, 1_048_576])
def test_auto_folds_to_low_water_so_that_the_next_steps_change_nothing(window: int) -> None:
    budget = Budget.of(window)
    outcome = folded(one_prompt([budget.limit // 20] * 24), window, "auto")
    assert outcome.verdict == Folded()
    assert outcome.after.total <= budget.at(low_water) * 1.05


@pytest.mark.parametrize("window", [8_192, 65_536])
def test_auto_keeps_the_newest_steps_whole(window: int) -> None:
    history = one_prompt([Budget.of(window).limit // 20] * 24)
    outcome = folded(history, window, "auto")
    assert outcome.folds and outcome.view.stubbed[-1].steps[-3:] == history.steps[-3:]


@pytest.mark.parametrize("window", [2_048, 8_192, 65_536])
def test_auto_keeps_the_prompt_of_an_endless_turn_and_its_newest_step(window: int) -> None:
    limit = Budget.of(window).limit
    history = one_prompt([limit // 40] * 300)
    shown = folded(history, window, "auto").view.shown
    (prompt,) = shown.turns[-1].prompt
    assert isinstance(prompt, Text) and prompt.text.endswith("message follows:]\nFix it.")
    assert shown.steps[-1] == history.steps[-1]


def test_auto_squeezes_the_newest_only_when_nothing_else_is_left() -> None:
    huge = folded(one_prompt([50_000]), 8_192, "auto")
    assert [(str(fold.what), fold.why) for fold in huge.folds] == [("bash result", "over_limit")]
    pasted = history_of([Turn((Text("a long paste\n" * 5_000),))])
    squeezed = folded(pasted, 8_192, "auto")
    assert [(str(fold.what), fold.why) for fold in squeezed.folds] == [("prompt", "over_limit")]
    budget = Budget.of(8_192)
    assert budget.at("hot") * 0.9 < squeezed.after.total <= budget.at("hot")
    assert budget.at(shrunk_size) * 0.9 < huge.after.total <= budget.at(shrunk_size)


@pytest.mark.parametrize("window", [4_096, 8_192, 32_768])
def test_a_huge_newest_result_does_not_cost_what_is_known_of_the_older_ones(window: int) -> None:
    limit = Budget.of(window).limit
    outcome = folded(one_prompt([limit // 16] * 15 + [limit * 3]), window, "auto")
    newest = next(fold for fold in outcome.folds if isinstance(fold, Stub))
    assert newest.after >= limit // 8
    assert outcome.after.total - newest.after >= limit // 6


def test_a_huge_newest_result_does_not_cost_the_small_steps_before_it() -> None:
    history = one_prompt([200] * 10 + [50_000])
    shown = folded(history, 8_192, "auto").view.shown
    assert shown.steps[:10] == history.steps[:10]


def test_chat_lets_whole_old_turns_go_and_no_more_than_needed() -> None:
    outcome = folded(chatting(20, 400), 4_096, "chat")
    (gist,) = outcome.folds
    assert isinstance(gist, Gist) and outcome.verdict == Folded()
    assert outcome.view.cut.steps == 0
    budget = Budget.of(4_096)
    assert budget.at("hot") - 600 < outcome.after.total <= budget.at("hot")


def test_chat_leaves_everything_alone_until_it_does_not_fit() -> None:
    history = chatting(8, 400)
    total = drive(plan(View(history), Budget.of(100_000), CHAT, METER)).before.total
    assert drive(plan(View(history), Budget(total, 0), CHAT, METER)).verdict == Fits()
    assert drive(plan(View(history), Budget(total - 1, 0), CHAT, METER)).verdict == Folded()


def test_chat_refuses_a_newest_prompt_that_is_too_big_by_itself() -> None:
    verdict = folded(chatting(5, 400, last=5_000), 4_096, "chat").verdict
    assert isinstance(verdict, TooBig) and (verdict.what, verdict.limit) == ("newest_prompt", 3_584)


def test_where_even_the_newest_step_goes_the_gist_tells_what_it_did() -> None:
    """A loop that thought only at its beginning may not be cut inside, so all of it goes when it must."""
    thought = Opaque("thought", '{"type":"thinking","thinking":"hm","signature":"s"}')
    steps = [
        Step((ToolUse(Call(str(n), "bash", '{"command":"ls"}'), Result((Text(f"result {n}\n" * 9),))),))
        for n in range(80)
    ]
    steps[0] = Step((thought, *steps[0].items))
    history = history_of([Turn((Text("Find it."),), tuple(steps))])
    shown = folded(history, 4_096, "auto").view.shown
    assert shown.steps == ()
    gist = shown.turns[0].prompt[0]
    assert isinstance(gist, Text) and "The last step was:\n## call bash" in gist.text and "result 79" in gist.text


@pytest.mark.parametrize("recipe", ["auto", "local", "cache", "layers", "snapshot"])
@pytest.mark.parametrize("share", [0.9, 0.95, 0.97, 0.99])
def test_a_prompt_close_to_the_limit_is_cut_before_the_newest_step_goes(share: float, recipe: str) -> None:
    """Otherwise the model does not see what it just did, and does it again for ever."""
    limit = Budget.of(4_096).limit
    prompt = Text("a long line that was pasted\n" * int(limit * share / 28))
    view, steps = View(History()), list[Step]()
    for number in range(12):
        steps.append(step(number, 48))
        history = history_of([Turn((prompt,), tuple(steps))])
        view = drive(plan(View(history, view.stubs, view.gists), Budget.of(4_096), RECIPES[recipe], METER)).view
        assert view.shown.steps[-1:] == history.steps[-1:], number


def test_a_new_prompt_is_not_cut_while_an_older_step_can_go() -> None:
    limit = Budget.of(4_096).limit
    pasted = Text("a long line that was pasted\n" * int(limit * 0.9 / 28))
    history = history_of([Turn((Text("go"),), (step(0, 400), step(1, 400))), Turn((pasted,))])
    outcome = folded(history, 4_096, "auto")
    assert outcome.view.shown.turns[-1].prompt[-1] == pasted


def test_what_a_large_system_prompt_leaves_is_used_as_a_window_of_that_size() -> None:
    """Low water is a share of what the conversation may take, not of the limit."""

    def count_foldings(system: str, budget: Budget) -> int:
        view, foldings = View(History()), 0
        for count in range(1, 200):
            steps = tuple(step(n, 500) for n in range(count))
            history = history_of([Turn((Text("Fix it."),), steps)], [Text(system)] if system else [])
            outcome = drive(plan(View(history, view.stubs, view.gists), budget, AUTO, METER))
            view, foldings = outcome.view, foldings + bool(outcome.folds)
        return foldings

    system = "A rule of the client.\n" * 1_300
    alone = count_foldings("", Budget(13_000, 1_500))
    behind = count_foldings(system, Budget(13_000 + len(system) + 3, 1_500))
    assert alone * 0.85 <= behind <= alone * 1.15 < 60
