"""Clear the content of old, big results at every turn, if that saves enough."""

from __future__ import annotations

from collections.abc import Iterable

from yohaku.analysis.tool_calls import split_tool_name
from yohaku.core.folds import Fold, Stub
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, pieces

TOOLS = ("bash", "read", "write", "edit", "glob", "grep", "list_dir", "notebook_edit")


def clear_old_results(tools: Iterable[str] = TOOLS, keep: int = 3, over: int = 1_000, least: int = 20_000) -> Pass:
    """Make a pass that clears results of these tools over `over` tokens, but the newest `keep`.

    Nothing is done that saves less than `least` tokens together. Both numbers scale down with the window: `over`
    below 32K and `least` below 200K.
    """
    named = [split_tool_name(tool) for tool in tools]

    def propose(view: View, context: PassContext) -> list[Fold]:
        found = [piece for piece in pieces(view, context, "result") if _matches(piece.tool, named)]
        results = dict.fromkeys((piece.key, piece.slot.item) for piece in reversed(found))
        newest = set(list(results)[:keep])
        big = min(over, context.budget.window // 32)
        folds = [
            _clear(piece, context)
            for piece in found
            if piece.weight > big and piece.step > 0 and (piece.key, piece.slot.item) not in newest
        ]
        saved = sum(fold.before - fold.after for fold in folds)
        return list[Fold](folds) if saved >= min(least, context.budget.window // 10) else []

    return propose


def _matches(tool: str, named: list[frozenset[str]]) -> bool:
    """Compare by words, so that `read` is also `Read`, `read_file` and `fs.readFile`."""
    words = split_tool_name(tool)
    return any(name <= words for name in named)


def _clear(piece: Piece, context: PassContext) -> Stub:
    ref = ref_of(piece.original)
    text = f"[Old tool result content cleared; ref={ref}]"
    return Stub(piece.key, piece.slot, text, ref, piece.what, "old_result", piece.weight, context.meter.count(text))
