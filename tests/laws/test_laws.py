"""The laws over generated conversations. `YOHAKU_LAWS=1000000` (or `python3 dev.py laws`) for the long run."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.laws import LAWS, Folding, dialect
from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.recipes import RECIPES
from yohaku.testing import ByteMeter, histories

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
PARTS = 2
EXAMPLES = int(os.environ.get("YOHAKU_LAWS", "10000")) // (len(DIALECTS) * 2 * PARTS)

FEW = min(EXAMPLES, 40)
"""Examples of the first part, which are drawn slowly."""

windows = st.one_of(st.integers(200, 4_000), st.sampled_from((2_048, 8_192, 32_768, 1_048_576)))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("recipe", ("auto", "chat"))
@pytest.mark.parametrize("name", DIALECTS)
def test_the_ten_laws_hold(name: str, recipe: str, part: int) -> None:
    """The first part draws each choice, so that a failure shrinks well; the second is quick, and takes the bulk."""
    meter = ByteMeter() if part else meters.for_model("gpt-4o")
    shape = {"max_turns": 3, "max_steps": 3} if part else {}
    interleaved = name in ("anthropic", "openai_responses", "gemini")

    @settings(max_examples=max(1, 2 * EXAMPLES - FEW if part else FEW))
    @given(histories(fast=bool(part), interleaved=interleaved, **shape), windows)
    def check(history: object, window: int) -> None:
        folding = Folding(history, dialect(name), Budget.of(window), RECIPES[recipe], meter)  # type: ignore[arg-type]
        for law in LAWS:
            law(folding)

    check()
