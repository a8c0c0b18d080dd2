from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.host.capacity import (
    GIB,
    MAX_AUTOMATIC_WINDOW,
    MIN_WINDOW,
    ChosenWindow,
    MachineMemory,
    Preset,
    explain_window,
    round_down,
    tier_of,
    trained_window,
    window_for,
    window_of_server,
    window_warning,
)

ROOT = Path(__file__).resolve().parents[3]

EIGHT = 4_920_000_000
LLAMA: dict[str, object] = {
    "general.architecture": "llama",
    "llama.block_count": 32,
    "llama.context_length": 131_072,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
    "llama.embedding_length": 4_096,
}

GUIDED = {
    4: [(4_096, "small"), (4_096, "small"), (4_096, "small")],
    8: [(4_096, "small"), (4_096, "small"), (4_096, "small")],
    16: [(16_384, "full"), (4_096, "small"), (4_096, "small")],
    32: [(49_152, "full"), (24_576, "full"), (4_096, "small")],
    64: [(98_304, "full"), (65_536, "full"), (16_384, "full")],
    128: [(131_072, "full"), (131_072, "full"), (49_152, "full")],
}
MEASURED = {
    4: [(4_096, "small"), (4_096, "small"), (4_096, "small")],
    8: [(4_096, "small"), (4_096, "small"), (4_096, "small")],
    16: [(32_768, "full"), (12_288, "small"), (4_096, "small")],
    32: [(98_304, "full"), (40_960, "full"), (32_768, "full")],
    64: [(131_072, "full"), (40_960, "full"), (131_072, "full")],
    128: [(131_072, "full"), (40_960, "full"), (131_072, "full")],
}
"""Window and tier of 8B, 14B and 30B models by the gigabytes of a machine: by the guide, by the models' metadata."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("windows_page", ROOT / "scripts" / "windows_page.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def laptop(gigabytes: int, card: int = 0) -> MachineMemory:
    return MachineMemory(gigabytes * GIB, gigabytes * GIB * 3 // 4, card * GIB, card * GIB)


@pytest.mark.parametrize(("how", "expected"), [("by_guide", GUIDED), ("by_metadata", MEASURED)])
def test_each_machine_gives_each_model_its_window_and_tier(
    how: str, expected: dict[int, list[tuple[int, str]]]
) -> None:  # L11
    page = script()
    found = {
        gigabytes: [
            (chosen.window, chosen.tier)
            for name in page.SIZES
            if (chosen := getattr(page, how)(page.machine(gigabytes), name))
        ]
        for gigabytes in page.MACHINES
    }
    assert found == expected


def test_the_page_about_windows_says_what_the_code_does() -> None:
    assert (ROOT / "docs" / "windows.md").read_text("utf-8") == script().page()


def test_the_presets_are_half_the_automatic_window_itself_and_half_as_much_again() -> None:  # L12
    presets: tuple[Preset, ...] = ("speed", "balanced", "quality")
    assert [window_for(laptop(16), EIGHT, LLAMA, preset=preset).window for preset in presets] == [
        16_384,
        32_768,
        49_152,
    ]


@given(st.integers(4, 200), st.sampled_from([0, 8, 12, 24]), st.sampled_from([8_192, 40_960, 131_072, 1 << 30]))
def test_quality_is_half_as_much_again_wherever_that_fits(gigabytes: int, card: int, trained: int) -> None:  # L12
    info = {**LLAMA, "llama.context_length": trained}
    balanced, quality = (
        window_for(laptop(gigabytes, card=card), EIGHT, info, preset=preset) for preset in ("balanced", "quality")
    )
    half_again = balanced.window * 3 // 2
    if half_again <= balanced.most:
        assert quality.window == half_again
    else:
        assert balanced.window <= quality.window <= max(balanced.most, balanced.window)
        assert quality.window > balanced.window or round_down(balanced.most) <= balanced.window


def test_a_number_that_fits_is_taken_as_it_is() -> None:  # L12
    assert window_for(laptop(16), EIGHT, LLAMA, n=20_000) == ChosenWindow(20_000, "full", "asked", 56_671, exact=True)


def test_a_number_that_does_not_fit_is_made_smaller_and_both_numbers_are_told() -> None:  # L12
    chosen = window_for(laptop(16), EIGHT, 8.0, n=32_768)
    assert chosen == ChosenWindow(24_576, "full", "shrunk", 28_335, 32_768)
    assert "32,768 → 24,576" in window_warning(chosen, "en")
    assert "32,768 → 24,576 に調整しました" in window_warning(chosen, "ja")


def test_force_keeps_the_number_and_says_what_may_come_of_it() -> None:  # L12
    chosen = window_for(laptop(16), EIGHT, 8.0, n=32_768, force=True)
    assert chosen == ChosenWindow(32_768, "full", "forced", 28_335)
    assert "28,335" in window_warning(chosen, "en") and "28,335" in window_warning(chosen, "ja")


def test_no_more_is_taken_than_the_model_was_trained_for() -> None:
    info = {**LLAMA, "llama.context_length": 8_192}
    assert window_for(laptop(64), EIGHT, info) == ChosenWindow(8_192, "small", "trained", 8_192, exact=True)
    assert window_for(laptop(64), EIGHT, info, n=16_384) == ChosenWindow(8_192, "small", "beyond", 8_192, 16_384, True)
    assert window_for(laptop(64), EIGHT, 8.0, trained=2_048).window == 2_048


def test_a_model_that_is_too_big_gets_the_least_window_and_a_warning_and_no_error() -> None:
    chosen = window_for(laptop(4), EIGHT, LLAMA)
    assert chosen == ChosenWindow(MIN_WINDOW, "small", "least", 0, exact=True)
    assert "smaller model" in window_warning(chosen, "en") and "もっと小さいモデル" in window_warning(chosen, "ja")


def test_a_small_number_is_never_made_larger() -> None:
    assert window_for(laptop(4), EIGHT, LLAMA, n=2_048).window == 2_048


def test_what_fits_on_the_card_beside_the_model_is_taken_whole() -> None:
    assert window_for(laptop(32, card=12), EIGHT, LLAMA) == ChosenWindow(32_768, "full", "card", 131_072, exact=True)


def test_a_card_too_small_for_the_model_adds_to_main_memory() -> None:
    with_card, without = (window_for(laptop(16, card=card), EIGHT, LLAMA) for card in (4, 0))
    assert (with_card.why, with_card.window, without.window) == ("memory", 49_152, 32_768)


def test_a_model_that_is_loaded_already_is_not_paid_for_twice() -> None:
    assert window_for(laptop(8), EIGHT, LLAMA, loaded=True).window > window_for(laptop(8), EIGHT, LLAMA).window


def test_a_served_window_can_only_be_made_smaller() -> None:
    assert window_of_server(32_768) == ChosenWindow(32_768, "full", "served", 32_768, exact=True)
    assert window_of_server(32_768, preset="speed").window == 16_384
    assert window_of_server(32_768, preset="quality").window == 32_768
    assert window_of_server(32_768, n=8_000) == ChosenWindow(8_000, "small", "asked", 32_768, exact=True)
    assert window_of_server(32_768, n=65_536) == ChosenWindow(32_768, "full", "beyond", 32_768, 65_536, True)
    assert window_of_server(32_768, n=65_536, force=True).window == 65_536
    assert window_of_server(2_048, preset="speed").window == 2_048


def test_a_tier_goes_with_the_prompt_that_the_window_wants() -> None:  # L7, L9
    assert [tier_of(window) for window in (4_096, 8_192, 16_383, 16_384, 1_000_000)] == [
        "small",
        "small",
        "small",
        "full",
        "full",
    ]


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 38), st.integers(0, 1 << 38))
def test_any_machine_gives_some_window_and_every_reason_can_be_said(ram: int, free: int, card: int, size: int) -> None:
    chosen = window_for(MachineMemory(ram, min(free, ram), card, card), size)
    assert MIN_WINDOW <= chosen.window <= MAX_AUTOMATIC_WINDOW and chosen.window in (
        round_down(chosen.window),
        MAX_AUTOMATIC_WINDOW,
    )
    assert explain_window(chosen, "en") != explain_window(chosen, "ja")


@given(st.integers(0, 256), st.integers(0, 64), st.integers(1, 1 << 38), st.integers(1, 1 << 22))
def test_what_is_chosen_fits_unless_it_says_otherwise(ram: int, card: int, size: int, n: int) -> None:
    memory = laptop(ram, card)
    for chosen in (window_for(memory, size), window_for(memory, size, preset="quality"), window_for(memory, size, n=n)):
        assert chosen.window <= max(chosen.most, MIN_WINDOW)
    assert window_for(memory, size, n=n, force=True).window == n
    assert window_for(memory, size, n=n).window <= n


@given(st.integers(0, 1 << 30))
def test_a_step_is_not_more_and_more_than_half(tokens: int) -> None:
    assert round_down(tokens) <= tokens and (tokens < MIN_WINDOW or round_down(tokens) > tokens // 2)


def test_a_little_less_memory_gives_the_same_window() -> None:
    frees = (12 * GIB, 12 * GIB - GIB // 2, 11 * GIB + GIB // 4)
    assert {window_for(MachineMemory(16 * GIB, free), EIGHT, LLAMA).window for free in frees} == {32_768}


@pytest.mark.parametrize("value", [None, 0, -5, "many", [1], True])
def test_a_trained_length_that_is_no_number_is_not_there(value: object) -> None:
    assert trained_window({"general.architecture": "llama", "llama.context_length": value}) is None
