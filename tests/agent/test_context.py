from __future__ import annotations

from yohaku.agent.context import is_too_big
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger


def ledger(turns: int, fixed: int = 1_000) -> Ledger:
    return Ledger(system=fixed, tools=0, turns=turns, last=0, request=0)


def test_a_prompt_is_too_big_where_folding_all_before_it_would_not_help() -> None:  # L10
    small, large = Budget.of(8_192), Budget.of(200_000)
    assert is_too_big(9_000, small, ledger(0)) and is_too_big(6_200, small, ledger(5_000))
    assert not is_too_big(6_000, small, ledger(5_000)) and not is_too_big(170_000, large, ledger(0))
    assert not is_too_big(9_000, small, ledger(0, fixed=8_000)), "then nothing fits, and that is said"
