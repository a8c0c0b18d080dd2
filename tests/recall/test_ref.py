from __future__ import annotations

import pytest

from yohaku.recall.ref import RefAndLine, parse_ref


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("abcdefgh2345", RefAndLine("abcdefgh2345")),
        (" [ref=abcdefgh2345] ", RefAndLine("abcdefgh2345")),
        ("ref=abcdefgh2345:12", RefAndLine("abcdefgh2345", 12)),
        ("`abcdefgh2345:12:`", RefAndLine("abcdefgh2345", 12)),
        ("abcdefgh2345:0", RefAndLine("abcdefgh2345:0")),
        ("ref: abcdefgh2345", RefAndLine("abcdefgh2345")),
        ("ref=", RefAndLine("")),
        ("two words", RefAndLine("two words")),
    ],
)
def test_a_ref_is_taken_as_it_is_shown(given: str, place: RefAndLine) -> None:
    assert parse_ref(given) == place
