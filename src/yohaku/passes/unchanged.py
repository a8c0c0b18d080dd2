"""Files that were read whole and are on disk as they were shown: the model can read them again, so one line will do.

Law: nothing is folded that was not looked at and found to be the same, line for line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from yohaku.core.engine import AskingPass, Pass, PassContext, ReadFile
from yohaku.core.folds import Fold, Stub, View, ref_of
from yohaku.passes.drop_superseded import (
    MAX_DIFFERING_LINES,
    FileShown,
    find_gutter,
    find_showings,
    find_uses,
    shorten_name,
)
from yohaku.passes.pieces import SMALL, many

WHY = "unchanged_on_disk"


def unchanged(most: int = 20, keep: float = 0.25, least: float = 0.02) -> Pass:
    """The biggest of them become one line each until the goal is met, after at most `most` looks.

    The newest reads are kept, up to `keep` of the goal; nothing is done for less than `least` of the limit, unless
    the conversation is over it.
    """

    def propose(view: View, room: PassContext) -> AskingPass:
        folds: list[Fold] = []
        saved = looks = 0
        seen: dict[str, str] = {}
        for path, showing, weight in sorted(_old(view, room, int(room.goal * keep)), key=lambda one: -one[2]):
            if saved >= room.excess or looks >= most:
                break
            if path not in seen:
                looks += 1
                seen[path] = yield ReadFile(path)
            if not same(showing.text, seen[path]):
                continue
            stub = _stub(path, showing, weight, room)
            if stub.after < stub.before:
                folds.append(stub)
                saved += stub.before - stub.after
        worth = saved >= room.budget.limit * least or room.ledger.total > room.budget.limit
        return folds if worth else []

    return propose


def _old(view: View, room: PassContext, kept: int) -> Iterator[tuple[str, FileShown, int]]:
    """Whole reads before the newest `kept` tokens of reads, with what they weigh; what is folded is left as it is."""
    for place in reversed(list(find_uses(view))):
        if place.newest or place.hidden or len(place.use.result.parts) != 1:
            continue
        for path, showing in find_showings(place):
            if isinstance(showing, FileShown) and showing.slot.where == "result" and showing.ranges == ((1, -1),):
                weight = room.meter.count(showing.text)
                kept -= weight
                if kept < 0 and weight > SMALL:
                    yield path, showing, weight


_NUMBER = re.compile(r"[ \t]{0,8}\d{1,7}([→\t]|[:|] ?)")


def same(shown: str, now: str) -> bool:
    """Whether a tool's result is the file as it is now: its numbered lines, or all but what stands around them."""
    file = _solid(now.split("\n"))
    if not file:
        return False
    lines, mark = shown.split("\n"), find_gutter(shown)
    if not mark:
        return _around(_solid(lines), file)
    ends = [found.end(1) for line in lines if (found := _NUMBER.match(line))]
    numbered = [line for line in lines if _NUMBER.match(line)]
    cut = [line[end:] for line, end in zip(numbered, ends, strict=True)]
    return _solid(cut) == file or _solid(line.partition(mark)[2] for line in numbered) == file


def _solid(lines: Iterable[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


def _around(lines: list[str], file: list[str]) -> bool:
    """A tool may put a title before a file and notes after it; anything else may have been a line of the file."""
    if lines == file:
        return True
    found = next((at for at in range(1, MAX_DIFFERING_LINES + 2) if lines[at : at + len(file)] == file), 0)
    titled = found > 0 and lines[found - 1].endswith((":", ">"))
    after = lines[found + len(file) :] if titled or lines[: len(file)] == file else [""]
    return len(after) <= MAX_DIFFERING_LINES and all(line.startswith(("<", "[")) for line in after)


def _stub(path: str, showing: FileShown, weight: int, room: PassContext) -> Stub:
    what, ref = f"{showing.place.use.call.name} result", ref_of(showing.text)
    size = many(showing.text.count("\n") + (not showing.text.endswith("\n")), "line")
    text = f"[{what} folded: {shorten_name(path)} was unchanged on disk: read it again; {size}; ref={ref}]"
    return Stub(showing.place.step.key, showing.slot, text, ref, what, WHY, weight, room.meter.count(text))
