from __future__ import annotations

import pytest

from yohaku.agent.equipment import (
    MAX_FIXED_SHARE,
    MIN_FULL_BILLIONS,
    ModelStrength,
    Tier,
    TierReason,
    choose_tier,
)


def test_small_windows_get_the_light_prompt_and_large_ones_the_full() -> None:
    tiers = {window: choose_tier(window, lambda tier: 3_500).tier for window in (4_096, 8_192, 16_384, 32_768, 10**6)}
    assert tiers == {4_096: "small", 8_192: "small", 16_384: "full", 32_768: "full", 10**6: "full"}


def test_a_meter_that_counts_bytes_makes_a_window_small() -> None:
    assert choose_tier(32_768, lambda tier: 14_000)[:2] == ("small", "share")
    assert choose_tier(32_768, lambda tier: int(32_768 * MAX_FIXED_SHARE))[:2] == ("full", "enough")


@pytest.mark.parametrize(
    ("model", "tier", "why"),
    [
        (ModelStrength(), "full", "enough"),
        (ModelStrength(1.5), "small", "size"),
        (ModelStrength(MIN_FULL_BILLIONS), "full", "enough"),
        (ModelStrength(8.0, 20.0), "small", "speed"),
        (ModelStrength(8.0, 300.0), "full", "enough"),
        (ModelStrength(None, 20.0), "small", "speed"),
    ],
)
def test_a_small_or_slow_model_gets_the_light_prompt_in_any_window(
    model: ModelStrength, tier: Tier, why: TierReason
) -> None:  # L18
    assert choose_tier(131_072, lambda tier: 3_500, model) == (tier, why, model)


def test_what_the_user_set_decides() -> None:
    assert choose_tier(32_768, lambda tier: 3_500, ModelStrength(1.5), "full")[:2] == ("full", "set")
    assert choose_tier(10**6, lambda tier: 3_500, wanted="small")[:2] == ("small", "set")
