from __future__ import annotations

import pytest

from yohaku.analysis.window_profile import WindowProfile, profile_for


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (2_048, WindowProfile("full", "full", "full", "when needed")),
        (8_191, WindowProfile("full", "full", "full", "when needed")),
        (8_192, WindowProfile("on", "on", "on", "when needed")),
        (16_383, WindowProfile("on", "on", "on", "when needed")),
        (16_384, WindowProfile("when needed", "when needed", "off", "when needed")),
        (32_767, WindowProfile("when needed", "when needed", "off", "when needed")),
        (32_768, WindowProfile("when needed", "off", "off", "off")),
        (2_000_000, WindowProfile("when needed", "off", "off", "off")),
    ],
)
def test_the_window_alone_chooses_the_strategies(window: int, expected: WindowProfile) -> None:  # L7
    assert profile_for(window) == expected
