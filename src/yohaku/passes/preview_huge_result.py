"""Replace a huge result by its ref and a preview."""

from __future__ import annotations

from yohaku.core.folds import Fold, Stub
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, many, pieces
from yohaku.passes.trim_new_results import ARRIVED


def preview_huge_result(over: int = 40_000, shown: int = 2_000) -> Pass:
    """Make a pass that shows the first `shown` characters of results over `over` tokens or half the limit."""

    def propose(view: View, context: PassContext) -> list[Fold]:
        most = min(over, context.budget.limit // 2)
        return [
            _preview(piece, context, shown, most // 4)
            for piece in pieces(view, context, "result")
            if piece.weight > most and not piece.media and piece.slot not in view.stubs.get(piece.key, {})
        ]

    return propose


def _preview(piece: Piece, context: PassContext, shown: int, most: int) -> Stub:
    assert isinstance(piece.original, str)
    text, ref = piece.original, ref_of(piece.original)
    beginning = text[:shown]
    if (weight := context.meter.count(beginning)) > most:
        beginning = beginning[: len(beginning) * most // weight]  # a small window cannot hold all of a preview
    size = f"{many(text.count(chr(10)) + 1, 'line')}, {many(len(text), 'character')}"
    preview = f"[Output too large: {size} folded; ref={ref}]\nPreview:\n{beginning}…"
    return Stub(piece.key, piece.slot, preview, ref, piece.what, ARRIVED, piece.weight, context.meter.count(preview))
