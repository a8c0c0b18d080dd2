from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from random import Random

import pytest

from yohaku.core.budget import Budget, Level
from yohaku.core.cache_break_even import CacheBreakEven
from yohaku.core.engine import MAX_ROUNDS, Outcome, plan
from yohaku.core.errors import Unanswered
from yohaku.core.folds import Fold, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import History, Step, Text, Tool, Turn
from yohaku.core.originals import Slot
from yohaku.core.recipe import AskingPass, FoldStarting, Pass, PassContext, PlanOptions, Question, Recipe, Rung
from yohaku.core.verdict import TOO_BIG, Fits, Folded, FoldingRefused, Inflated, TooBig, too_big
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import EffectHandlers, drive
from yohaku.testing import ByteMeter, ScriptedModel, conversation

METER = ByteMeter()


def view(prompt: int = 100, reply: int = 0, system: int = 0, tools: int = 0) -> View:
    """A prompt of so many bytes, and maybe a reply; 7 or 11 tokens more with the frame of request and entries."""
    steps = (Step((Text("r" * reply),)),) if reply else ()
    parts = [Text("s" * system)] if system else []
    return View(history_of([Turn((Text("p" * prompt),), steps)], parts, [Tool("t", "t" * tools)] if tools else ()))


def stub(view: View, text: str, before: int | None = None, after: int | None = None) -> Stub:
    turn = view.history.turns[0]
    (part,) = turn.prompt
    assert isinstance(part, Text)
    weight = len(part.text) if before is None else before
    return Stub(
        turn.key, Slot("prompt", 0), text, "ref", "prompt", "why", weight, len(text) if after is None else after
    )


def proposing(*texts: str) -> Pass:
    return lambda view, context: [stub(view, text) for text in texts]


def recipe(*rungs: Rung) -> Recipe:
    return Recipe("test", rungs)


def always(propose: Pass) -> Rung:
    return Rung("calm", propose, goal=0.0)


def planned(view: View, limit: int, *rungs: Rung, answers: tuple[str, ...] = ()) -> Outcome:
    return drive(plan(view, Budget(limit, 0), recipe(*rungs), METER), EffectHandlers(ScriptedModel(*answers)))


# Rungs


@pytest.mark.parametrize(
    ("level", "limit", "fires"),
    [
        ("calm", 100_000, True),
        ("warm", 179, True),
        ("warm", 180, False),
        ("hot", 134, True),
        ("hot", 135, False),
        ("full", 119, True),
        ("full", 121, False),
        (1.0, 107, True),
        (1.0, 108, False),
        ("over", 106, True),
        ("over", 107, False),
    ],
)
def test_a_rung_fires_when_the_view_weighs_as_much_as_its_level(level: Level | float, limit: int, fires: bool) -> None:
    v = view(100)
    outcome = planned(v, limit, Rung(level, proposing("[short]"), goal=0.0))
    made = (stub(v, "[short]"),) if fires else ()
    assert (outcome.folds, outcome.verdict) == (made, Folded() if fires else Fits())


def test_nothing_is_touched_where_no_rung_fires() -> None:
    v = view(100)
    outcome = planned(v, 1_000, Rung("warm", proposing("[short]")))
    ledger = weigh(v.shown, METER)
    assert outcome == Outcome(v, ledger, ledger, Fits()) and outcome.view is v


def test_a_folding_says_what_it_did() -> None:
    v = view(100, reply=50)
    outcome = planned(v, 150, Rung("hot", proposing("[short]")))
    folded = v.with_([stub(v, "[short]")])
    ledgers = weigh(v.shown, METER), weigh(folded.shown, METER)
    back = CacheBreakEven(93, 65, 65 * 1.15 / 9.3)
    assert outcome == Outcome(folded, *ledgers, Folded(), (stub(v, "[short]"),), 0, (), back)
    assert (outcome.before.total, outcome.after.total) == (161, 68)


