"""Show the files that were read last again after a folding, as they are now, so that the model need not read them.

Law: this never undoes the folding. It takes only tokens that are free below the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from yohaku.analysis.file_access import LineRange
from yohaku.analysis.file_log import FileRecord, read_file_log
from yohaku.analysis.shorten import shorten
from yohaku.core.folds import Fold, Gist
from yohaku.core.model import Text
from yohaku.core.recipe import AskingPass, Effect, Pass, PassContext, ReadFile
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, many

TITLE = "Files as they are now:"


def restore_files(inner: Pass, most: int = 5, each: int = 5_000, together: int = 50_000) -> Pass:
    """Make a pass that folds as `inner` does and adds up to `most` files to its gist.

    One file takes at most `each` tokens and 1/16 of the limit, all of them `together` tokens and a quarter of it.
    """

    def propose(view: View, context: PassContext) -> AskingPass:
        proposed = inner(view, context)
        folds = proposed if isinstance(proposed, list) else (yield from proposed)
        gist = next((fold for fold in folds if isinstance(fold, Gist)), None)
        if gist is None:
            return folds
        limit, count = context.budget.limit, context.meter.count
        free = context.goal - (context.ledger.total - gist.before + gist.after)
        left = min(together, limit // 4, free) - count(TITLE)
        text = yield from _read_files(find_recent(view.with_([gist]), most), count, min(each, limit // 16), left)
        return [_append_text(gist, text, context) if fold is gist and text else fold for fold in folds]

    return propose


def find_recent(view: View, most: int) -> list[FileRecord]:
    """Return the files that were read in the hidden part, the last first, without those still visible."""
    visible = read_file_log(view.visible())
    hidden = [file for file in read_file_log(view.hidden(view.cut)).values() if file.ranges and file.state != "deleted"]
    return [file for file in reversed(hidden) if file.path not in visible][:most]


def _read_files(
    files: list[FileRecord], count: Callable[[str], int], each: int, left: int
) -> Generator[Effect, str, str]:
    parts: list[str] = []
    for file in files:
        tokens = min(each, left)
        if tokens < SMALL:
            break
        content = yield ReadFile(file.path)
        if content.strip() and "\0" not in content and (part := _render_file(file, content, count, tokens)):
            parts.append(part)
            left -= count(part) + 1
    return "\n\n".join([TITLE, *parts]) if parts else ""


def _render_file(file: FileRecord, content: str, count: Callable[[str], int], tokens: int) -> str:
    """Return a file, or those of its lines that were read, under its path, within `tokens`."""
    lines = content.splitlines()
    read = list(_lines_of_ranges(lines, file.ranges))
    whole = file.ranges[0] == (1, -1) or len(read) >= len(lines)
    shown = lines if whole else read
    ranges = ", ".join(f"{first}-{last if last > 0 else len(lines)}" for first, last in file.ranges)
    title = f"### {file.path}" + ("" if whole else f" (lines {ranges} of {len(lines)})")

    def render(keep: int) -> str:
        rest = [f"[… {many(len(shown) - keep, 'more line')}: read the file]"] if keep < len(shown) else []
        return "\n".join([title, *shown[:keep], *rest])

    return shorten(render, len(shown), tokens, count)


def _lines_of_ranges(lines: list[str], ranges: tuple[LineRange, ...]) -> Iterator[str]:
    for first, last in ranges:
        yield from lines[max(0, first - 1) : last if last > 0 else len(lines)]


def _append_text(gist: Gist, text: str, context: PassContext) -> Fold:
    longer = f"{gist.text}\n\n{text}"
    weigh = context.weigher.entries
    return replace(gist, text=longer, after=gist.after + weigh((Text(longer),)) - weigh((Text(gist.text),)))
