"""Cut the newest step if it alone is over the limit, so that older steps need not be hidden for it.

Law: only that step is cut, and only if it could not be sent whole whatever else were folded.
"""

from __future__ import annotations

from yohaku.analysis.shorten import find_cap
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, fold_part, pieces


def shrink_newest(share: float = 0.2) -> Pass:
    """Make a pass that cuts its results and arguments to a common cap.

    Together they take what the goal and older steps leave of the free tokens, and at least `share` of these.
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
            return []  # too many pieces or too few tokens: a later rung cuts all that is visible
        return [fold_part(piece, context, "over_limit", cap) for piece in found if piece.weight > cap]

    return propose
