"""Helpers that cut texts down to a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def shorten(render: Callable[[int], str], size: int, tokens: int, count: Callable[[str], int]) -> str:
    """Return `render(size)` for a size, at most the given one, whose text weighs at most `tokens`; "" if there is none.

    The next size is guessed from the weight of the last text, a little low, and at least a tenth smaller.
    """
    while size > 0:
        text = render(size)
        weight = count(text)
        if weight <= tokens:
            return text
        size = int(size * min(0.9, 0.95 * tokens / weight))
    return ""


def find_cap(sizes: Sequence[int], total: int) -> int:
    """Return the highest cap for which the sizes, each cut to the cap, sum to at most `total`."""
    left = total
    for index, size in enumerate(sorted(sizes)):
        fair = left // (len(sizes) - index)
        if size > fair:
            return max(0, fair)
        left -= size
    return max(sizes, default=0)
