from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.overflow import MIN_WINDOW, enlarge_reserve, shrink_budget
from yohaku.core.budget import Budget

BUDGET = Budget(32_768, 4_096)


def test_a_limit_below_ours_is_the_window() -> None:
    assert shrink_budget(BUDGET, 20_000, 8_192, 20_100) == Budget(8_192, 1_024)


def test_one_that_is_not_means_that_we_count_too_little() -> None:
    found = shrink_budget(BUDGET, 28_000, 32_768, 40_000)
    assert 20_000 < found.limit < 28_000 * 32_768 / 40_000


def test_where_only_what_was_sent_is_told_it_counts_the_same() -> None:
    assert shrink_budget(BUDGET, 28_000, None, 56_000).limit < 15_000


def test_where_nothing_is_told_less_is_tried() -> None:
    assert 14_000 < shrink_budget(BUDGET, 28_000, None).limit < 28_000


@given(
    st.integers(1_024, 2_000_000),
    st.floats(0.01, 1),
    st.none() | st.integers(1, 3_000_000),
    st.none() | st.integers(1, 3_000_000),
)
def test_each_lesson_makes_the_next_request_smaller(
    window: int, share: float, limit: int | None, needs: int | None
) -> None:
    budget = Budget.of(window)
    sent = max(MIN_WINDOW, int(budget.limit * share))
    found = shrink_budget(budget, sent, limit, needs)
    assert MIN_WINDOW <= found.window <= window and found.reserve <= budget.reserve
    assert found.window == limit or found.limit <= sent


def test_a_reply_that_was_cut_may_have_all_that_is_left() -> None:
    assert enlarge_reserve(Budget(8_192, 1_024), 2_000) == 8_192 - 2_000 - 163
    assert enlarge_reserve(Budget(8_192, 1_024), 7_168) == 1_024
