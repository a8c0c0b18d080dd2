from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core import find_texts
from yohaku.core.find_texts import TextFinder

LETTERS = st.text("ab日\n", max_size=40)


@given(st.lists(LETTERS, max_size=30), st.lists(LETTERS, max_size=5), st.integers(0, 40))
def test_a_finder_finds_what_in_finds(texts: list[str], more: list[str], start: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find_texts, "MAX_ONE_BY_ONE", 3)
        for text in ["".join(texts), *texts]:
            wanted = {*texts, *more, text[start : start + 20], ""}
            assert TextFinder(wanted).find_in(text) == {each for each in wanted if each in text}
