"""Log of a conversation, read from its records: each folding, undone or standing, and the pins.

Law: records are only added, and every process reads the same from them. A folding is identified by its folds, so that
two processes that fold alike made one folding; undoing it twice is undoing it once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import msgspec

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold, FoldId, Gist, MadeFor, Place, Stub, Subject, id_of
from yohaku.core.originals import Slot, ref_of
from yohaku.core.pins import Pin
from yohaku.stores import DAY, Store

RECEIPT_FIELDS = ("before", "after", "limit", "exact", "meter")
MAX_TIME = 1 << 40
"""Seconds since 1970; no clock shows a later time."""
FOLD_FIELDS = ("kind", "ref", "what", "before", "after", "why", "key", "made_for")


@dataclass(frozen=True, slots=True)
class FoldingRecord:
    """One folding, as recorded in its row."""

    number: int
    """Counted from 1, in the order they were first made."""
    id: str
    """The ref of its folds with the shapes before and after; empty for rows that cannot be undone."""
    row: dict[str, Any]
    standing: bool = True
    order: int = 0
    """Order of the last time it was made: of two that stand in one place, the later shows."""

    @property
    def fold_ids(self) -> tuple[FoldId, ...]:
        return tuple(found for fold in self.row["folds"] if (found := _read_id(fold)) is not None)

    def touches(self, keys: Container[str]) -> bool:
        """Return whether one of its folds stands on one of these keys."""
        return any(key in keys for key, *_ in self.fold_ids)

    @property
    def apart(self) -> bool:
        """True if its folds were never kept in the store, where others find them."""
        return bool(self.row.get("apart"))


@dataclass(frozen=True, slots=True)
class FoldLog:
    done: tuple[FoldingRecord, ...] = ()
    undone: tuple[str, ...] = ()
    """The ids of foldings that are undone, the last one last."""
    pins: tuple[Pin, ...] = ()
    undone_folds: frozenset[FoldId] = field(default_factory=frozenset)
    """Folds that do not stand because they were undone."""
    at: int = 0
    """Time of the last record, in seconds since 1970."""

    @classmethod
    def of(cls, rows: Iterable[str]) -> FoldLog:
        done: dict[str, FoldingRecord] = {}
        undone: dict[str, None] = {}
        pins: dict[Pin, None] = {}
        at = 0
        for order, row in enumerate(parse_rows(rows)):
            at = max(at, row["at"] if _is_time(row.get("at")) else 0)
            match row:
                case {"undo": str(name)} if name in done and name not in undone:
                    undone[name] = None
                case {"redo": str(name)}:
                    undone.pop(name, None)
                case {"pin": [str(kind), str(value)]} if kind in ("ref", "key", "text"):
                    pins[Pin(kind, value)] = None  # type: ignore[arg-type]
                case {"unpin": [str(kind), str(value)]}:
                    pins.pop(Pin(kind, value), None)  # type: ignore[arg-type]
                case {"folds": list()} if _is_folding(row):
                    name = str(row.get("id") or f"row {order}")
                    number = done[name].number if name in done else len(done) + 1
                    done[name] = FoldingRecord(number, str(row.get("id") or ""), row, True, order)
                    undone.pop(name, None)
        found = [
            FoldingRecord(one.number, one.id, one.row, name not in undone, one.order) for name, one in done.items()
        ]
        gone = {each for one in found if not one.standing for each in one.fold_ids}
        if gone:
            gone -= {each for one in found if one.standing for each in one.fold_ids}
        return cls(tuple(found), tuple(undone), tuple(pins), frozenset(gone), at)

    def held(self, shows: Callable[[MadeFor], bool]) -> frozenset[Place]:
        """Return the places without a fold because it was undone; `shows` tests for folds that show in this window."""
        if not self.undone_folds:
            return frozenset()
        standing = (each for one in self.done if one.standing for each in one.fold_ids)
        covered = {(key, slot) for key, slot, made_for in standing if shows(made_for)}
        return frozenset((key, slot) for key, slot, _ in self.undone_folds) - covered

    def find(self, name: str) -> FoldingRecord | None:
        """Return a folding by its number, its id, or the beginning of its id."""
        wanted = name.strip().removeprefix("ref=")
        if wanted.isdecimal() and len(wanted) < len(ref_of("")):
            return next((one for one in self.done if one.number == int(wanted)), None)
        return next((one for one in self.done if wanted and one.id.startswith(wanted)), None)

    def latest(self) -> dict[FoldId, FoldingRecord]:
        """Return the folding that made each fold last, of those that stand."""
        standing = sorted((one for one in self.done if one.standing), key=lambda one: one.order)
        return {each: one for one in standing for each in one.fold_ids}


class _StoredFolding(TypedDict):
    """The original of a folding; see `serialise_folding`."""

    folds: list[dict[str, Any]]
    shown: tuple[list[str], list[str]]


def read_folds(store: Store, done: FoldingRecord) -> dict[FoldId, Fold]:
    """Return the folds of a folding; raise `UnknownRef` if the store no longer has them."""
    rows = _open_folding(store, done)["folds"]
    try:
        folds = [_read_fold(row) for row in rows]
    except msgspec.ValidationError:
        raise UnknownRef(done.id) from None
    return {id_of(fold): fold for fold in folds}


def _read_fold(row: dict[str, Any]) -> Fold:
    return msgspec.convert(row, Stub) if "slot" in row else msgspec.convert(row, Gist)


def read_shapes(store: Store, done: FoldingRecord) -> tuple[list[str], list[str]]:
    """Return the lines shown before and after a folding."""
    return _open_folding(store, done)["shown"]


def _open_folding(store: Store, done: FoldingRecord) -> _StoredFolding:
    try:
        return msgspec.convert(json.loads(store.get(done.id)), _StoredFolding)
    except (ValueError, RecursionError):
        raise UnknownRef(done.id) from None


def undo(
    store: Store, conversation: str, count: int, at: float, ours: Callable[[FoldingRecord], bool] | None = None
) -> list[FoldingRecord]:
    """Undo the last foldings that stand: their originals are shown again, or the fold that stood there before.

    `ours`: test for those to consider. Others that began with the same prompt are recorded under the same name.
    """
    standing = [one for one in FoldLog.of(store.recorded(conversation)).done if one.standing and one.id]
    last = sorted((one for one in standing if ours is None or ours(one)), key=lambda one: -one.order)
    return _record_change(store, conversation, last[: max(0, count)], "undo", at)


def redo(
    store: Store, conversation: str, count: int, at: float, ours: Callable[[FoldingRecord], bool] | None = None
) -> list[FoldingRecord]:
    """Redo the foldings that were undone last."""
    log = FoldLog.of(store.recorded(conversation))
    named = {one.id: one for one in log.done}
    undone = [named[name] for name in reversed(log.undone) if name in named]
    last = [one for one in undone if ours is None or ours(one)][: max(0, count)]
    for one in last:
        read_folds(store, one)  # one that cannot be opened any more is not redone
    return _record_change(store, conversation, last, "redo", at)


def touch(store: Store, conversation: str, log: FoldLog, at: float) -> None:
    """Record, at most once a day, that the conversation is in use, so that its records are not collected."""
    if log.at and log.at < at - DAY:
        store.record(conversation, json.dumps({"at": int(at), "seen": True}))


def pin(store: Store, conversation: str, what: Pin, at: float, *, on: bool = True) -> None:
    store.record(conversation, json.dumps({"at": int(at), "pin" if on else "unpin": list(what)}))
    store.keep([])  # raises the version, so that open sessions read the records again


def _record_change(
    store: Store, conversation: str, changed: list[FoldingRecord], what: str, at: float
) -> list[FoldingRecord]:
    """Record the change, then apply it to the store's folds; if stopped in between, sessions go by the record."""
    for done in changed:
        store.record(conversation, json.dumps({"at": int(at), what: done.id}))
    if changed:
        stored = [each for done in changed if not done.apart for each in done.fold_ids]
        gone = _restore_folds(store, conversation, stored)
        late = FoldLog.of(store.recorded(conversation)).latest() if gone else {}
        if again := [each for each in gone if each in late]:  # another process folded there meanwhile
            _restore_folds(store, conversation, again)
    return changed


