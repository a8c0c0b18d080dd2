from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.errors import BadSetting
from yohaku.core.weigh import Ledger


def ledger(total: int) -> Ledger:
    return Ledger(system=total // 4, tools=total // 4, turns=total - 2 * (total // 4) - 3, last=0, request=3)


TABLE = [
    # window, reserve, limit, warm, hot, full, margin
    (2_048, 256, 1_792, 1_075, 1_433, 1_612, 204),
    (4_096, 512, 3_584, 2_150, 2_867, 3_225, 409),
    (8_192, 1_024, 7_168, 4_300, 5_734, 6_451, 819),
    (32_768, 4_096, 28_672, 17_203, 22_937, 25_804, 3_276),
    (131_072, 16_384, 114_688, 68_812, 91_750, 103_219, 13_107),
    (200_000, 25_000, 175_000, 105_000, 140_000, 157_500, 20_000),
    (1_048_576, 131_072, 917_504, 550_502, 734_003, 825_753, 104_857),
    (2_097_152, 262_144, 1_835_008, 1_101_004, 1_468_006, 1_651_507, 209_715),
]


@pytest.mark.parametrize(("window", "reserve", "limit", "warm", "hot", "full", "margin"), TABLE)
def test_every_number_is_a_function_of_the_window(
    window: int, reserve: int, limit: int, warm: int, hot: int, full: int, margin: int
) -> None:
    budget = Budget.of(window)
    assert budget == Budget(window, reserve)
    found = [budget.limit, *(budget.at(name) for name in ("warm", "hot", "full")), budget.margin]
    assert found == [limit, warm, hot, full, margin]
    assert [budget.at("calm"), budget.at("over"), budget.at(1.0), budget.at(0.5)] == [0, limit + 1, limit, limit // 2]


@pytest.mark.parametrize(("window", "reserve", "limit", "warm", "hot", "full", "margin"), TABLE)
def test_each_level_begins_where_it_says(
    window: int, reserve: int, limit: int, warm: int, hot: int, full: int, margin: int
) -> None:
    budget = Budget.of(window)
    totals = (0, warm - 1, warm, hot - 1, hot, full - 1, full, limit, limit + 1)
    names = ["calm", "calm", "warm", "warm", "hot", "hot", "full", "full", "over"]
    assert [budget.level(total) for total in totals] == names


@given(st.integers(2_048, 2_097_152), st.floats(0, 1.2))
def test_a_level_is_the_last_one_whose_beginning_was_reached(window: int, share: float) -> None:
    budget = Budget.of(window)
    total = int(window * share)
    reached = [name for name in ("calm", "warm", "hot", "full", "over") if total >= budget.at(name)]
    assert budget.level(total) == reached[-1]


def test_what_remains_is_the_window_without_what_is_said_the_reply_and_a_tenth() -> None:
    said = Ledger(system=500, tools=400, turns=3_000, last=100, request=3)
    budget = Budget(8_192, 1_024)
    assert budget.remaining(said) == 8_192 - 500 - 400 - 3_000 - 3 - 1_024 - 819
    assert budget.tool_output(said) == int((8_192 - 500 - 400 - 3_000 - 3 - 1_024 - 819) * 0.6)


@pytest.mark.parametrize("window", [row[0] for row in TABLE])
def test_a_full_window_leaves_nothing_for_tools_and_never_less(window: int) -> None:
    budget = Budget.of(window)
    for total in (window - budget.reserve - budget.margin, budget.limit, window * 2):
        assert (budget.remaining(ledger(total)), budget.tool_output(ledger(total))) == (0, 0)
    nearly = ledger(window - budget.reserve - budget.margin - 10)
    assert (budget.remaining(nearly), budget.tool_output(nearly)) == (10, 6)


def test_the_reserve_is_the_models_output_limit_but_at_most_an_eighth() -> None:
    assert Budget.of(8_000) == Budget(8_000, 1_000)
    assert Budget.of(8_000, output_limit=600) == Budget(8_000, 600)
    assert Budget.of(8_000, output_limit=4_000) == Budget(8_000, 1_000)
    assert Budget.of(8_000, reserve=4_000, output_limit=600) == Budget(8_000, 4_000)
    assert Budget.of(8_000, reserve=0) == Budget(8_000, 0)
    assert Budget.of(4) == Budget(4, 0)


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_holds_something(window: int) -> None:
    with pytest.raises(BadSetting) as raised:
        Budget(window, 0)
    assert (raised.value.code, str(raised.value)) == (
        "bad_window",
        f"a window of {window} tokens: give a positive number",
    )


@pytest.mark.parametrize("reserve", [-1, 4_096, 5_000])
def test_a_reserve_leaves_something_for_the_prompt(reserve: int) -> None:
    with pytest.raises(BadSetting) as raised:
        Budget(4_096, reserve)
    assert (raised.value.code, raised.value.facts) == ("bad_reserve", {"reserve": reserve, "window": 4_096})
    assert (
        str(raised.value)
        == f"a reserve of {reserve:,} tokens in a window of 4,096: give one from 0 to below the window"
    )
