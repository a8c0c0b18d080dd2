from __future__ import annotations

import pytest

from yohaku.recall.ref import Place, place_in


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("abcdefgh2345", Place("abcdefgh2345")),
        (" [ref=abcdefgh2345] ", Place("abcdefgh2345")),
        ("ref=abcdefgh2345:12", Place("abcdefgh2345", 12)),
        ("`abcdefgh2345:12:`", Place("abcdefgh2345", 12)),
        ("abcdefgh2345:0", Place("abcdefgh2345:0")),
        ("ref: abcdefgh2345", Place("abcdefgh2345")),
        ("ref=", Place("")),
        ("two words", Place("two words")),
    ],
)
def test_a_ref_is_taken_as_it_is_shown(given: str, place: Place) -> None:
    assert place_in(given) == place
