"""What to make of a provider that says "too long", or quietly reads less than was sent.

Law: each lesson makes the next request smaller, by what the provider says where it says something; never to nothing.
"""

from __future__ import annotations

from yohaku.core.budget import Budget

LEAST = 512
"""Tokens. A window below this is no window, but a message misread."""

BLIND = 0.7
"""Of what was refused, that is tried next where the provider gives no number."""

SURE = 0.95
"""Of what the provider's numbers come to."""


def healed(budget: Budget, sent: int, limit: int | None, needs: int | None = None) -> Budget:
    """The budget to go on with, after `sent` tokens by our count were refused.

    A limit below ours is the true window. One that is not means that we count less than the provider does.
    """
    if limit and LEAST <= limit < budget.window:
        return _of(budget, limit)
    too_much = needs / (limit or budget.limit) if needs else 0.0
    most = sent / too_much * SURE if too_much > 1 else sent * BLIND
    return _of(budget, int(most * 8 / 7))


def more_room(budget: Budget, used: int) -> int:
    """Tokens a reply may have that was cut off before: all that is left, but for a little doubt."""
    return max(budget.reserve, budget.window - used - budget.window // 50)


def _of(budget: Budget, window: int) -> Budget:
    window = max(LEAST, min(window, budget.window))
    return Budget(window, min(budget.reserve, window // 8))
