"""Law 2 for roles: folding brings no two messages of one role together, however often a conversation is folded.

Each conversation grows step by step through one session, and every body it hands out is judged by `checkers`: beside
the original, and by the rules of the strictest chat templates where the original keeps to those.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests import checkers
from tests.checkers import alternation
from tests.laws.laws import dialect
from yohaku import Session
from yohaku.core.errors import DoesNotFit
from yohaku.core.folds import Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Part, Result, Step, Text, ToolUse, Turn
from yohaku.recipes.auto import RECIPES
from yohaku.testing import PNG, ByteMeter

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
SEEDS = min(400, max(10, int(os.environ.get("YOHAKU_LAWS", "10000")) // 400))
"""For each dialect and recipe; each is a row of thirty fits."""
IMAGE = Opaque("image", PNG, "base64", "image/png")
WINDOWS = (700, 1_500, 3_000)


def talk(chance: Random) -> History:
    """A conversation in which user and model take turns; in every other one the model may begin, and images come.

    Some dialects write an image beside a text as two messages: then only those that the original has may be there.
    """
    odd = chance.random() < 0.5
    turns = [Turn((), (_reply(chance, "greeting"),))] if odd and chance.random() < 0.4 else []
    for number in range(chance.randint(3, 7)):
        calls = (_step(chance, f"{number}_{n}") for n in range(chance.choice((0, 1, 3, 6))))
        turns.append(Turn(_prompt(chance, number, odd), (*calls, _reply(chance, str(number)))))
    return history_of(turns, [Text("Be brief.")] if chance.random() < 0.7 else ())


def _prompt(chance: Random, number: int, odd: bool) -> tuple[Part, ...]:
    text = Text(f"Task {number}: never push. " * chance.choice((1, 1, 2, 20)))
    return chance.choice(((IMAGE,), (IMAGE, text), (text, IMAGE), (text,))) if odd else (text,)


def _step(chance: Random, name: str) -> Step:
    said = (Text(f"I look at {name}."),) if chance.random() < 0.5 else ()
    uses = (_use(chance, f"call_{name}_{n}") for n in range(chance.choice((1, 1, 2))))
    return Step((*said, *uses))


def _use(chance: Random, call_id: str) -> ToolUse:
    return ToolUse(Call(call_id, "bash", "{}"), Result((Text(f"{call_id} is fine.\n" * chance.choice((1, 5, 40))),)))


def _reply(chance: Random, name: str) -> Step:
    return Step((Text(f"Done with {name}. " * chance.choice((1, 4, 30))),))


def stages(history: History) -> Iterator[History]:
    """The conversation as it is sent, time after time: after a prompt, and after each step that must go on."""
    for number, turn in enumerate(history.turns):
        for count in range(len(turn.steps) if turn.prompt else 0):
            turns = (*history.turns[:number], Turn(turn.prompt, turn.steps[:count]))
            yield history_of(turns, history.system, history.tools)
    yield history


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", DIALECTS)
def test_folding_brings_no_two_messages_of_one_role_together(name: str, recipe: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        chance = Random(f"roles {seed}")
        check(talk(chance), name, recipe, chance.choice(WINDOWS), seen)
    assert seen["gists"] > SEEDS, "several foldings to a conversation"
    assert seen["refused"] < seen["folded"] > SEEDS
    assert seen["strict"] > SEEDS, "most keep to the strictest rules"


def check(history: History, name: str, recipe: str, window: int, seen: Counter[str]) -> None:
    wire = dialect(name)
    session = Session(window, 0, recipe, dialect=name, meter=ByteMeter())
    for stage in stages(history):
        body = wire.compose(stage, "some-model")
        try:
            out = session.fit(body)
        except DoesNotFit:
            seen["refused"] += 1
            continue
        receipt = session.receipt
        assert receipt
        seen["gists"] += sum(isinstance(fold, Gist) for fold in receipt.outcome.folds)
        seen["folded"] += out is not body
        assert checkers.DIALECTS[name].problems(out) == []
        assert checkers.DIALECTS[name].intact(body, out) == []
        if not alternation.problems(name, body):
            assert alternation.problems(name, out) == []
            seen["strict"] += out is not body
