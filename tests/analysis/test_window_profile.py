from __future__ import annotations

import pytest

from yohaku.analysis.window_profile import Strategies, strategies


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (2_048, Strategies("full", "full", "full", "when needed")),
        (8_191, Strategies("full", "full", "full", "when needed")),
        (8_192, Strategies("on", "on", "on", "when needed")),
        (16_383, Strategies("on", "on", "on", "when needed")),
        (16_384, Strategies("when needed", "when needed", "off", "when needed")),
        (32_767, Strategies("when needed", "when needed", "off", "when needed")),
        (32_768, Strategies("when needed", "off", "off", "off")),
        (2_000_000, Strategies("when needed", "off", "off", "off")),
    ],
)
def test_the_window_alone_chooses_the_strategies(window: int, expected: Strategies) -> None:  # L7
    assert strategies(window) == expected
