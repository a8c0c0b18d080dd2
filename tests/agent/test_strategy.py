from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.strategy import FIXED, shares, strategy_for, too_much_at_once, tool_room
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger


def ledger(turns: int, fixed: int = 1_000) -> Ledger:
    return Ledger(system=fixed, tools=0, turns=turns, last=0, request=0)


def test_small_windows_get_the_light_prompt_and_large_ones_the_full() -> None:
    tiers = {window: strategy_for(window, lambda tier: 3_500).tier for window in (4_096, 8_192, 16_384, 32_768, 10**6)}
    assert tiers == {4_096: "small", 8_192: "small", 16_384: "full", 32_768: "full", 10**6: "full"}


def test_a_meter_that_counts_bytes_makes_a_window_small() -> None:
    assert strategy_for(32_768, lambda tier: 14_000).tier == "small"
    assert strategy_for(32_768, lambda tier: int(32_768 * FIXED)).tier == "full"


def test_tools_may_give_six_tenths_of_what_remains() -> None:  # L2
    budget = Budget(100_000, 10_000)
    assert tool_room(budget, ledger(19_000)) == int((100_000 - 20_000 - 10_000 - 10_000) * 0.6)


def test_a_full_window_still_leaves_room_for_a_result_since_older_things_make_way() -> None:
    budget = Budget(8_192, 1_024)
    assert tool_room(budget, ledger(6_000)) == int((7_168 - 1_000) * 0.3)


@given(st.integers(2_048, 2_000_000), st.floats(0, 1), st.floats(0, 1))
def test_what_tools_may_give_never_crowds_out_what_cannot_be_folded(window: int, fixed: float, full: float) -> None:
    budget = Budget.of(window)
    at = int(budget.limit * fixed)
    room = tool_room(budget, ledger(int((budget.limit - at) * full), at))
    assert 0 <= room <= max(0, budget.limit - at)


def test_what_one_call_leaves_over_goes_to_the_next() -> None:
    assert shares(900, 3) == 300
    assert shares(900 - 10, 2) == 445
    assert shares(0, 2) == 1


def test_below_32k_a_prompt_that_fills_the_window_is_worked_on_part_by_part_and_said_to_be() -> None:  # L10
    small, large = Budget.of(8_192), Budget.of(200_000)
    assert too_much_at_once(8_192, 9_000, small, ledger(0))
    assert not too_much_at_once(8_192, 500, small, ledger(0))
    assert not too_much_at_once(200_000, 190_000, large, ledger(0))