def _restore_folds(store: Store, conversation: str, changed: Iterable[FoldId]) -> list[FoldId]:
    """Keep those of these folds that stand and forget the others; return the forgotten ones."""
    latest = FoldLog.of(store.recorded(conversation)).latest()
    opened: dict[str, dict[FoldId, Fold]] = {}
    kept: list[Fold] = []
    gone: list[FoldId] = []
    for each in dict.fromkeys(changed):
        winner = latest.get(each)
        if winner is None:
            gone.append(each)
        elif not winner.apart:
            if winner.id not in opened:
                opened[winner.id] = read_folds(store, winner)
            if fold := opened[winner.id].get(each):
                kept.append(fold)
    store.keep(kept)  # even if there is none: open sessions read the records again
    if gone:
        store.forget(map(_placeholder, gone))
    return gone


def _placeholder(each: FoldId) -> Fold:
    """Return a fold with just enough in it for the store to forget it."""
    key, slot, made_for = each
    if slot:
        return Stub(key, slot, "", "", "", "", 0, 0, made_for=made_for)
    return Gist(key, "", "", "", "", 0, 0, made_for=made_for)


def _read_id(fold: dict[str, Any]) -> FoldId | None:
    key, slot, made_for = fold.get("key"), fold.get("slot"), fold.get("made_for")
    if not isinstance(key, str):
        return None
    place = Slot(*slot) if isinstance(slot, list) and len(slot) == 3 else None
    return key, place, MadeFor(*made_for) if isinstance(made_for, list) and len(made_for) == 3 else MadeFor()


