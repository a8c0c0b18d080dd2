"""What is pinned is shown as it was said, or the verdict says that it does not fit: in every recipe and dialect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest

from tests import checkers
from tests.laws.laws import SHOWN_REF, dialect
from tests.laws.thinking import with_thoughts
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.model import History, Step, Turn
from yohaku.core.originals import Slot, original_at, ref_of
from yohaku.core.pins import Pin, PinnedPlaces, locate_pins, part_at, places
from yohaku.core.verdict import TooBig
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.json_values import Json
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive
from yohaku.testing import ByteMeter, conversation

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
MIXED = ("openai_responses", "anthropic", "gemini")
SEEDS = min(5_000, max(1, int(os.environ.get("YOHAKU_LAWS", "10000")) // 20))
"""For each recipe. There are not so many kinds of pins that more would find more."""


def owners(history: History) -> dict[str, Turn | Step]:
    found: dict[str, Turn | Step] = {turn.key: turn for turn in history.turns}
    return found | {step.key: step for step in history.steps}


def pieces(owner: Turn | Step) -> Iterator[tuple[Slot, str | bytes]]:
    """With thoughts, which have a ref but are not words that were said."""
    yield from places(owner)
    for index in range(len(owner.thoughts) if isinstance(owner, Step) else 0):
        yield Slot("thought", index), original_at(owner, Slot("thought", index))


def drawn(chance: Random, history: History) -> list[Pin]:
    """One to three pins of any kind, on anything there is."""
    found = [(owner, slot, said) for owner in owners(history).values() for slot, said in pieces(owner)]
    pins: list[Pin] = []
    for owner, slot, said in chance.sample(found, min(len(found), chance.randint(1, 3))):
        kind = chance.choice(("ref", "key", "text"))
        if kind == "text" and isinstance(said, str) and said and slot.where != "thought":
            at = chance.randrange(len(said))
            pins.append(Pin("text", said[at : at + chance.randint(1, 60)]))
        else:
            pins.append(Pin("key", owner.key) if kind == "key" else Pin("ref", ref_of(said)))
    return pins


def visible(view: View, pins: PinnedPlaces) -> bool:
    """Word by word: each pinned piece is shown in its place, or its text stands in the gist."""
    seen = {key for turn in view.visible() for key in (turn.key, *(step.key for step in turn.steps))}
    gist = view.gist.text if view.gist else ""
    by_key = owners(view.history)
    for key, slots in pins.whole.items():
        for slot in slots:
            original = original_at(by_key[key], slot)
            stubbed = slot in view.stubs.get(key, {})
            if not (key in seen and not stubbed) and not (isinstance(original, str) and original in gist):
                return False
    for key, passages in pins.passages.items():
        for slot, said in passages.items():
            stub = view.stubs.get(key, {}).get(slot)
            shown = (stub.text if stub else str(original_at(by_key[key], slot))) if key in seen else gist
            if not all(pin.value in shown for pin in said):
                return False
    return True


def fitted(history: History, pins: list[Pin], recipe: str, window: int) -> tuple[PinnedPlaces, Outcome]:
    found = locate_pins(history, pins)
    return found, drive(plan(View(history, pins=found), Budget.of(window), RECIPES[recipe], ByteMeter()))


def check(history: History, body: Json, name: str, pins: list[Pin], recipe: str, window: int) -> None:
    found, outcome = fitted(history, pins, recipe, window)
    limit = Budget.of(window).limit
    if isinstance(outcome.verdict, TooBig):
        assert outcome.verdict.needs > outcome.verdict.limit == limit
        return
    assert visible(outcome.view, found), "what is pinned was folded"
    assert outcome.after.total <= limit and outcome.after == weigh(outcome.view.shown, ByteMeter())
    out = dialect(name).write(body, outcome.view)
    assert checkers.DIALECTS[name].problems(out) == []
    opened = {ref: original for fold in outcome.view.folds for ref, original in outcome.view.originals(fold)}
    shown = set(SHOWN_REF.findall(str(out))) - set(SHOWN_REF.findall(str(body)))
    assert shown <= opened.keys() and all(ref == ref_of(said) for ref, said in opened.items())
    again = drive(plan(outcome.view, Budget.of(window), RECIPES[recipe], ByteMeter()))
    assert again.folds == ()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_pinned_is_visible_word_for_word_or_it_does_not_fit(recipe: str) -> None:
    folded = 0
    for seed in range(SEEDS):
        chance = Random(f"{recipe} {seed}")
        name = DIALECTS[seed % 5]
        history = conversation(chance, max_turns=3, max_steps=4, interleaved=name in MIXED)
        body = with_thoughts(name, dialect(name).compose(history, "some-model"))
        read = dialect(name).read(body).history()
        window = chance.choice((chance.randint(200, 4_000), chance.randint(500, 12_000)))
        try:
            check(read, body, name, drawn(chance, read), recipe, window)
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {name}, {recipe}, window {window}") from broken
        folded += bool(drive(plan(View(read), Budget.of(window), RECIPES[recipe], ByteMeter())).folds)
    assert folded > SEEDS // 10, "most of these have to be folded, or nothing was looked at"


def test_an_image_that_is_pinned_stays_an_image() -> None:
    found = 0
    for seed in range(SEEDS):
        history = conversation(Random(seed), max_turns=3, max_steps=3)
        images = [turn for turn in history.turns[:-1] if len(turn.prompt) > 1]
        if not images:
            continue
        pins, outcome = fitted(history, [Pin("key", images[0].key)], "auto", 1_500)
        if not isinstance(outcome.verdict, TooBig):
            found += bool(outcome.folds)
            part = part_at(images[0], next(slot for slot in pins.whole[images[0].key] if slot.item == 1))
            assert any(one is part for turn in outcome.view.shown.turns for one in turn.prompt)
    assert found
