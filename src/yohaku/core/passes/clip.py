"""Clip outsized results: a few huge ones hold most of the tokens, and their ends say most of what they say."""

from __future__ import annotations

from yohaku.core.engine import Pass, Room
from yohaku.core.fold import Fold, View
from yohaku.core.passes.pieces import fold_part, pieces

READS = ("read", "cat", "view", "open", "get", "fetch")


def clip_results(over: float = 1 / 16, to: float = 1 / 64, newest: bool = False) -> Pass:
    """Results over a share of the limit are shown at another share: commands by both ends, reads by their beginning."""

    def clip(view: View, room: Room) -> list[Fold]:
        limit = room.budget.limit
        return [
            fold_part(piece, room, "outsized result", int(limit * to), head=1 if reads(piece.tool) else 0.6)
            for piece in pieces(view, room, "result")
            if piece.weight > limit * over and (newest or piece.step > 0)
        ]

    return clip


def reads(tool: str) -> bool:
    return any(word in tool.lower() for word in READS)
