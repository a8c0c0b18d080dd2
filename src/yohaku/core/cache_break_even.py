"""Whether a folding is worth what it costs: a provider reads a prompt it knows for a tenth, up to the first change.

What stands behind the first fold is written again, once; what was folded away is no longer read, at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from yohaku.core.view import View
from yohaku.core.weigh import Weigher


@dataclass(frozen=True, slots=True)
class CachePrices:
    """Of prompt tokens, as shares of the price without a cache."""

    read: float = 0.1
    write: float = 1.25


@dataclass(frozen=True, slots=True)
class CacheBreakEven:
    saved: int
    """Tokens that are no longer sent, at every step."""
    again: int
    """Tokens that the provider, or the local server, has to take in anew, once."""
    steps: float
    """After so many the folding has paid for itself; infinite where reading costs nothing."""


def break_even(old: View, new: View, weigher: Weigher, prices: CachePrices) -> CacheBreakEven:
    before, after = weigher.ledger(old.shown), weigher.ledger(new.shown)
    saved, again = before.total - after.total, after.turns - _same(old, new, weigher)
    gain = saved * prices.read
    steps = again * (prices.write - prices.read) / gain if gain > 0 else math.inf
    return CacheBreakEven(saved, again, steps)


def _same(old: View, new: View, weigher: Weigher) -> int:
    """Tokens of the conversation before the first difference."""
    if old.gist != new.gist or old.cut != new.cut:
        return 0
    same = weigher.turn(old.gist.turn) if old.gist else 0
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
