"""The forced cut: the last rung before the honest refusal, the only one that touches what is newest, and visibly."""

from __future__ import annotations

from yohaku.analysis.retention import find_binding_sentences
from yohaku.analysis.shorten import find_cap
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, Piece, floor, fold_part, pieces


def shrink_all(prompts: bool = True) -> Pass:
    """Everything visible is levelled: no piece may weigh more than the cap at which the whole just fits.

    The goal is a share of the room there is beside what cannot be cut: what that leaves may be little.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        found = [piece for piece in pieces(view, context) if prompts or not _newest_prompt(piece)]
        weights = [piece.weight for piece in found]
        free = context.budget.limit - (context.ledger.total - sum(weights))
        allowed = int(free * context.goal / context.budget.limit)
        cap = find_cap(weights, allowed)
        rules: tuple[str, ...] = ()
        if any(piece.slot.where == "prompt" and piece.weight > cap for piece in found):
            rules = find_binding_sentences(view.history.turns)
        floors = [floor(piece, context, rules) for piece in found]
        # for rules the limit is near enough
        caps = sparing(weights, floors, allowed) or sparing(weights, floors, free) or [cap] * len(found)
        return [
            fold_part(piece, context, "over_limit", most, rules=rules)
            for piece, most in zip(found, caps, strict=True)
            if piece.weight > most
        ]

    return propose


def _newest_prompt(piece: Piece) -> bool:
    return piece.slot.where == "prompt" and piece.turn == 0


def sparing(weights: list[int], floors: list[int], allowed: int) -> list[int] | None:
    """A cap for each: the highest that fits, but none below its floor; None where that leaves the others nothing."""
    cap = find_cap(weights, allowed)
    held: set[int] = set()
    while more := {n for n, least in enumerate(floors) if cap < least} - held:
        held |= more
        left = allowed - sum(min(weights[n], floors[n]) for n in held)
        lower = find_cap([weight for n, weight in enumerate(weights) if n not in held], left)
        if left < 0 or (len(held) < len(weights) and lower < SMALL // 2):
            return None
        cap = lower
    return [floors[n] if n in held else cap for n in range(len(weights))]
