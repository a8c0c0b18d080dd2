from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.shorten import find_cap, shorten


@given(st.lists(st.integers(0, 10_000), max_size=30), st.integers(-1_000, 200_000))
def test_the_cap_is_the_highest_that_is_allowed(weights: list[int], allowed: int) -> None:
    cap = find_cap(weights, allowed)
    assert 0 <= cap <= max(weights, default=0)
    if allowed >= 0:
        assert sum(min(weight, cap) for weight in weights) <= allowed
    if cap < max(weights, default=0):
        assert sum(min(weight, cap + 1) for weight in weights) > allowed


@given(st.text(max_size=300), st.integers(0, 100))
def test_what_is_shortened_fits(text: str, tokens: int) -> None:
    found = shorten(lambda size: text[:size], len(text), tokens, len)
    assert len(found) <= tokens and text.startswith(found)
    assert found == text or len(text) > tokens
