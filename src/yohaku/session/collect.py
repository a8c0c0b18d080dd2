"""Garbage collection in a store: originals that no fold needs are removed when they are old or take too much space.

Law: an original that a live fold needs is never removed, whatever the limits; nor one put a moment ago, since its fold
may be about to be kept. Folds and records are kept for `age` after the last use of their conversation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold, Gist
from yohaku.session.fold_log import FoldLog, parse_rows, read_folds
from yohaku.stores import DAY, HOUR, Store, StoredOriginal

GRACE_SECONDS = 2 * HOUR
"""Twice the delay with which a store notes that an original was put again."""
_REF_IN_TEXT = re.compile(r"\bref=([a-z2-7]{12})\b")
_REF_IN_BYTES = re.compile(rb"\bref=([a-z2-7]{12})\b")


@dataclass(frozen=True, slots=True)
class Collected:
    refs: tuple[str, ...]
    """Originals that were removed; with `dry_run`, those that would be."""
    freed: int
    """Bytes they took."""
    left: int
    """Bytes that the others take."""
    folds: int
    """Folds that were forgotten, because no session used them any more."""
    over: int
    """Bytes by which what must stay exceeds `size`."""
    records: int = 0
    """Rows of conversations that ended long ago: receipts, undoings, pins."""


def collect_all(
    store: Store, *, age: int, size: int | None = None, live: Iterable[Fold] = (), dry_run: bool = False
) -> Collected:
    """Collect what is kept for every tenant, each by itself: a proxy that others share has one for each credential."""
    kept = tuple(live)
    parts = [store.of(tenant) for tenant in sorted({"", *store.tenants()})]
    done = [collect(part, age=age, size=size, live=kept, dry_run=dry_run) for part in parts]
    return Collected(
        refs=tuple(ref for each in done for ref in each.refs),
        freed=sum(each.freed for each in done),
        left=sum(each.left for each in done),
        folds=sum(each.folds for each in done),
        over=sum(each.over for each in done),
        records=sum(each.records for each in done),
    )


def collect(
    store: Store,
    *,
    age: int = 30 * DAY,
    size: int | None = None,
    live: Iterable[Fold] = (),
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> Collected:
    """Remove originals that no fold needs, and records that are too old.

    `age`: seconds. `size`: bytes all originals may take. `live`: folds beyond those in the store.
    """
    now = int(clock())
    before = min(now - age, now - GRACE_SECONDS)
    forgotten = _count_expiring(store, before) if dry_run else store.expire(before)
    # Marked only now: a fold that survived the line above stays, and one kept later puts its original again.
    marked = reachable_refs(store, (*store.standing(before if dry_run else 0), *live))
    erased = 0
    for conversation in store.conversations():
        rows = store.recorded(conversation)
        log = FoldLog.of(rows)
        if log.at >= before:
            marked |= refs_in_log(store, log)
        elif ours := [row for row in rows if _is_ours(row)]:
            erased += len(ours)
            if not dry_run:
                store.erase(conversation, ours)
    kept = list(store.kept())
    garbage = [each for each in kept if each.ref not in marked]
    doomed = [each for each in garbage if each.at < before]
    left = sum(each.stored for each in kept) - sum(each.stored for each in doomed)
    pressed = list(_oldest_until(left - size, garbage[: len(garbage) - len(doomed)], now)) if size is not None else []
    left -= sum(each.stored for each in pressed)
    gone = (*doomed, *pressed)
    if not dry_run:
        store.drop([each.ref for each in doomed], before)
        store.drop([each.ref for each in pressed], now - GRACE_SECONDS)
    freed = sum(each.stored for each in gone)
    over = max(0, left - size) if size is not None else 0
    return Collected(tuple(each.ref for each in gone), freed, left, forgotten, over, erased)


def reachable_refs(store: Store, folds: Iterable[Fold]) -> set[str]:
    """Return every ref that folds hide, that their texts name, or that the transcripts behind gists name."""
    marked: set[str] = set()
    for fold in folds:
        new = {fold.ref, *_REF_IN_TEXT.findall(fold.text)} - marked
        marked |= new
        if isinstance(fold, Gist) and fold.ref in new:
            with suppress(UnknownRef):
                marked.update(store.parts(fold.ref))
                marked.update(_refs_in_transcript(store, fold.ref))
    return marked


def refs_in_log(store: Store, log: FoldLog) -> set[str]:
    """Return the refs that the records of a conversation need: its foldings, and what undone ones hid, to redo them."""
    marked = {done.id for done in log.done if done.id}
    for done in log.done:
        if done.id and not done.standing and not done.apart:
            with suppress(UnknownRef):
                marked |= reachable_refs(store, read_folds(store, done).values())
    return marked


def _is_ours(row: str) -> bool:
    """Tell our rows from those that other programs record."""
    return any(isinstance(found.get("at"), int) for found in parse_rows([row]))


def _refs_in_transcript(store: Store, ref: str) -> Iterator[str]:
    """Yield the refs in the transcript behind a gist: its images and documents."""
    for piece in store.open(ref).pieces:
        yield from (found.decode() for found in _REF_IN_BYTES.findall(piece.data))


def _count_expiring(store: Store, before: int) -> int:
    return sum(1 for _ in store.standing(0)) - sum(1 for _ in store.standing(before))


def _oldest_until(excess: int, garbage: list[StoredOriginal], now: int) -> Iterator[StoredOriginal]:
    """Yield the oldest originals, until `excess` bytes are gone."""
    for each in reversed(garbage):
        if excess <= 0 or each.at >= now - GRACE_SECONDS:
            return
        excess -= each.stored
        yield each
