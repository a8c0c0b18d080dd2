"""Distil outsized results: a few huge ones hold most of the tokens, and a few of their lines most of what is needed."""

from __future__ import annotations

from yohaku.core.engine import Pass, PassContext
from yohaku.core.folds import Fold, Stub, View, ref_of
from yohaku.digest.excerpts import find_topic_words, find_visible_names
from yohaku.digest.select_lines import Source, Span, choose_spans, render_spans
from yohaku.passes.pieces import SMALL, Piece, fold_whole, many, pieces

TITLE = 24
"""Tokens of a stub's first line."""


def distil(over: float = 1 / 16, to: float = 1 / 64) -> Pass:
    """Old results and arguments over a share of the limit are shown by their lines, if that alone meets the goal.

    Each keeps another share at least. The newest step is left alone.
    """

    def propose(view: View, room: PassContext) -> list[Fold]:
        outsized = max(int(room.budget.limit * over), 8 * SMALL)
        found = [p for p in pieces(view, room, "result", "argument") if p.weight > outsized and p.step > 0]
        left = sum(piece.weight for piece in found) - room.excess
        if room.excess <= 0 or left < max(int(room.budget.limit * to), 2 * SMALL) * len(found):
            return []  # nothing has to go, or more than this
        seen = find_visible_names(view, None, [(piece.key, piece.slot) for piece in found])
        chosen, _ = choose_spans(
            [source_of(piece, room) for piece in found], seen, left - TITLE * len(found), find_topic_words(view)
        )
        return [by_lines(piece, room, spans) for piece, spans in zip(found, chosen, strict=True)]

    return propose


def source_of(piece: Piece, room: PassContext) -> Source:
    text = piece.original if isinstance(piece.original, str) and not piece.media else ""
    rate = room.meter.count(text) / max(1, len(text))
    return Source(text, max(1, piece.step), rate, own=piece.slot.where == "argument", title=0)


def by_lines(piece: Piece, room: PassContext, spans: list[Span]) -> Stub:
    """The lines chosen in place of the piece, or one line where there are none."""
    if not spans or not isinstance(piece.original, str) or piece.media:
        return fold_whole(piece, room, "old")
    ref, lines = ref_of(piece.original), many(piece.original.count("\n") + 1, "line")
    title = f"[{piece.what} folded: {len({span.line for span in spans}):,} of {lines}; ref={ref}]"
    text = "\n".join([title, *render_spans(piece.original, spans)])
    weight = room.meter.count(text)
    return Stub(piece.key, piece.slot, text, ref, piece.what, "old_lines", piece.weight, weight)
