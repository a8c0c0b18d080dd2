"""Cut what tools return to what there is room for, as it arrives: commands by both ends, files by their structure."""

from __future__ import annotations

from dataclasses import replace

from yohaku.analysis.file_access import find_accesses
from yohaku.analysis.outline import render_outline
from yohaku.analysis.shell import split_commands
from yohaku.analysis.tool_calls import find_command, split_tool_name
from yohaku.analysis.window_profile import profile_for
from yohaku.core.folds import Fold, Stub
from yohaku.core.model import ToolUse, newest_step
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, fold_part, pieces

READS = frozenset("read cat view open get fetch show load".split())
ARRIVED = "cut_on_arrival"
"""Why the newest step may be touched: it never was shown otherwise, so no prompt cache breaks."""

SPLIT = {"full": 0.0, "on": 0.5, "when needed": 1.0}
"""From which share of the room for tool output a file is shown by its structure."""


def trim_new_results(share: float = 0.6, least: float = 1 / 16, ends: int = 50) -> Pass:
    """The newest results within `share` of what remains, one after the other, each at least `least` of the limit.

    That floor is what old results and steps give way to next: a full window must not make a tool speechless.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        step = newest_step(view.history.turns)
        if step is None or not step.uses:
            return []
        ledger = replace(context.ledger, turns=context.ledger.turns - context.ledger.last)
        floor = int(context.budget.limit * least)
        folds: list[Fold] = []
        for piece in arrived(view, context):
            use = step.solid[piece.slot.item]
            assert isinstance(use, ToolUse)
            tokens = max(int(context.budget.remaining(ledger) * share), floor)
            folded = piece.slot in view.stubs.get(piece.key, {})
            stub = _cut(piece, use, context, tokens, ends) if not folded or piece.weight > tokens else None
            folds += [stub] if stub else []
            ledger = replace(ledger, turns=ledger.turns + (stub.after if stub else piece.weight))
        return folds

    return propose


def arrived(view: View, context: PassContext) -> list[Piece]:
    return [piece for piece in pieces(view, context, "result") if piece.step == 0]


def _cut(piece: Piece, use: ToolUse, context: PassContext, tokens: int, ends: int) -> Stub | None:
    whole = read_whole(use)
    split = SPLIT.get(profile_for(context.budget.window).split_reading)
    if whole and split is not None and piece.weight > tokens * split:
        stub = _sketched(piece, context, tokens, ends)
        if stub and stub.after < piece.weight:
            return stub
    if piece.weight <= tokens:
        return None
    return fold_part(piece, context, ARRIVED, tokens, head=1 if whole or reads(use) else 0.6)


def _sketched(piece: Piece, context: PassContext, tokens: int, ends: int) -> Stub | None:
    if not isinstance(piece.original, str) or piece.media:
        return None
    ref = ref_of(piece.original)
    for half, most in ((ends, 80), (ends, 40), (ends // 2, 40), (ends // 5, 20), (ends // 10, 10)):
        text = render_outline(piece.original, ref, half, most) if half else None
        weight = context.meter.count(text) if text else 0
        if text and weight <= tokens:
            return Stub(piece.key, piece.slot, text, ref, piece.what, ARRIVED, piece.weight, weight)
    return None


def read_whole(use: ToolUse) -> bool:
    """Whether a call read one file from its beginning to its end: who asks for some lines is to get them."""
    ran = find_command(use)
    if ran is not None and len(split_commands(ran)) > 1:
        return False
    found = find_accesses(use)
    return len(found) == 1 and found[0].kind == "read" and found[0].lines is None


def reads(use: ToolUse) -> bool:
    """Whether what a call returns is best known by its beginning."""
    return find_command(use) is None and not READS.isdisjoint(split_tool_name(use.call.name))
