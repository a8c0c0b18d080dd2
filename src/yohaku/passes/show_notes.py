"""Notes in place of a newest prompt that is too big: they were taken part by part, with the user's question."""

from __future__ import annotations

from yohaku.analysis.retention import find_binding_sentences
from yohaku.core.folds import Fold
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import fold_as, pieces

READ_IN_PARTS = "read_in_parts"
"""Reason of a fold that shows notes."""


def show_notes() -> Pass:
    """Make a pass that shows the notes in `PlanOptions.notes`, if hiding everything older would not be enough."""

    def propose(view: View, context: PassContext) -> list[Fold]:
        notes = context.options.notes
        if not notes or not context.newest_is_too_big(view):
            return []
        found = {piece: notes.get(ref_of(piece.original)) for piece in pieces(view, context, "prompt")}
        rules = find_binding_sentences(view.history.turns) if any(found.values()) else ()
        return [fold_as(piece, context, READ_IN_PARTS, text, rules) for piece, text in found.items() if text]

    return propose
