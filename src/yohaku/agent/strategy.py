"""How to behave in a window of a given size: which prompt and tools, how much a tool may give, when to split the work.

Law: every number is a function of the window and of what has been weighed, so that the same code is right for a model
that counts bytes and for one of a million tokens. The user sets nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from yohaku.analysis.window_profile import WindowProfile, profile_for
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger

Tier: TypeAlias = Literal["small", "full"]

FIXED = 0.25
"""Of the window, that prompt and tools of the full tier may take."""

PROMISED = 0.3
"""Of what folding can free, that a result may always have: the newest is shown whole, and older things make way."""


class Strategy(NamedTuple):
    tier: Tier
    use: WindowProfile


def strategy_for(window: int, fixed: Callable[[Tier], int]) -> Strategy:
    """`fixed` weighs the prompt and the tools of a tier; a meter that counts much makes any window small."""
    use = profile_for(window)
    light = use.light_prompt != "off" or fixed("full") > window * FIXED
    return Strategy("small" if light else "full", use)


def tool_room(budget: Budget, ledger: Ledger) -> int:
    """Tokens the tools of one step may give together.

    Six tenths of what remains; and where little remains, what the folding before the next call will free for them.
    """
    free = max(0, budget.limit - ledger.fixed)
    return max(budget.tool_output(ledger), int(free * PROMISED))


def shares(room: int, calls: int) -> int:
    """What the next of so many calls may give: what the others leave over goes to those after them."""
    return max(1, room // max(1, calls))


def too_much_at_once(window: int, weight: int, budget: Budget, ledger: Ledger) -> bool:
    """Whether a prompt is so big that the user should hear that it is worked on part by part."""
    if profile_for(window).propose_split == "off":
        return False
    return weight > max(budget.remaining(ledger), int((budget.limit - ledger.fixed) * 0.5))
