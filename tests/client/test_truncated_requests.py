"""A count that is too low means that something was dropped, or that it stood in the cache."""

from __future__ import annotations

import pytest

from yohaku.client.endpoint import Endpoint
from yohaku.client.model_client import count_tokens, may_be_truncated, was_truncated


@pytest.mark.parametrize(
    ("told", "sent", "found"),
    [(5_000, 5_000, False), (4_900, 5_000, False), (4_000, 5_000, True), (0, 5_000, False), (20, 200, False)],
)
def test_a_count_far_below_what_was_sent_is_suspicious(told: int, sent: int, found: bool) -> None:
    assert may_be_truncated(told, sent) is found


@pytest.mark.parametrize(
    ("told", "sent", "before", "loaded", "found"),
    [
        (4_000, 5_000, 0, 4_096, True),
        (500, 5_000, 4_500, 8_192, False),
        (2_000, 5_000, 0, None, True),
        (4_000, 5_000, 0, None, False),
        (500, 5_000, 4_500, None, False),
        (2_000, 5_000, 4_500, None, True),
        (2_000, 5_000, 6_000, None, True),
    ],
)
def test_what_was_dropped_is_told_from_what_was_cached(
    told: int, sent: int, before: int, loaded: int | None, found: bool
) -> None:
    assert was_truncated(told, sent, before, loaded) is found


def test_a_body_that_cannot_be_read_is_weighed_all_the_same() -> None:
    here = Endpoint("Ollama", "ollama", "ollama", "http://h", "m")
    assert count_tokens({"messages": [{"role": "user", "content": "word " * 100}]}, here) > 90
    assert count_tokens({"messages": 5}, here) > 0
