"""Smaller budgets, after a provider refused a request as too long or silently read less than was sent.

Law: each budget makes the next request smaller, by the provider's numbers where it gives any; never to nothing.
"""

from __future__ import annotations

from yohaku.core.budget import Budget

MIN_WINDOW = 512
"""Tokens. A smaller limit in an error message was misread."""

UNKNOWN_LIMIT_SHARE = 0.7
"""Share of the refused request to try next when the provider gives no number."""

KNOWN_LIMIT_SHARE = 0.95
"""Share of the size that the provider's numbers allow."""


def shrink_budget(budget: Budget, sent: int, limit: int | None, needs: int | None = None) -> Budget:
    """Return the budget to go on with after `sent` tokens by our count were refused.

    A limit below ours is the true window. Any other means that we count fewer tokens than the provider does.
    """
    if limit and MIN_WINDOW <= limit < budget.window:
        return _with_window(budget, limit)
    excess = needs / (limit or budget.limit) if needs else 0.0
    fits = sent / excess * KNOWN_LIMIT_SHARE if excess > 1 else sent * UNKNOWN_LIMIT_SHARE
    return _with_window(budget, int(fits * 8 / 7))


def enlarge_reserve(budget: Budget, used: int) -> int:
    """Tokens for a reply that was cut off before: all that are left but a margin for miscounting."""
    return max(budget.reserve, budget.window - used - budget.window // 50)


def _with_window(budget: Budget, window: int) -> Budget:
    window = max(MIN_WINDOW, min(window, budget.window))
    return Budget(window, min(budget.reserve, window // 8))
