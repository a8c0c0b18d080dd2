"""Limit all tool output in the window together: over the budget, the oldest are replaced by a placeholder each."""

from __future__ import annotations

from yohaku.core.folds import Fold, Stub
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import pieces


def context_budget(window: int, share: float = 0.25, least: int = 20_000, most: int = 60_000) -> int:
    """Return a quarter of the window, at most `most` tokens; `least` never raises it above that quarter."""
    quarter = int(window * share)
    return min(max(quarter, min(least, quarter)), most)


def limit_tool_output(most: int | None = None) -> Pass:
    """Make a pass that trims tool outputs over `most` tokens together (default: `context_budget`), the oldest first.

    Those of the newest step stay, whatever they weigh.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        left = context_budget(context.budget.window) if most is None else most
        folds: list[Fold] = []
        for piece in reversed(list(pieces(view, context, "result"))):
            left -= piece.weight
            if left >= 0 or piece.step == 0:
                continue
            ref = ref_of(piece.original)
            text = f"[tool output trimmed; ref={ref}]"
            stub = Stub(
                piece.key, piece.slot, text, ref, piece.what, "tool_output_budget", piece.weight,
                context.meter.count(text),
            )  # fmt: skip
            if stub.after < stub.before:
                left += stub.before - stub.after
                folds.append(stub)
        return folds[::-1]

    return propose
