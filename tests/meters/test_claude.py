from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yohaku.meters.claude import Claude, exact_counter

ctok = pytest.importorskip("ctok", reason="ctok, the exact counter for Claude, is not installed")

FRAMES = {"3.0": 7, "4.7": 11, "4.8": 6}
"""Tokens ctok counts around one message."""
WIDE = st.text(
    st.one_of(st.sampled_from(" \n\t'.,aAzZ09_éçß漢かア😀ЯيTHEthe"), st.characters()), min_size=1, max_size=120
)


@pytest.mark.parametrize(("version", "around"), FRAMES.items())
@settings(max_examples=60)
@given(text=WIDE)
def test_counting_word_by_word_is_exact(version: str, around: int, text: str) -> None:
    assert exact_counter(version)(text) == ctok.token_count(text, version) - around


def test_the_frame_of_a_message_is_not_part_of_a_text() -> None:
    meter = Claude("claude-3.0", "3.0")
    assert (meter.exact, meter.count(""), meter.count("hello")) == (True, 0, 1)


@pytest.mark.parametrize("char", [" ", "a", "漢", "\n", "=", "\ud800"])
def test_a_long_run_of_one_character_is_counted(char: str) -> None:
    assert Claude("claude-4.8", "4.8").count(char * 20_000) > 0
