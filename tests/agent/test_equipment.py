from __future__ import annotations

from yohaku.agent.equipment import MAX_FIXED_SHARE, choose_tier


def test_small_windows_get_the_light_prompt_and_large_ones_the_full() -> None:
    tiers = {window: choose_tier(window, lambda tier: 3_500) for window in (4_096, 8_192, 16_384, 32_768, 10**6)}
    assert tiers == {4_096: "small", 8_192: "small", 16_384: "full", 32_768: "full", 10**6: "full"}


def test_a_meter_that_counts_bytes_makes_a_window_small() -> None:
    assert choose_tier(32_768, lambda tier: 14_000) == "small"
    assert choose_tier(32_768, lambda tier: int(32_768 * MAX_FIXED_SHARE)) == "full"
