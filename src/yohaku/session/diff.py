"""What a folding changed, or several did: the shapes of what was shown, side by side as a diff.

Law: it is read from what was recorded, so that it is the same in every process, with or without the conversation.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from yohaku.core.errors import BadSetting
from yohaku.session.fold_log import FoldingRecord, FoldLog, shapes_of
from yohaku.stores import Store

AROUND = 3
"""Lines that are the same, shown around those that are not."""
COLOURS = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}
PLAIN = "\x1b[0m"


def diff(store: Store, past: FoldLog, one: str | int | None = None, other: str | int | None = None) -> list[str]:
    """Between what was shown after two foldings, by number or id (0: before the first); one: before it and after."""
    first, second = _ends(store, past, one, other)
    lines = difflib.unified_diff(first[1], second[1], first[0], second[0], n=AROUND, lineterm="")
    return list(lines)


def coloured(lines: list[str]) -> Iterator[str]:
    for line in lines:
        colour = COLOURS.get(line[:1], "")
        yield f"{colour}{line}{PLAIN}" if colour else line


def _ends(
    store: Store, past: FoldLog, one: str | int | None, other: str | int | None
) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
    if other is None:
        done = _named(past, one) if one is not None else _last(past)
        before, after = shapes_of(store, done)
        return (_title(done, "before"), before), (_title(done, "after"), after)
    return _after(store, past, one), _after(store, past, other)


def _after(store: Store, past: FoldLog, name: str | int | None) -> tuple[str, list[str]]:
    if str(name).strip() == "0" and past.done:
        return _title(past.done[0], "before"), shapes_of(store, past.done[0])[0]
    done = _named(past, name)
    return _title(done, "after"), shapes_of(store, done)[1]


def _title(done: FoldingRecord, when: str) -> str:
    return f"{when} folding {done.number} ({done.row[when]:,} tokens)"


def _named(past: FoldLog, name: str | int | None) -> FoldingRecord:
    found = past.named(str(name))
    if found is None or not found.id:
        raise unknown_folding(str(name), past)
    return found


def _last(past: FoldLog) -> FoldingRecord:
    known = [done for done in past.done if done.id]
    if not known:
        raise unknown_folding("the last", past)
    return max(known, key=lambda done: done.order)


def unknown_folding(name: str, past: FoldLog) -> BadSetting:
    known = ", ".join(str(done.number) for done in past.done if done.id)
    text = f"there is no folding {name!r} here: give a number or an id as yohaku receipts lists them"
    return BadSetting(text, "unknown_folding", name=name, known=known or "-")