def test_a_rung_sees_the_view_the_rungs_before_it_left_and_the_goal_it_was_given() -> None:
    seen: list[tuple[View, int, int, int]] = []

    def look(view: View, context: PassContext) -> list[Fold]:
        seen.append((view, context.ledger.total, context.goal, context.excess))
        assert context.meter is METER and context.budget == Budget(100, 0)
        return []

    v = view(100)
    planned(v, 100, Rung("over", look), Rung("over", proposing("p" * 80)), Rung("hot", look, goal=0.5))
    after = v.with_([stub(v, "p" * 80)])
    assert seen == [(v, 107, 60, 47), (after, 87, 50, 37), (after, 87, 50, 37)]


def test_a_rung_that_is_no_longer_needed_is_not_asked() -> None:
    def never(view: View, context: PassContext) -> list[Fold]:
        raise AssertionError("asked")

    v = view(100)
    assert planned(v, 100, Rung("over", proposing("[short]")), Rung("over", never)).folds == (stub(v, "[short]"),)


def test_only_the_folds_that_still_show_are_told() -> None:
    v = view(100, reply=150)
    (step,) = v.history.steps

    def both(view: View, context: PassContext) -> list[Fold]:
        return [
            stub(view, "[a bit shorter]"),
            Stub(step.key, Slot("item", 0), "r" * 140, "ref", "reply", "why", 150, 140),
        ]

    everything = Gist(step.key, "[gist]", "ref", "all", "why", 150, 10)
    outcome = planned(v, 200, always(both), always(proposing("[short]")), always(lambda v, r: [everything]))
    assert outcome.folds == (stub(v, "[short]"), everything)
    assert outcome.verdict == Folded()


# Rounds


def shortening(by: int, least: int = 0) -> Pass:
    """Takes so many bytes from the prompt each time it is asked."""

    def propose(view: View, context: PassContext) -> list[Fold]:
        (part,) = view.shown.turns[0].prompt
        assert isinstance(part, Text)
        left = len(part.text) - by
        return [stub(view, "p" * left, before=len(part.text))] if left >= least else []

    return propose


def test_what_a_later_rung_leaves_an_earlier_one_to_do_is_done_at_once() -> None:
    v = view(100, reply=50)
    (step,) = v.history.steps
    reply = Stub(step.key, Slot("item", 0), "[r]", "ref", "reply", "why", 50, 3)

    def after_the_reply(view: View, context: PassContext) -> list[Fold]:
        return [stub(view, "[short]")] if view.live == (reply,) else []

    outcome = planned(v, 100, always(after_the_reply), always(lambda view, context: [reply]))
    assert (outcome.folds, outcome.verdict) == ((reply, stub(v, "[short]")), Folded())


def test_the_rungs_are_gone_through_until_nothing_changes() -> None:
    asked: list[int] = []

    def counting(view: View, context: PassContext) -> list[Fold]:
        asked.append(context.ledger.total)
        return []

    outcome = planned(view(100), 100, always(counting), always(shortening(20, least=40)))
    assert asked == [107, 87, 67, 47]
    assert outcome.folds == (stub(view(100), "p" * 40, before=60),)


def test_a_pass_that_never_has_enough_ends_all_the_same() -> None:
    outcome = planned(view(100), 1_000, always(shortening(1)))
    assert outcome.after.total == 107 - MAX_ROUNDS


def test_a_round_stops_where_its_level_is_no_longer_reached() -> None:
    outcome = planned(view(100), 100, Rung("hot", shortening(10)))
    assert (outcome.before.total, outcome.after.total) == (107, 77)


# Never bigger


def test_folds_that_say_they_grow_are_refused() -> None:
    v = view(10)
    outcome = planned(v, 10_000, always(proposing("[a text that is longer than what it hides]")))
    assert (outcome.view, outcome.folds, outcome.after) == (v, (), outcome.before)


def test_the_verdict_says_when_folds_that_grow_were_refused() -> None:
    outcome = planned(view(10), 10_000, always(proposing("[a text that is longer than what it hides]")))
    assert outcome.verdict == Inflated()


