"""Limit the lines and bytes of each result, whatever the window; the rest is opened by ref."""

from __future__ import annotations

import re

from yohaku.core.folds import Fold, Stub
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import many, pieces
from yohaku.passes.trim_new_results import ARRIVED


def cap_results(most: int = 50 * 1024, line: int = 2_000) -> Pass:
    """Make a pass that cuts lines at `line` characters and results at `most` bytes, and adds a note to what it cut."""
    long = re.compile(rf"([^\n]{{{line}}})[^\n]+")

    def propose(view: View, context: PassContext) -> list[Fold]:
        folds: list[Fold] = []
        for piece in pieces(view, context, "result"):
            if piece.media or not isinstance(piece.original, str) or piece.slot in view.stubs.get(piece.key, {}):
                continue
            ref = ref_of(piece.original)
            text = cap(piece.original, ref, most, long)
            if text is not None:
                after = context.meter.count(text)
                folds.append(Stub(piece.key, piece.slot, text, ref, piece.what, ARRIVED, piece.weight, after))
        return folds

    return propose


def cap(text: str, ref: str, most: int, long: re.Pattern[str]) -> str | None:
    """Return the capped text with its note; None if nothing has to be cut."""
    cut, lines = long.subn(r"\1…", text)
    if not lines and len(text) * 4 <= most:
        return None  # too short for its bytes to matter
    data = cut.encode("utf-8", "surrogatepass")
    if not lines and len(data) <= most:
        return None
    note = _note(text, cut, lines, ref)
    if len(data) + len(note) > most:
        cut = _cut_at_line(data, max(0, most - len(note) - 120))
        note = _note(text, cut, lines, ref)
    return f"{cut}\n{note}"


def _cut_at_line(data: bytes, size: int) -> str:
    """Return whole lines within `size` bytes, or whole characters if the first line is longer."""
    end = data.rfind(b"\n", 0, size)
    if end < 0:
        end = size
        while end and data[end] & 0xC0 == 0x80:
            end -= 1
    return data[:end].decode("utf-8", "surrogatepass")


def _note(text: str, cut: str, lines: int, ref: str) -> str:
    hidden = text.count("\n") - cut.count("\n")
    parts = [f"{many(hidden, 'more line')}" if hidden else "", "the ends of long lines" if lines else ""]
    what = " and ".join(filter(None, parts)) or "the end of the line"
    return f"[{what} folded; ref={ref} opens the rest]"
