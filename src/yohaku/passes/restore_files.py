"""After a folding the files that were read last come back, as they are now: the model need not read them again.

Law: what comes back never undoes the folding; it takes only room that is free below the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from yohaku.analysis.file_access import LineRange
from yohaku.analysis.file_log import FileRecord, read_file_log
from yohaku.core.folds import Fold, Gist
from yohaku.core.model import Text
from yohaku.core.recipe import AskingPass, Effect, Pass, PassContext, ReadFile
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, many

TITLE = "Files as they are now:"


def restore_files(inner: Pass, most: int = 5, each: int = 5_000, together: int = 50_000) -> Pass:
    """What `inner` folds, and behind its gist at most so many files, of so many tokens each and together.

    Those numbers are for big windows: one file takes at most 1/16 of the limit, all of them a quarter.
    """

    def propose(view: View, room: PassContext) -> AskingPass:
        proposed = inner(view, room)
        folds = proposed if isinstance(proposed, list) else (yield from proposed)
        gist = next((fold for fold in folds if isinstance(fold, Gist)), None)
        if gist is None:
            return folds
        limit = room.budget.limit
        free = room.goal - (room.ledger.total - gist.before + gist.after)
        left = min(together, limit // 4, free) - room.meter.count(TITLE)
        text = yield from _read_files(
            find_recent(view.with_([gist]), most), room.meter.count, min(each, limit // 16), left
        )
        return [_append_text(gist, text, room) if fold is gist and text else fold for fold in folds]

    return propose


def find_recent(view: View, most: int) -> list[FileRecord]:
    """The files that were read in what is hidden, the last one first, without those that can still be seen."""
    seen = read_file_log(view.visible())
    found = [file for file in read_file_log(view.hidden(view.cut)).values() if file.ranges and file.state != "deleted"]
    return [file for file in reversed(found) if file.path not in seen][:most]


def _read_files(
    found: list[FileRecord], count: Callable[[str], int], each: int, left: int
) -> Generator[Effect, str, str]:
    parts: list[str] = []
    for file in found:
        tokens = min(each, left)
        if tokens < SMALL:
            break
        content = yield ReadFile(file.path)
        if content.strip() and "\0" not in content and (part := _render_file(file, content, count, tokens)):
            parts.append(part)
            left -= count(part) + 1
    return "\n\n".join([TITLE, *parts]) if parts else ""


def _render_file(file: FileRecord, content: str, count: Callable[[str], int], tokens: int) -> str:
    """A file, or those of its lines that were read, under its name and within so many tokens."""
    lines = content.splitlines()
    whole = file.ranges[0] == (1, -1) or sum(1 for _ in _choose_lines(lines, file.ranges)) >= len(lines)
    shown = lines if whole else list(_choose_lines(lines, file.ranges))
    spans = ", ".join(f"{first}-{last if last > 0 else len(lines)}" for first, last in file.ranges)
    title = f"### {file.path}" + ("" if whole else f" (lines {spans} of {len(lines)})")
    keep = len(shown)
    while keep:
        rest = [f"[… {many(len(shown) - keep, 'more line')}: read the file]"] if keep < len(shown) else []
        text = "\n".join([title, *shown[:keep], *rest])
        weight = count(text)
        if weight <= tokens:
            return text
        keep = int(keep * min(0.9, 0.95 * tokens / weight))
    return ""


def _choose_lines(lines: list[str], ranges: tuple[LineRange, ...]) -> Iterator[str]:
    for first, last in ranges:
        yield from lines[max(0, first - 1) : last if last > 0 else len(lines)]


def _append_text(gist: Gist, text: str, room: PassContext) -> Fold:
    added = f"{gist.text}\n\n{text}"
    entries = room.weigher.entries
    return replace(gist, text=added, after=gist.after + entries((Text(added),)) - entries((Text(gist.text),)))
