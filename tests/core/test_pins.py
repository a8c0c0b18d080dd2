"""What was undone is left open while there is room; and what is pinned no pass folds, whoever wrote it."""

from __future__ import annotations

import base64
from random import Random

import pytest

from yohaku.analysis.tool_calls import describe_call
from yohaku.core.budget import Budget
from yohaku.core.engine import AGAIN, Outcome, plan
from yohaku.core.folds import Cut, Fold, Gist, Place, Stub, place_of
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, ref_of, render_turns
from yohaku.core.pins import TITLE, TITLE_JA, Pin, PinnedPlaces, PinnedWeigher, locate_pins
from yohaku.core.recipe import PassContext, PlanOptions, Recipe, Rung
from yohaku.core.verdict import Fits, Folded, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher, weigh
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive
from yohaku.testing import PNG, ByteMeter, conversation

WINDOW = 8_000


def located(history: History, pins: list[Pin]) -> PinnedPlaces:
    return locate_pins(history, pins, describe=describe_call)


def used(number: int, size: int = 600) -> Step:
    call = Call(f"c{number}", "bash", f'{{"command":"cat {number}.log"}}')
    return Step((ToolUse(call, Result((Text(f"{number}: " + "all is well. " * (size // 13)),))),))


def agent(steps: int, asked: str = "Read the logs.") -> History:
    return history_of([Turn((Text(asked),), tuple(map(used, range(steps))))])


def planned(view: View, recipe: str | Recipe = "auto", window: int = WINDOW, **options: object) -> Outcome:
    found = RECIPES[recipe] if isinstance(recipe, str) else recipe
    return drive(plan(view, Budget.of(window), found, ByteMeter(), PlanOptions(**options)))  # type: ignore[arg-type]


def places(folds: tuple[Fold, ...]) -> frozenset[Place]:
    return frozenset(map(place_of, folds))


def full(more: int = 0) -> tuple[View, frozenset[Place]]:
    """A conversation that just fits and yet is folded, and where that folds; then so many steps more of it."""
    limit = Budget.of(WINDOW).limit
    asked = "Read the logs." + "." * (limit - 20 - weigh(agent(10), ByteMeter()).total)
    folds = planned(View(agent(10, asked))).folds
    assert folds and planned(View(agent(10, asked))).before.total == limit - 20
    return View(agent(10 + more, asked)), places(folds)


# Held open


def test_what_was_undone_is_not_folded_again_while_it_fits() -> None:
    view, held = full()
    outcome = planned(view, held=held)
    assert (outcome.folds, outcome.verdict) == ((), Fits())


def test_what_was_undone_is_folded_again_where_nothing_else_fits_and_says_so() -> None:
    view, held = full(60)
    outcome = planned(view, held=held)
    assert outcome.verdict == Folded() and outcome.after.total <= Budget.of(WINDOW).limit
    assert AGAIN in {fold.why for fold in outcome.folds}
    assert planned(outcome.view, held=held).folds == ()


def test_the_newest_step_is_not_cut_for_what_was_undone() -> None:
    view, held = full(4)
    outcome = planned(view, held=held)
    assert view.history.steps[-1].key not in {stub.key for stub in outcome.view.live}


def test_who_asks_for_a_folding_gets_it_though_they_undid_one() -> None:
    view, held = full()
    assert planned(view, held=held, manual=True).folds


def test_beside_what_is_held_the_rest_is_folded_as_ever() -> None:
    history = agent(9)
    step = history.steps[2]
    held = frozenset({(step.key, Slot("result", 0, 0))})
    outcome = planned(View(history), "cache", 6_000, held=held)
    assert outcome.folds and step.key not in {fold.key for fold in outcome.folds}
    assert outcome.view.gist is None


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_undoing_any_folding_leaves_it_open_or_folds_it_again_visibly(recipe: str) -> None:
    seen = 0
    for seed in range(120):
        chance = Random(f"held {recipe} {seed}")
        history = conversation(chance, max_turns=3, max_steps=4)
        window = chance.randint(500, 8_000)
        first = planned(View(history), recipe, window)
        if not first.folds or isinstance(first.verdict, TooBig):
            continue
        seen += 1
        held = places(first.folds)
        outcome = planned(View(history), recipe, window, held=held)
        limit = Budget.of(window).limit
        assert outcome.after.total <= limit or isinstance(outcome.verdict, TooBig)
        if first.before.total <= limit:
            assert not places(outcome.folds) & held
        again = {fold.why for fold in outcome.folds if place_of(fold) in held}
        assert again <= {AGAIN}
        if outcome.after.total <= limit:
            assert planned(outcome.view, recipe, window, held=held).folds == ()
    assert seen > 10


def test_a_recipe_without_a_last_resort_may_fold_what_is_held_too() -> None:
    def hide(view: View, context: PassContext) -> list[Fold]:
        cut = Cut(0, 8)
        hidden = render_turns(view.hidden(cut))
        return [] if view.gist else [Gist(view.key_at(cut), "[folded]", ref_of(hidden), "all", "full", 9_000, 9)]

    recipe = Recipe("mine", (Rung("hot", hide),))
    view = View(agent(14))
    held = places(planned(view, recipe).folds)
    assert [fold.why for fold in planned(view, recipe, held=held).folds] == [AGAIN]


def test_no_model_is_asked_for_a_gist_that_may_not_stand() -> None:
    view, held = full()
    held |= {(view.history.steps[-2].key, None)}
    questions = plan(view, Budget.of(WINDOW), RECIPES["auto"], ByteMeter(), PlanOptions(held=held))
    effects = []
    try:
        while True:
            effects.append(type(next(questions)).__name__)
    except StopIteration as stop:
        assert stop.value.folds == ()
    assert effects == ["FoldStarting"]


# Pinned


def rude(*folds: Fold) -> Recipe:
    """A pass that folds what it likes."""
    return Recipe("rude", (Rung("calm", lambda view, context: list(folds), goal=0.0),))


def test_a_pass_that_folds_what_is_pinned_is_refused() -> None:
    history = agent(3)
    step = history.steps[0]
    original = str(step.uses[0].result.text)
    stub = Stub(step.key, Slot("result", 0, 0), "[gone]", ref_of(original), "result", "mine", 600, 6)
    pins = located(history, [Pin("ref", ref_of(original))])
    outcome = planned(View(history, pins=pins), rude(stub))
    assert (outcome.folds, outcome.verdict) == ((), Fits())
    assert planned(View(history), rude(stub)).folds == (stub,)
    assert View(history, pins=pins).with_([stub]).live == ()


def test_a_passage_is_put_into_the_stub_that_would_hide_it() -> None:
    history = agent(3)
    step = history.steps[1]
    stub = Stub(step.key, Slot("result", 0, 0), "[gone]", "a" * 12, "result", "mine", 600, 6)
    pins = located(history, [Pin("text", "1: all is well.")])
    outcome = planned(View(history, pins=pins), rude(stub))
    (made,) = outcome.folds
    assert made.text == f"[gone]\n{TITLE}\n1: all is well." and made.after == len(made.text)


def test_in_a_gist_what_is_pinned_stands_word_for_word_under_its_call() -> None:
    history = agent(30)
    original = str(history.steps[2].uses[0].result.text)
    pins = located(history, [Pin("ref", ref_of(original)), Pin("text", "7: all is well.")])
    outcome = planned(View(history, pins=pins))
    assert outcome.view.gist
    tail = f"\n{TITLE}\n- `cat 2.log`:\n{original}\n- `cat 7.log`:\n7: all is well."
    assert outcome.view.gist.text.endswith(tail)
    kept = next(fold for fold in outcome.folds if isinstance(fold, Gist))
    assert outcome.view.gist.text == kept.text + tail, "what is kept knows nothing of pins"
    unpinned = View(history).with_(outcome.folds)
    assert unpinned.gist == kept


def test_pinned_pieces_weigh_nothing_for_passes_though_a_gist_and_a_prompt_are_one_text() -> None:
    history = agent(30, asked="Read the logs. " * 20)
    original = str(history.steps[2].uses[0].result.text)
    for pins in ([Pin("ref", ref_of(original))], [Pin("ref", ref_of("Read the logs. " * 20))]):
        view = planned(View(history, pins=located(history, pins))).view
        assert view.gist and view.preface and view.preface.place == "joined"
        plain, free = Weigher(ByteMeter()), PinnedWeigher(ByteMeter(), history, view.pins)
        free.preface, free.tails, free.before = view.preface.text, view.pinned, view.preface.before
        pinned = len("".join(view.pinned) or "Read the logs. " * 20)
        assert plain.ledger(view.shown).total - free.ledger(view.shown).total == pinned


def test_a_gist_in_japanese_says_so_in_japanese() -> None:
    asked = Turn((Text("ログを読んで、まとめてください。"),), (used(0),))
    history = history_of([asked, Turn((Text("続けてください。"),), tuple(map(used, range(1, 30))))])
    pins = located(history, [Pin("key", history.steps[0].key)])
    gist = planned(View(history, pins=pins)).view.gist
    assert gist and f"\n{TITLE_JA}\n- `cat 0.log` command:\ncat 0.log\n- `cat 0.log`:\n0: all" in gist.text


def test_pins_that_alone_do_not_fit_are_named_with_how_to_unpin_them() -> None:
    history = history_of([Turn((Text("Read."),), (used(0), used(1, 9_000), used(2)))])
    ref = ref_of(str(history.steps[1].uses[0].result.text))
    outcome = planned(View(history, pins=located(history, [Pin("ref", ref), Pin("key", history.steps[0].key)])))
    assert outcome.verdict == TooBig("pinned", outcome.before.total, 7_000, f"ref={ref}", "`cat 1.log`")
    assert f"unpin ref={ref}, or use a larger window" in str(outcome.verdict)
    assert planned(View(history)).verdict == Folded()


def test_a_pinned_image_is_not_hidden_by_a_gist() -> None:
    image = Opaque("image", PNG, "base64", "image/png")
    turns = [Turn((Text("Look."), image), (used(0), used(1))), Turn((Text("Go on."),), tuple(map(used, range(2, 20))))]
    history = history_of(turns)
    free = planned(View(history))
    assert free.view.cut.turn == 1
    pins = located(history, [Pin("ref", ref_of(base64.b64decode(PNG)))])
    assert pins.media == {history.turns[0].key}
    held = planned(View(history, pins=pins))
    assert held.view.cut.turn == 0 and image in held.view.shown.turns[0].prompt
    assert View(history, pins=pins).with_(free.view.folds).cut == Cut(0, 0), "one that stood already does not either"
