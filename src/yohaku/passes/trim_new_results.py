"""Cut results as they arrive to the free tokens: commands to both ends, files to their outline."""

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
"""Reason code. The newest step was never shown whole, so cutting it breaks no prompt cache."""

SPLIT = {"full": 0.0, "on": 0.5, "when needed": 1.0}
"""Share of the tokens for tool output from which a file is shown as an outline, by the window's profile."""


def trim_new_results(share: float = 0.6, least: float = 1 / 16, ends: int = 50) -> Pass:
    """Make a pass that cuts each newest result to `share` of the free tokens, but not below `least` of the limit.

    A full window must not silence a tool: later rungs fold older results and steps for that minimum.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        step = newest_step(view.history.turns)
        if step is None or not step.uses:
            return []
        ledger = replace(context.ledger, turns=context.ledger.turns - context.ledger.last)
        floor = int(context.budget.limit * least)
        folds: list[Fold] = []
        for piece in newest_results(view, context):
            use = step.solid[piece.slot.item]
            assert isinstance(use, ToolUse)
            tokens = max(int(context.budget.remaining(ledger) * share), floor)
            folded = piece.slot in view.stubs.get(piece.key, {})
            stub = _cut(piece, use, context, tokens, ends) if not folded or piece.weight > tokens else None
            folds += [stub] if stub else []
            ledger = replace(ledger, turns=ledger.turns + (stub.after if stub else piece.weight))
        return folds

    return propose


def newest_results(view: View, context: PassContext) -> list[Piece]:
    return [piece for piece in pieces(view, context, "result") if piece.step == 0]


def _cut(piece: Piece, use: ToolUse, context: PassContext, tokens: int, ends: int) -> Stub | None:
    whole = reads_whole_file(use)
    split = SPLIT.get(profile_for(context.budget.window).split_reading)
    if whole and split is not None and piece.weight > tokens * split:
        stub = _outline(piece, context, tokens, ends)
        if stub and stub.after < piece.weight:
            return stub
    if piece.weight <= tokens:
        return None
    return fold_part(piece, context, ARRIVED, tokens, head=1 if whole or reads(use) else 0.6)


def _outline(piece: Piece, context: PassContext, tokens: int, ends: int) -> Stub | None:
    if not isinstance(piece.original, str) or piece.media:
        return None
    ref = ref_of(piece.original)
    for half, most in ((ends, 80), (ends, 40), (ends // 2, 40), (ends // 5, 20), (ends // 10, 10)):
        text = render_outline(piece.original, ref, half, most) if half else None
        weight = context.meter.count(text) if text else 0
        if text and weight <= tokens:
            return Stub(piece.key, piece.slot, text, ref, piece.what, ARRIVED, piece.weight, weight)
    return None


def reads_whole_file(use: ToolUse) -> bool:
    """Test for a call that read one whole file: a call for some lines has to get them."""
    ran = find_command(use)
    if ran is not None and len(split_commands(ran)) > 1:
        return False
    found = find_accesses(use)
    return len(found) == 1 and found[0].kind == "read" and found[0].lines is None


def reads(use: ToolUse) -> bool:
    """Test for a call whose result is best shown by its beginning."""
    return find_command(use) is None and not READS.isdisjoint(split_tool_name(use.call.name))
