"""Clip outsized results: a few huge ones hold most of the tokens, and their ends say most of what they say."""

from __future__ import annotations

from yohaku.analysis.tool_calls import is_reader
from yohaku.core.engine import Pass, PassContext
from yohaku.core.folds import Fold, View
from yohaku.passes.pieces import LONG_LINE, SMALL, fold_bytes, fold_part, pieces
from yohaku.passes.shrink_all import level


def clip_results(over: float = 1 / 16, to: float = 1 / 64) -> Pass:
    """Results over a share of the limit are levelled as far as the goal asks, and no further than another share.

    Commands keep both ends, reads their beginning. The newest step is left alone.
    """

    def clip(view: View, room: PassContext) -> list[Fold]:
        limit = room.budget.limit
        outsized = max(int(limit * over), 8 * SMALL)
        found = [piece for piece in pieces(view, room, "result") if piece.weight > outsized and piece.step > 0]
        weights = [piece.weight for piece in found]
        cap = max(level(weights, sum(weights) - room.excess), int(limit * to), 4 * SMALL)
        return [
            fold_part(piece, room, "outsized_result", cap, head=1 if is_reader(piece.tool) else 0.6)
            for piece in found
            if piece.weight > cap
        ]

    return clip


def clip_bytes(most: int = 50 * 1024, head: float = 1.0) -> Pass:
    """Results over so many bytes, or with lines over 2,000 characters, are cut to that, whatever the window.

    `head` is the share shown of the beginning; at 1 the view ends with the note that opens the rest.
    """

    def clip(view: View, room: PassContext) -> list[Fold]:
        folds: list[Fold] = []
        for piece in pieces(view, room, "result"):
            folded = piece.slot in view.stubs.get(piece.key, {})
            if piece.media or folded or not isinstance(piece.original, str):
                continue
            if len(piece.original.encode("utf-8", "surrogatepass")) > most or LONG_LINE.search(piece.original):
                folds.append(fold_bytes(piece, room, "protection from huge results", most, head))
        return folds

    return clip
