"""A single huge result is kept outside: the model gets its ref and a preview."""

from __future__ import annotations

from yohaku.core.folds import Fold, Stub
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, many, pieces
from yohaku.passes.trim_new_results import ARRIVED


def preview_huge_result(over: int = 40_000, shown: int = 2_000) -> Pass:
    """Results over so many tokens, and at most half the limit, are shown by their first `shown` characters."""

    def propose(view: View, context: PassContext) -> list[Fold]:
        most = min(over, context.budget.limit // 2)
        return [
            _previewed(piece, context, shown, most // 4)
            for piece in pieces(view, context, "result")
            if piece.weight > most and not piece.media and piece.slot not in view.stubs.get(piece.key, {})
        ]

    return propose


def _previewed(piece: Piece, context: PassContext, shown: int, most: int) -> Stub:
    assert isinstance(piece.original, str)
    text, ref = piece.original, ref_of(piece.original)
    begin = text[:shown]
    if (weight := context.meter.count(begin)) > most:
        begin = begin[: len(begin) * most // weight]  # a small window has no room for all of a preview
    size = f"{many(text.count(chr(10)) + 1, 'line')}, {many(len(text), 'character')}"
    said = f"[Output too large: {size} folded; ref={ref}]\nPreview:\n{begin}…"
    return Stub(piece.key, piece.slot, said, ref, piece.what, ARRIVED, piece.weight, context.meter.count(said))
