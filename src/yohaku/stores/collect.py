"""Garbage collection: what no fold shows any more is removed once it is old, or there is too much of it.

Law: what a live fold shows is never removed, whatever the limits; nor what was put a moment ago, since its fold may
be about to be kept. Folds and records live as long as their conversation goes on, and `age` after that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold, Gist
from yohaku.session.fold_log import FoldLog, folds_of, objects
from yohaku.stores import DAY, HOUR, Store, StoredOriginal

GRACE = 2 * HOUR
"""Seconds. Twice what a store may be late in noting that something was put again."""
_SHOWN = re.compile(r"\bref=([a-z2-7]{12})\b")
_TOLD = re.compile(rb"\bref=([a-z2-7]{12})\b")


@dataclass(frozen=True, slots=True)
class Collected:
    refs: tuple[str, ...]
    """The originals that were removed; with `dry_run`, those that would be."""
    freed: int
    """Bytes they took."""
    left: int
    """Bytes that all others take."""
    folds: int
    """Folds that were forgotten, as nobody asked for them any more."""
    over: int
    """Bytes by which what must stay exceeds the size wished for."""
    records: int = 0
    """Rows of conversations that ended long ago: receipts, undoings, pins."""


def collect(
    store: Store,
    *,
    age: int = 30 * DAY,
    size: int | None = None,
    live: Iterable[Fold] = (),
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> Collected:
    """`age`: seconds. `size`: bytes all originals may take. `live`: folds that stand beside those in the store."""
    now = int(clock())
    before = min(now - age, now - GRACE)
    forgotten = _dying(store, before) if dry_run else store.expire(before)
    # Marked only now: a fold that outlived the line above stays, and one kept from here on has its original put anew.
    marked = mark(store, (*store.standing(before if dry_run else 0), *live))
    erased = 0
    for conversation in store.conversations():
        rows = store.recorded(conversation)
        past = FoldLog.of(rows)
        if past.at >= before:
            marked |= recorded(store, past)
        elif ours := [row for row in rows if _is_ours(row)]:
            erased += len(ours)
            if not dry_run:
                store.erase(conversation, ours)
    kept = list(store.kept())
    garbage = [each for each in kept if each.ref not in marked]
    doomed = [each for each in garbage if each.at < before]
    left = sum(each.stored for each in kept) - sum(each.stored for each in doomed)
    pressed = list(_until(left - size, garbage[: len(garbage) - len(doomed)], now)) if size is not None else []
    left -= sum(each.stored for each in pressed)
    gone = (*doomed, *pressed)
    if not dry_run:
        store.drop([each.ref for each in doomed], before)
        store.drop([each.ref for each in pressed], now - GRACE)
    freed = sum(each.stored for each in gone)
    over = max(0, left - size) if size is not None else 0
    return Collected(tuple(each.ref for each in gone), freed, left, forgotten, over, erased)


def mark(store: Store, folds: Iterable[Fold]) -> set[str]:
    """Every ref that can be reached: what folds stand for, what their texts name, what transcripts name in turn."""
    marked: set[str] = set()
    for fold in folds:
        new = {fold.ref, *_SHOWN.findall(fold.text)} - marked
        marked |= new
        if isinstance(fold, Gist) and fold.ref in new:
            with suppress(UnknownRef):
                marked.update(store.parts(fold.ref))
                marked.update(_named(store, fold.ref))
    return marked


def recorded(store: Store, past: FoldLog) -> set[str]:
    """What the records of a conversation need: its foldings, and all that one which was undone hid, to redo it."""
    marked = {done.id for done in past.done if done.id}
    for done in past.done:
        if done.id and not done.standing and not done.apart:
            with suppress(UnknownRef):
                marked |= mark(store, folds_of(store, done).values())
    return marked


def _is_ours(row: str) -> bool:
    """Other programs may record for themselves."""
    return any(isinstance(told.get("at"), int) for told in objects([row]))


def _named(store: Store, ref: str) -> Iterator[str]:
    """The refs in the transcript behind a gist: its images and documents."""
    for piece in store.open(ref).pieces:
        yield from (found.decode() for found in _TOLD.findall(piece.data))


def _dying(store: Store, before: int) -> int:
    return sum(1 for _ in store.standing(0)) - sum(1 for _ in store.standing(before))


def _until(excess: int, garbage: list[StoredOriginal], now: int) -> Iterator[StoredOriginal]:
    """The oldest, until so many bytes are gone."""
    for each in reversed(garbage):
        if excess <= 0 or each.at >= now - GRACE:
            return
        excess -= each.stored
        yield each
