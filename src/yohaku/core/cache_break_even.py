"""Break-even of a folding: the number of steps after which it has paid for the prompt cache that it breaks.

Providers read a cached prompt for a tenth of the price, up to the first change. A folding makes them write everything
behind the first fold again, once; it saves reading what was folded, at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile

from yohaku.core.view import View
from yohaku.core.weigh import Weigher


@dataclass(frozen=True, slots=True)
class CachePrices:
    """Prices of prompt tokens, as shares of the price without a cache."""

    read: float = 0.1
    write: float = 1.25


@dataclass(frozen=True, slots=True)
class CacheBreakEven:
    saved: int
    """Tokens no longer sent, at every step."""
    again: int
    """Tokens that the provider, or the local server, has to process again, once."""
    steps: float
    """Steps after which the folding has paid for itself; infinite if cached tokens cost nothing."""


def break_even(old: View, new: View, weigher: Weigher, prices: CachePrices) -> CacheBreakEven:
    before, after = weigher.ledger(old.shown), weigher.ledger(new.shown)
    saved, again = before.total - after.total, after.turns - _weigh_unchanged(old, new, weigher)
    gain = saved * prices.read
    steps = again * (prices.write - prices.read) / gain if gain > 0 else math.inf
    return CacheBreakEven(saved, again, steps)


def _weigh_unchanged(old: View, new: View, weigher: Weigher) -> int:
    """Return the tokens of the conversation before the first difference."""
    pairs = zip(old.chapters, new.chapters, strict=False)
    kept = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    same = sum(weigher.turn(gist.turn) for gist in kept)
    if len(kept) < max(len(old.chapters), len(new.chapters)):
        return same
    for one, other in zip(old.stubbed, new.stubbed, strict=True):
        if one is other:
            same += weigher.turn(one)
            continue
        if one.prompt != other.prompt:
            return same
        same += weigher.entries(one.prompt)
        for step, changed in zip(one.steps, other.steps, strict=True):
            if step is not changed and step != changed:
                return same
            same += weigher.step(step)
    return same
