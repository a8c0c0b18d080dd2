"""The newest step where it alone is over the limit: it is cut first, so that what is older need not go for it.

Law: nothing but that step is touched, and only where it could not be sent whole whatever else were folded.
"""

from __future__ import annotations

from yohaku.analysis.shorten import find_cap
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, fold_part, pieces


def shrink_newest(share: float = 0.2) -> Pass:
    """Its results and arguments are levelled. Of the room beside what must stay they take what the goal and all that
    is older leave of it, and `share` at least.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        if not view.history.steps or not context.newest_is_too_big(view):
            return []
        found = [piece for piece in pieces(view, context, "result", "argument") if piece.step == 0]
        weights = [piece.weight for piece in found]
        must = context.newest(view) - sum(weights)
        free, older = context.budget.limit - must, context.ledger.total - context.newest(view)
        left = free * context.goal / context.budget.limit - older
        cap = find_cap(weights, int(max(left, free * share)))
        if cap <= 2 * SMALL:
            return []  # too many of them, or no room: all that is visible has to give way
        return [fold_part(piece, context, "over_limit", cap) for piece in found if piece.weight > cap]

    return propose
