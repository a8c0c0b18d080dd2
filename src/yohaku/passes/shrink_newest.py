"""Cut the newest step if it alone is over the limit, or if chapters would have to be told anew to make room for it.

Law: only that step is cut, and only if the view is over the limit.
"""

from __future__ import annotations

from yohaku.analysis.shorten import find_cap
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.digest import NEAR_LIMIT_SHARE, chapter_tokens
from yohaku.passes.drop_oldest import weigh_chapters
from yohaku.passes.pieces import SMALL, fold_part, pieces


def shrink_newest(share: float = 0.2, crowding: float = 0.35) -> Pass:
    """Make a pass that cuts its results and arguments to a common cap.

    If the step alone is over the limit, they take what the goal and older steps leave of the free tokens, and at least
    `share` of these. If it takes the share `crowding` of the free tokens or more and does not fit beside the chapters,
    they take what those leave: in the next steps it will be told in a chapter itself, and these stay as they are.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        if not view.history.steps:
            return []
        found = [piece for piece in pieces(view, context, "result", "argument") if piece.step == 0]
        weights = [piece.weight for piece in found]
        must = context.newest(view) - sum(weights)
        if context.newest_is_too_big(view):
            tokens = _tokens_beside_older(view, context, must, share)
        elif sum(weights) >= (context.budget.limit - context.ledger.fixed) * crowding:
            tokens = _tokens_beside_chapters(view, context, must, sum(weights))
        else:
            return []
        cap = find_cap(weights, tokens)
        if cap <= 2 * SMALL:
            return []  # too many pieces or too few tokens: a later rung cuts all that is visible
        return [fold_part(piece, context, "over_limit", cap) for piece in found if piece.weight > cap]

    return propose


def _tokens_beside_older(view: View, context: PassContext, must: int, share: float) -> int:
    free, older = context.budget.limit - must, context.ledger.total - context.newest(view)
    left = free * context.goal / context.budget.limit - older
    return int(max(left, free * share))


def _tokens_beside_chapters(view: View, context: PassContext, must: int, weight: int) -> int:
    """Return the tokens that chapters leave for the pieces of the newest step; its weight if there are none.

    Older steps that are still visible become one more chapter.
    """
    told = weigh_chapters(view, context)
    older = context.ledger.total - context.newest(view) - told
    left = int(context.budget.limit * NEAR_LIMIT_SHARE) - must - told - chapter_tokens(older, context)
    return left if told else weight
