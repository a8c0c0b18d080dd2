"""The laws over generated conversations. `python3 dev.py laws N` (or `YOHAKU_LAWS=N`) checks N of them."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.laws import LAWS, Folding, dialect
from tests.laws.test_reuse import beginning
from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.folds import Fold
from yohaku.core.model import History
from yohaku.recipes.auto import RECIPES
from yohaku.testing import ByteMeter, conversation, histories

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
MIXED = ("openai_responses", "anthropic", "gemini")
"""Where texts and calls of a reply may come in any order."""
WINDOWS = (2_048, 8_192, 32_768, 1_048_576)
CHUNK = 1_000
CHUNKS = max(1, int(os.environ.get("YOHAKU_LAWS", "10000")) // CHUNK)
"""The bulk is made from seeds: quick, and a failure names its seed."""
GROWING = max(4, CHUNKS)


def check(history: History, name: str, recipe: str, window: int, meter: object) -> None:
    folding = Folding(history, dialect(name), Budget.of(window), RECIPES[recipe], meter)  # type: ignore[arg-type]
    for law in LAWS:
        law(folding)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", DIALECTS)
def test_the_ten_laws_hold(name: str, recipe: str) -> None:
    """On conversations that Hypothesis draws: slower than seeds, but a failure shrinks to its heart."""
    meter = meters.for_model("gpt-4o")

    @given(histories(interleaved=name in MIXED), st.one_of(st.integers(200, 4_000), st.sampled_from(WINDOWS)))
    def drawn(history: History, window: int) -> None:
        check(history, name, recipe, window, meter)

    drawn()


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_ten_laws_hold_for_many(chunk: int) -> None:
    names = ("auto", *RECIPES)  # ours twice as often as the others
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        chance = Random(seed)
        name, recipe = DIALECTS[seed % 5], names[seed // 5 % len(names)]
        window = chance.choice((chance.randint(200, 4_000), *WINDOWS))
        history = conversation(chance, max_turns=3, max_steps=3, interleaved=name in MIXED)
        try:
            check(history, name, recipe, window, ByteMeter())
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {name}, {recipe}, window {window}") from broken


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", DIALECTS)
def test_the_ten_laws_hold_while_a_conversation_grows(name: str, recipe: str) -> None:
    """Each folding stands on those before it: chapters in a row, told anew in between."""
    rows = 0
    for seed in range(GROWING):
        chance = Random(f"growing {name} {recipe} {seed}")
        history = conversation(chance, max_turns=4, max_steps=12, interleaved=name in MIXED)
        window, folds = chance.randint(600, 5_000), tuple[Fold, ...]()
        for count in range(1, len(history.steps) + 1):
            part = beginning(history, count)
            folding = Folding(part, dialect(name), Budget.of(window), RECIPES[recipe], ByteMeter(), folds)
            if folding.refused:
                break
            if folding.outcome.folds:
                for law in LAWS:
                    try:
                        law(folding)
                    except AssertionError as broken:
                        raise AssertionError(f"seed {seed}, step {count}, window {window}") from broken
            folds = folding.outcome.view.folds
            rows += len(folding.outcome.view.chapters) > 1
    assert bool(rows) == (recipe == "auto")


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
def test_thoughts_are_dropped_where_the_laws_look(name: str) -> None:
    dropped = 0
    for seed in range(60):
        chance = Random(f"{name} {seed}")
        history = conversation(chance, max_turns=7, max_steps=2, interleaved=name in MIXED)
        window = chance.randint(400, 9_000)
        check(history, name, "auto", window, ByteMeter())
        folding = Folding(history, dialect(name), Budget.of(window), RECIPES["auto"], ByteMeter())
        dropped += bool(folding.outcome.view.dropped)
    assert bool(dropped) == (name != "openai_responses"), "there every thought is bound to what it led to"
