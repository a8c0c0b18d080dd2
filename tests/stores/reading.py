"""Every way in which a store is read, with what differs from what was put there."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator

from tests.stores.damage import WINDOW, Content, conversation

from yohaku import recall
from yohaku.core.errors import YohakuError
from yohaku.session import fold_log
from yohaku.session.collect import collect
from yohaku.session.session import Session
from yohaku.stores import Store
from yohaku.stores.chunks import count_lines, encode


def read_in_every_way(store: Store, ref: str, healthy: Content) -> Iterator[str]:
    """Yield what differs from the original. An error ends one way of reading, and is raised after the last."""
    original = healthy.originals[ref]
    data = encode(original)
    lines = [line + b"\n" for line in data.split(b"\n")]
    failed: YohakuError | None = None
    try:
        if (got := store.get(ref)) != original:
            yield f"get {ref} gave {type(got).__name__} {got[:40]!r}"
    except YohakuError as why:
        failed = why
    try:
        if (facts := store.about(ref)) != (ref, len(data), count_lines(data), isinstance(original, bytes)):
            yield f"about {ref} gave {facts}"
    except YohakuError as why:
        failed = why
    for line in (line for line in (0, 7, 30_000) if line <= data.count(b"\n")):
        at = -1
        try:
            for piece in store.open(ref, line).pieces:
                at = at if at >= 0 else sum(map(len, lines[: piece.line]))
                if data[at : at + len(piece.data)] != piece.data:
                    yield f"open {ref} from line {line} gave {piece.data[:40]!r} at {at}"
                    return
                at += len(piece.data)
            if at != len(data):
                yield f"open {ref} from line {line} ended at {at}"
        except YohakuError as why:
            failed = why
    if failed:
        raise failed


def _records(store: Store, healthy: Content) -> object:
    """Return rows that were never recorded."""
    found = {(name, row) for name in store.conversations() for row in store.recorded(name)}
    return found - {(name, row) for name, rows in healthy.records.items() for row in rows}


def _folds(store: Store, healthy: Content) -> object:
    """Return folds that were never kept."""
    return [fold for fold in store.folds({fold.key for fold in healthy.folds}) if fold not in healthy.folds]


def _standing(store: Store, healthy: Content) -> object:
    return [fold for fold in store.standing(0) if fold not in healthy.folds]


def _search(store: Store, healthy: Content) -> object:
    """Return lines that are in no original."""
    hits = recall.search(store, "well 3", 5, learn=False).hits
    return [hit for hit in hits if hit.text not in str(healthy.originals[hit.ref])]


def _session(store: Store, healthy: Content) -> object:
    """Fit on the store as a program does: it goes on in memory, and says so."""
    session = Session(WINDOW, model="gpt-4o", recipe="local", store=store)
    session.fit(conversation(24))
    session.undo()
    session.redo()
    session.diff()
    return None if isinstance(session.pins, tuple) else session.pins


def _quietly(read: Callable[[Store, Content], object]) -> Callable[[Store, Content], object]:
    def run(store: Store, healthy: Content) -> object:
        read(store, healthy)
        return None

    return run


WAYS_TO_READ: dict[str, Callable[[Store, Content], object]] = {
    "records": _records,
    "folds": _folds,
    "standing": _standing,
    "search": _search,
    "foldings": _quietly(lambda store, _: fold_log.all_foldings(store)),
    "why": _quietly(lambda store, healthy: fold_log.find_fold(store, healthy.folds[0].ref)),
    "what would be collected": _quietly(lambda store, _: collect(store, dry_run=True)),
    "session": _session,
    "undo": _quietly(lambda store, healthy: fold_log.undo(store, healthy.conversation, 1, 1e9)),
    "redo": _quietly(lambda store, healthy: fold_log.redo(store, healthy.conversation, 1, 1e9)),
    "collection": _quietly(lambda store, _: collect(store, age=0, size=1)),
}


def wrong_in(store: Store, content: Content) -> list[str]:
    """Read everything in every way; return what differs, and errors that are not ours."""
    found: list[str] = []
    for ref in content.originals:
        try:
            found += read_in_every_way(store, ref, content)
        except YohakuError:
            pass
        except Exception:
            found.append(traceback.format_exc()[-300:])
    for name, read in WAYS_TO_READ.items():
        try:
            if wrong := read(store, content):
                found.append(f"{name} gave {wrong}")
        except YohakuError:
            pass
        except Exception:
            found.append(f"{name} {traceback.format_exc()[-400:]}")
    return found
