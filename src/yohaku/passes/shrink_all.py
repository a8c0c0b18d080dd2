"""Cut every visible piece to a common cap: the last rung, which may also cut the newest step and prompt."""

from __future__ import annotations

from yohaku.analysis.retention import find_binding_sentences
from yohaku.analysis.shorten import find_cap
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, Piece, floor, fold_part, pieces


def shrink_all(prompts: bool = True) -> Pass:
    """Make a pass that cuts pieces over the cap at which everything just fits; `prompts`: also the newest prompt.

    The goal applies as a share to the tokens that can be cut, which may be few.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        found = [piece for piece in pieces(view, context) if prompts or not _is_newest_prompt(piece)]
        weights = [piece.weight for piece in found]
        free = context.budget.limit - (context.ledger.total - sum(weights))
        allowed = int(free * context.goal / context.budget.limit)
        cap = find_cap(weights, allowed)
        rules: frozenset[str] = frozenset()
        if any(piece.slot.where == "prompt" and piece.weight > cap for piece in found):
            rules = find_binding_sentences(view.history.turns)
        floors = [floor(piece, context, rules) for piece in found]
        # to keep rules, reaching the limit instead of the goal is enough
        caps = find_caps(weights, floors, allowed) or find_caps(weights, floors, free) or [cap] * len(found)
        return [
            fold_part(piece, context, "over_limit", most, rules=rules)
            for piece, most in zip(found, caps, strict=True)
            if piece.weight > most
        ]

    return propose


def _is_newest_prompt(piece: Piece) -> bool:
    return piece.slot.where == "prompt" and piece.turn == 0


def find_caps(weights: list[int], floors: list[int], allowed: int) -> list[int] | None:
    """Return a cap for each piece: the highest that fits, or its floor; None if floors leave the others nothing."""
    cap = find_cap(weights, allowed)
    at_floor: set[int] = set()
    while below := {n for n, least in enumerate(floors) if cap < least} - at_floor:
        at_floor |= below
        left = allowed - sum(min(weights[n], floors[n]) for n in at_floor)
        lower = find_cap([weight for n, weight in enumerate(weights) if n not in at_floor], left)
        if left < 0 or (len(at_floor) < len(weights) and lower < SMALL // 2):
            return None
        cap = lower
    return [floors[n] if n in at_floor else cap for n in range(len(weights))]
