from __future__ import annotations

from yohaku.agent.context import needs_split
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger


def ledger(turns: int, fixed: int = 1_000) -> Ledger:
    return Ledger(system=fixed, tools=0, turns=turns, last=0, request=0)


def test_below_32k_a_prompt_that_fills_the_window_is_worked_on_part_by_part_and_said_to_be() -> None:  # L10
    small, large = Budget.of(8_192), Budget.of(200_000)
    assert needs_split(9_000, small, ledger(0))
    assert not needs_split(500, small, ledger(0))
    assert not needs_split(190_000, large, ledger(0))
