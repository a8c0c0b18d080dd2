"""Diff of what one or several foldings changed: the shapes of the conversation before and after.

Law: it is built from the records alone, so that it is the same in every process, with or without the conversation.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from yohaku.core.errors import BadSetting
from yohaku.session.fold_log import FoldingRecord, FoldLog, read_shapes
from yohaku.stores import Store

CONTEXT_LINES = 3
COLOURS = {"-": "\x1b[31m", "+": "\x1b[32m", "@": "\x1b[36m"}
RESET_COLOUR = "\x1b[0m"


def diff(store: Store, log: FoldLog, one: str | int | None = None, other: str | int | None = None) -> list[str]:
    """Compare the shapes after two foldings, by number or id (0: before the first); of one: before it and after."""
    first, second = _find_sides(store, log, one, other)
    lines = difflib.unified_diff(first[1], second[1], first[0], second[0], n=CONTEXT_LINES, lineterm="")
    return list(lines)


def colour_lines(lines: list[str]) -> Iterator[str]:
    for line in lines:
        colour = COLOURS.get(line[:1], "")
        yield f"{colour}{line}{RESET_COLOUR}" if colour else line


def _find_sides(
    store: Store, log: FoldLog, one: str | int | None, other: str | int | None
) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
    if other is None:
        done = _find(log, one) if one is not None else _find_last(log)
        before, after = read_shapes(store, done)
        return (_build_title(done, "before"), before), (_build_title(done, "after"), after)
    return _side_after(store, log, one), _side_after(store, log, other)


def _side_after(store: Store, log: FoldLog, name: str | int | None) -> tuple[str, list[str]]:
    if str(name).strip() == "0" and log.done:
        return _build_title(log.done[0], "before"), read_shapes(store, log.done[0])[0]
    done = _find(log, name)
    return _build_title(done, "after"), read_shapes(store, done)[1]


def _build_title(done: FoldingRecord, when: str) -> str:
    return f"{when} folding {done.number} ({done.row[when]:,} tokens)"


def _find(log: FoldLog, name: str | int | None) -> FoldingRecord:
    found = log.find(str(name))
    if found is None or not found.id:
        raise unknown_folding(str(name), log)
    return found


def _find_last(log: FoldLog) -> FoldingRecord:
    known = [done for done in log.done if done.id]
    if not known:
        raise unknown_folding("the last", log)
    return max(known, key=lambda done: done.order)


def unknown_folding(name: str, log: FoldLog) -> BadSetting:
    known = ", ".join(str(done.number) for done in log.done if done.id)
    text = f"there is no folding {name!r} here: give a number or an id as yohaku receipts lists them"
    return BadSetting(text, "unknown_folding", name=name, known=known or "-")