def test_folds_that_say_they_shrink_and_do_not_are_refused_together() -> None:
    v = view(10)

    def lying(view: View, context: PassContext) -> list[Fold]:
        return [stub(view, "[a text that is longer than what it hides]", before=100, after=5)]

    outcome = planned(v, 10_000, always(lying))
    assert outcome == Outcome(v, outcome.before, outcome.before, Inflated())


def test_one_that_grows_does_not_spoil_those_that_shrink() -> None:
    v = view(100)
    outcome = planned(v, 10_000, always(proposing("p" * 200, "[short]", "p" * 100)))
    assert (outcome.folds, outcome.verdict) == ((stub(v, "[short]"),), Folded())


def test_a_refused_proposal_does_not_stop_the_next_rung() -> None:
    v = view(100)
    lying = always(lambda view, context: [stub(view, "p" * 200, after=1)])
    outcome = planned(v, 10_000, lying, always(proposing("[short]")))
    assert (outcome.folds, outcome.verdict) == ((stub(v, "[short]"),), Folded())


# Questions


def asking(view: View, context: PassContext) -> AskingPass:
    first = yield Question("gist", "what was said?", 50)
    second = yield Question("check", f"is this true: {first}", 5)
    return [stub(view, f"[{first} {second}]")]


def test_a_pass_that_needs_a_model_yields_its_questions_and_is_sent_the_answers() -> None:
    v = view(100)
    planning = plan(v, Budget(100, 0), recipe(Rung("over", asking)), METER)
    assert next(planning) == FoldStarting(manual=False, weight=107, limit=100)
    assert planning.send("") == Question("gist", "what was said?", 50)
    assert planning.send("a tale") == Question("check", "is this true: a tale", 5)
    with pytest.raises(StopIteration) as stopped:
        planning.send("")
    outcome: Outcome = stopped.value.value
    assert (outcome.folds, outcome.asks, outcome.verdict) == ((stub(v, "[a tale ]"),), 2, Folded())


def test_questions_are_counted_over_all_rungs_also_where_nothing_came_of_them() -> None:
    outcome = planned(view(9), 10_000, always(asking), always(asking), answers=("a tale", "yes") * 2)
    assert (outcome.folds, outcome.asks) == ((), 4)


def test_a_question_nobody_answers_ends_the_planning_when_the_pass_cannot_do_without() -> None:
    with pytest.raises(Unanswered, match="no answer left for gist"):
        planned(view(100), 100, Rung("over", asking))


def test_a_pass_may_do_without_a_model_where_nobody_answers() -> None:
    def frugal(view: View, context: PassContext) -> AskingPass:
        try:
            text = yield Question("gist", "what was said?", 50)
        except Unanswered:
            text = "[no model]"
        return [stub(view, text)]

    v = view(100)
    assert planned(v, 100, Rung("over", frugal)).folds == (stub(v, "[no model]"),)


def test_a_pass_may_ask_something_else_where_nobody_answers() -> None:
    def stubborn(view: View, context: PassContext) -> AskingPass:
        try:
            yield Question("gist", "what was said?", 50)
        except Unanswered:
            pass
        text = yield Question("title", "what is it about?", 5)
        return [stub(view, text)]

    v = view(100)
    planning = plan(v, Budget(100, 0), recipe(Rung("over", stubborn)), METER)
    next(planning)
    planning.send("")
    assert planning.throw(Unanswered("nobody")) == Question("title", "what is it about?", 5)
    with pytest.raises(StopIteration) as stopped:
        planning.send("[logs]")
    outcome: Outcome = stopped.value.value
    assert (outcome.folds, outcome.asks) == ((stub(v, "[logs]"),), 2)


def test_a_pass_may_be_a_generator_that_asks_nothing() -> None:
    def quiet(view: View, context: PassContext) -> Generator[Question, str, list[Fold]]:
        if context.excess < 0:
            yield Question("never", "", 0)
        return [stub(view, "[short]")]

    outcome = planned(view(100), 100, Rung("over", quiet))
    assert (outcome.folds, outcome.asks) == ((stub(view(100), "[short]"),), 0)


