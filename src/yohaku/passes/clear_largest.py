"""Clear old results and other big pieces, the biggest first, and only when it is worth breaking the prompt cache."""

from __future__ import annotations

from yohaku.analysis.retention import find_binding_sentences
from yohaku.core.folds import Fold
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, fold_whole, pieces


def clear_largest(*where: str, keep: float = 0.25, least: float = 0.1) -> Pass:
    """Make a pass that replaces pieces of the given kinds by one line each until the goal is met.

    It keeps the newest pieces, up to `keep` of the goal, and always the newest step and prompt. Nothing is done that
    saves less than `least` of the limit, unless the view is over it.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        if context.newest_is_too_big(view):
            return []  # hiding old pieces would not help
        old = _select_old(list(pieces(view, context, *where)), int(context.goal * keep))
        prompts = any(piece.slot.where == "prompt" for piece in old)
        rules = find_binding_sentences(view.history.turns) if prompts else frozenset[str]()
        folds: list[Fold] = []
        saved = 0
        for piece in sorted(old, key=lambda piece: -piece.weight):
            if saved >= context.excess:
                break
            fold = fold_whole(piece, context, "old_and_big", rules)
            if fold.after < fold.before:
                folds.append(fold)
                saved += fold.before - fold.after
        worthwhile = saved >= context.budget.limit * least or context.ledger.total > context.budget.limit
        return folds if worthwhile else []

    return propose


def _select_old(found: list[Piece], kept: int) -> list[Piece]:
    """Return the pieces before the newest `kept` tokens of them, oldest first."""
    old: list[Piece] = []
    for piece in reversed(found):
        kept -= piece.weight
        newest = piece.step == 0 or (piece.slot.where == "prompt" and piece.turn == 0)
        if kept < 0 and not newest:
            old.append(piece)
    return old[::-1]