class _FoldRow(TypedDict):
    """A fold in the row of its folding; see `_build_fold_row`. Those of an older version have fewer fields."""

    ref: str
    what: Subject | str
    before: NotRequired[int]
    after: NotRequired[int]
    why: NotRequired[str]
    kind: NotRequired[str]
    key: NotRequired[str]
    slot: NotRequired[Slot]
    made_for: NotRequired[MadeFor]
    detail: NotRequired[str]


class _FoldingRow(TypedDict):
    at: int
    before: int
    after: int
    limit: int
    folds: list[_FoldRow]


def _is_folding(row: dict[str, Any]) -> bool:
    try:
        return _is_time(msgspec.convert(row, _FoldingRow)["at"])
    except (msgspec.ValidationError, RecursionError):
        return False


def _is_time(at: object) -> bool:
    return isinstance(at, int) and 0 <= at < MAX_TIME


def parse_rows(rows: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Yield the rows that are JSON objects; other programs may have recorded theirs."""
    for row in rows:
        try:
            found = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def serialise_folding(folds: Iterable[Fold], shown: tuple[list[str], list[str]]) -> str:
    """Return the original of a folding; its id is the ref of this text."""
    rows = [msgspec.to_builtins(fold) for fold in folds]
    return json.dumps({"folds": rows, "shown": shown}, separators=(",", ":"))


def build_row(facts: dict[str, Any], name: str, folds: Iterable[Fold], at: float) -> str:
    """Return the record of a folding, with the folds made now only, so that rows do not grow with the conversation."""
    return json.dumps({"at": int(at), "id": name, **facts, "folds": [_build_fold_row(fold) for fold in folds]})


def _build_fold_row(fold: Fold) -> dict[str, Any]:
    row = {name: getattr(fold, name) for name in FOLD_FIELDS}
    if isinstance(fold, Stub):
        return {**row, "slot": fold.slot}
    return {**row, "detail": fold.detail} if fold.detail else row


def all_foldings(store: Store) -> list[tuple[str, FoldingRecord]]:
    """Return every recorded folding with the key of its session, the oldest first."""
    found = [(name, done) for name in store.conversations() for done in FoldLog.of(store.recorded(name)).done]
    return sorted(found, key=lambda one: int(one[1].row["at"]))


def find_fold(store: Store, ref: str) -> tuple[dict[str, Any], int | None] | None:
    """Return the last fold that hides this ref, also as an entry of its stretch, and when it was made.

    The time is None for one without a record.
    None if there is an original and no fold for it; raise `UnknownRef` if there is no original either.
    """
    foldings = list(reversed(all_foldings(store)))
    standing = list(store.standing(0))
    for hides in (_is, _holds):
        for _, done in foldings:
            for row in done.row["folds"]:
                if row.keys() >= {"why", "before", "after"} and hides(store, row["ref"], ref):
                    return row, done.row["at"]
        for fold in standing:
            if hides(store, fold.ref, ref):
                return _build_fold_row(fold), None
    store.about(ref)
    return None


def _is(_: Store, hidden: str, ref: str) -> bool:
    return hidden == ref


def _holds(store: Store, hidden: str, ref: str) -> bool:
    """Return True if the ref is that of an entry of a hidden stretch."""
    try:
        return ref in store.parts(hidden)
    except UnknownRef:  # removed since
        return False