# Too big


@pytest.mark.parametrize(
    ("what", "limit", "given", "needs"),
    [
        ("system_prompt", 100, view(1, system=100), 3 + 104),
        ("system_prompt", 100, view(1, system=94), 3 + 98),
        ("tool_definitions", 100, view(1, system=10, tools=200), 3 + 200),
        ("system_prompt_and_tools", 100, view(1, system=50, tools=60), 3 + 54 + 60),
        ("newest_prompt", 100, view(100), 104),
        ("newest_prompt", 100, view(95), 3 + 99),
        ("newest_prompt", 100, view(100, system=50), 104),
        ("newest_prompt_beside_system_prompt", 100, view(10, system=85), 3 + 89 + 14),
        ("newest_prompt_beside_tools", 100, view(10, system=40, tools=50), 3 + 44 + 50 + 14),
        ("newest_turn", 100, view(1, reply=100), 5 + 104),
        ("newest_turn_beside_system_prompt", 100, view(10, reply=20, system=60), 3 + 64 + 14 + 24),
        ("newest_turn_beside_tools", 100, view(10, reply=20, tools=60), 3 + 60 + 14 + 24),
    ],
)
def test_what_is_too_big_is_named_with_what_it_needs(what: str, limit: int, given: View, needs: int) -> None:
    outcome = planned(given, limit, Rung("over", proposing()))
    assert outcome.verdict == TooBig(what, needs, limit)
    assert str(outcome.verdict) == (
        f"does not fit: {TOO_BIG[what]} would need {needs:,} tokens and the limit is {limit:,}; "
        "shorten it, or use a larger window"
    )
    assert too_big(given, outcome.after, Budget(limit, 0)) == outcome.verdict


def test_a_small_prompt_is_not_blamed_for_a_system_prompt_that_fills_the_window() -> None:
    verdict = planned(view(2, system=190), 200, Rung("over", proposing())).verdict
    assert verdict == TooBig("newest_prompt_beside_system_prompt", 203, 200)


def test_tool_definitions_are_not_blamed_where_there_are_none() -> None:
    verdict = planned(view(2, system=95), 100, Rung("over", proposing())).verdict
    assert verdict == TooBig("system_prompt", 102, 100)


def test_what_is_too_big_was_folded_as_far_as_it_would_go() -> None:
    v = view(100, reply=100)
    outcome = planned(v, 100, Rung("over", proposing("[short]")))
    assert outcome.folds == (stub(v, "[short]"),)
    assert outcome.verdict == TooBig("newest_turn", 4 + 7 + 104, 100)


# Whole recipes


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("seed", range(12))
def test_planning_again_on_the_outcome_makes_no_new_fold(name: str, seed: int) -> None:
    v = View(conversation(Random(seed)))
    budget = Budget.of(6_000)
    outcome = drive(plan(v, budget, RECIPES[name], METER))
    if not isinstance(outcome.verdict, TooBig):
        again = drive(plan(outcome.view, budget, RECIPES[name], METER))
        assert (again.folds, again.verdict, again.before, again.after) == ((), Fits(), outcome.after, outcome.after)


def test_an_empty_conversation_fits() -> None:
    assert drive(plan(View(History()), Budget.of(2_048), RECIPES["auto"], METER)).verdict == Fits()


# What the surface may wish for


def test_a_folding_the_surface_refuses_changes_nothing() -> None:
    v = view(100)
    outcome = drive(
        plan(v, Budget(120, 0), recipe(Rung("hot", proposing("[short]"))), METER),
        EffectHandlers(before=lambda folding: False),
    )
    assert (outcome.view, outcome.folds, outcome.verdict) == (v, (), FoldingRefused())


def test_what_does_not_fit_unfolded_is_not_sent_when_the_surface_refuses_to_fold() -> None:
    planning = plan(view(100), Budget(100, 0), recipe(Rung("over", proposing("[short]"))), METER)
    outcome = drive(planning, EffectHandlers(before=lambda folding: False))
    assert outcome.verdict == TooBig("unfolded_conversation", 107, 100)


