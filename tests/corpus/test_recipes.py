"""The ten laws on every recorded session, in every recipe, from 2K to 2M.

A test run takes one recipe and two windows for each session; `python3 dev.py corpus` takes all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.recorded import ALL, DIALECTS, as_taken, read
from tests.laws.laws import LAWS, Folding, dialect
from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.recipes.auto import RECIPES

NAMES = tuple(RECIPES)
WINDOWS = tuple(2**power for power in range(11, 22, 2))

pytestmark = [pytest.mark.shared, pytest.mark.corpus]


def test_the_laws_hold_for_a_recorded_session_in_every_recipe(session_file: tuple[int, Path]) -> None:
    number, path = session_file
    history, meter = read(path), meters.for_model("gpt-4o")
    for place, name in enumerate(NAMES if ALL else [NAMES[number % len(NAMES)]]):
        spoken = DIALECTS[(number + place) % len(DIALECTS)]
        said = as_taken(history, spoken)
        for window in WINDOWS if ALL else (8_192, WINDOWS[number // len(NAMES) % len(WINDOWS)]):
            folding = Folding(said, dialect(spoken), Budget.of(window), RECIPES[name], meter)
            for law in LAWS:
                try:
                    law(folding)
                except AssertionError as broken:
                    raise AssertionError(f"{law.__name__}: {name}, {spoken}, window {window}") from broken
