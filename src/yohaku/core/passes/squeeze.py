"""The forced cut: the last rung before the honest refusal, the only one that touches what is newest, and visibly."""

from __future__ import annotations

from yohaku.core.engine import Pass, Room
from yohaku.core.fold import Fold, View
from yohaku.core.passes.pieces import Piece, fold_part, pieces


def squeeze(prompts: bool = True) -> Pass:
    """Everything visible is levelled: no piece may weigh more than the cap at which the whole just fits."""

    def propose(view: View, room: Room) -> list[Fold]:
        found = [piece for piece in pieces(view, room) if prompts or not _newest_prompt(piece)]
        allowed = room.goal - (room.ledger.total - sum(piece.weight for piece in found))
        cap = level([piece.weight for piece in found], allowed)
        return [fold_part(piece, room, "over the limit", cap) for piece in found if piece.weight > cap]

    return propose


def _newest_prompt(piece: Piece) -> bool:
    return piece.slot.where == "prompt" and piece.turn == 0


def level(weights: list[int], allowed: int) -> int:
    """The highest cap for which the capped weights sum to at most `allowed`."""
    left = allowed
    for index, weight in enumerate(sorted(weights)):
        fair = left // (len(weights) - index)
        if weight > fair:
            return max(0, fair)
        left -= weight
    return max(weights, default=0)