def test_the_user_may_have_it_folded_below_any_level_and_say_what_to_keep() -> None:
    heard: list[PlanOptions] = []

    def listening(view: View, context: PassContext) -> list[Fold]:
        heard.append(context.options)
        return [stub(view, "[short]")]

    planning = plan(
        view(100), Budget(10_000, 0), recipe(Rung("full", listening)), METER, PlanOptions(manual=True, words="a")
    )
    outcome = drive(planning, EffectHandlers(before=lambda folding: "b"))
    assert outcome.verdict == Folded() and [(options.manual, options.words) for options in heard] == [(True, "a\nb")]


def test_a_rung_that_must_pay_back_waits_until_it_does() -> None:
    rung = Rung("calm", proposing("[short]"), goal="calm", pays=True)
    v = view(100, reply=50)
    assert drive(plan(v, Budget(200, 0), recipe(rung), METER, PlanOptions(ahead=8))).verdict == Fits()
    assert drive(plan(v, Budget(200, 0), recipe(rung), METER, PlanOptions(ahead=9))).verdict == Folded()
    assert drive(plan(v, Budget(150, 0), recipe(rung), METER, PlanOptions(ahead=8))).verdict == Folded()  # it must


def test_why_a_question_had_no_answer_is_told() -> None:
    def frugal(view: View, context: PassContext) -> AskingPass:
        try:
            text = yield Question("gist", "what was said?", 50)
        except Unanswered:
            text = "[no model]"
        return [stub(view, text)]

    def broken(question: Question) -> str:
        raise TimeoutError("too slow")

    outcome = drive(plan(view(100), Budget(100, 0), recipe(Rung("over", frugal)), METER), EffectHandlers(broken))
    assert (outcome.verdict, outcome.failed) == (Folded(), ("the question for gist failed: too slow",))


# What is said again


def long_view() -> View:
    turns = [Turn((Text(f"prompt {number}"),), (Step((Text("r" * 100),)),)) for number in range(6)]
    return View(history_of(turns))


def gist_of(view: View, context: PassContext) -> list[Fold]:
    hidden = sum(context.weigher.turn(turn) for turn in view.history.turns[:5])
    gist = Gist(view.history.turns[5].key, "[gist]", "ref", "all", "why", hidden, 0)
    return [replace(gist, after=context.weigher.turn(gist.turn))]


@pytest.mark.parametrize(("size", "said"), [(0, False), (40, True), (2_000, False)])
def test_a_reminder_stands_in_a_new_gist_unless_it_is_too_big(size: int, said: bool) -> None:  # P10
    view, reminder = long_view(), "m" * size
    planning = plan(view, Budget(400, 0), recipe(Rung("over", gist_of)), METER)
    outcome = drive(planning, EffectHandlers(remind=lambda: reminder))
    (gist,) = outcome.folds
    assert isinstance(gist, Gist) and outcome.verdict == Folded()
    assert gist.text == (f"[gist]\n\n{reminder}" if said else "[gist]")
    saved = outcome.before.total - outcome.after.total
    assert saved == gist.before - gist.after + METER.frame.message, "it is weighed as an entry of its own"


def test_without_a_gist_nobody_is_asked_for_a_reminder() -> None:
    def remind() -> str:
        raise AssertionError

    planning = plan(view(100), Budget(100, 0), recipe(Rung("over", proposing("[short]"))), METER)
    assert drive(planning, EffectHandlers(remind=remind)).verdict == Folded()


def test_a_line_that_is_to_stay_stays_in_the_stub_of_its_text() -> None:  # P9
    v = View(history_of([Turn((Text("p" * 100 + "\n[a note]"),))]))
    options = PlanOptions(kept_lines=("[a note]", "[another]"))
    outcome = drive(plan(v, Budget(100, 0), recipe(Rung("over", proposing("[short]"))), METER, options))
    (fold,) = outcome.folds
    assert (fold.text, fold.after) == ("[short]\n[a note]", 16)
