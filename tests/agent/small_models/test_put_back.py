from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.small_models.put_back import reverse_edit

LINES = st.lists(st.sampled_from(["a", "b", "return x", "return y", ""]), min_size=1, max_size=9).map("\n".join)


@given(LINES, LINES)
def test_it_leads_back_wherever_it_can_be_made(before: str, after: str) -> None:
    pair = reverse_edit(before, after) if before != after else None
    if pair:
        assert after.count(pair[0]) >= 1
        assert after.replace(*pair) == before


@pytest.mark.parametrize(
    ("before", "after", "pair"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", ("B", "b")),
        ("a\nx\nb\nx\n", "a\nx\nB\nx\n", ("B", "b")),
        ("a\nb\n", "a\nnew\nb\n", ("new", None)),
    ],
)
def test_only_what_differs_is_replaced(before: str, after: str, pair: tuple[str, str | None]) -> None:
    found = reverse_edit(before, after)
    assert found and after.replace(*found) == before
    assert found[1] == pair[1] or pair[1] is None
