"""What was done to a conversation: each folding, undone or standing, and what is pinned, read from its records.

Law: records are only added, and say the same to every process. A folding is known by what it folded, so that two
processes that fold alike did it once; undoing it twice is undoing it once.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from yohaku.core.folds import Fold, Gist, Place, Stub, place_of
from yohaku.core.originals import Slot, ref_of
from yohaku.core.pins import Pin
from yohaku.stores import DAY, Store

FACTS = ("before", "after", "limit", "exact", "meter")
FIELDS = ("kind", "ref", "what", "before", "after", "why", "key")


@dataclass(frozen=True, slots=True)
class FoldingRecord:
    """One folding, as its row tells of it."""

    number: int
    """Counted from 1, in the order they were first made."""
    id: str
    """The ref of all it folded and of what was shown before and after; empty for rows that cannot be undone."""
    row: dict[str, Any]
    standing: bool = True
    order: int = 0
    """Of the last time it was made: where two stand in one place, the later shows."""

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for fold in self.row["folds"] if (place := _place(fold)) is not None)

    def on(self, keys: Container[str]) -> bool:
        """Whether any of it stands on one of these keys."""
        return any(key in keys for key, _ in self.places)

    @property
    def apart(self) -> bool:
        """Whether its folds were never kept where others find them."""
        return bool(self.row.get("apart"))


@dataclass(frozen=True, slots=True)
class FoldLog:
    done: tuple[FoldingRecord, ...] = ()
    undone: tuple[str, ...] = ()
    """The ids of foldings that are undone, the last one last."""
    pins: tuple[Pin, ...] = ()
    held: frozenset[Place] = field(default_factory=frozenset)
    """Where nothing stands any more because it was undone."""
    at: int = 0
    """When something was recorded last, in seconds since 1970."""

    @classmethod
    def of(cls, rows: Iterable[str]) -> FoldLog:
        done: dict[str, FoldingRecord] = {}
        undone: dict[str, None] = {}
        pins: dict[Pin, None] = {}
        at = 0
        for order, row in enumerate(objects(rows)):
            at = max(at, row["at"] if isinstance(row.get("at"), int) else 0)
            match row:
                case {"undo": str(name)} if name in done and name not in undone:
                    undone[name] = None
                case {"redo": str(name)}:
                    undone.pop(name, None)
                case {"pin": [str(kind), str(value)]} if kind in ("ref", "key", "text"):
                    pins[Pin(kind, value)] = None  # type: ignore[arg-type]
                case {"unpin": [str(kind), str(value)]}:
                    pins.pop(Pin(kind, value), None)  # type: ignore[arg-type]
                case {"folds": list(), "at": int(), "before": int(), "after": int(), "limit": int()}:
                    name = str(row.get("id") or f"row {order}")
                    number = done[name].number if name in done else len(done) + 1
                    done[name] = FoldingRecord(number, str(row.get("id") or ""), row, True, order)
                    undone.pop(name, None)
        found = [
            FoldingRecord(one.number, one.id, one.row, name not in undone, one.order) for name, one in done.items()
        ]
        held = {place for one in found if not one.standing for place in one.places}
        if held:
            held -= {place for one in found if one.standing for place in one.places}
        return cls(tuple(found), tuple(undone), tuple(pins), frozenset(held), at)

    def named(self, name: str) -> FoldingRecord | None:
        """A folding by its number or its id, or the beginning of one."""
        wanted = name.strip().removeprefix("ref=")
        if wanted.isdecimal() and len(wanted) < len(ref_of("")):
            return next((one for one in self.done if one.number == int(wanted)), None)
        return next((one for one in self.done if wanted and one.id.startswith(wanted)), None)

    def showing(self) -> dict[Place, FoldingRecord]:
        """The folding that is to show in each place."""
        standing = sorted((one for one in self.done if one.standing), key=lambda one: one.order)
        return {place: one for one in standing for place in one.places}


def folds_of(store: Store, done: FoldingRecord) -> dict[Place, Fold]:
    """All that a folding folded, whole. `UnknownRef` where it is kept no longer."""
    rows = json.loads(store.get(done.id))["folds"]
    folds: list[Fold] = [msgspec.convert(row, Stub) if "slot" in row else msgspec.convert(row, Gist) for row in rows]
    return {place_of(fold): fold for fold in folds}


def shapes_of(store: Store, done: FoldingRecord) -> tuple[list[str], list[str]]:
    """What was shown before and after it, line by line."""
    told = json.loads(store.get(done.id))
    return list(told["shown"][0]), list(told["shown"][1])


def undo(
    store: Store, conversation: str, count: int, at: float, among: Container[str] | None = None
) -> list[FoldingRecord]:
    """The last foldings that stand, undone: what they hid is shown again, or the fold that stood there before.

    `among`: the keys of the history that is meant. Others that began alike are recorded in the same place.
    """
    standing = [one for one in FoldLog.of(store.recorded(conversation)).done if one.standing and one.id]
    last = sorted((one for one in standing if among is None or one.on(among)), key=lambda one: -one.order)
    return _say(store, conversation, last[: max(0, count)], "undo", at)


def redo(
    store: Store, conversation: str, count: int, at: float, among: Container[str] | None = None
) -> list[FoldingRecord]:
    """The foldings that were undone last stand again."""
    past = FoldLog.of(store.recorded(conversation))
    named = {one.id: one for one in past.done}
    undone = [named[name] for name in reversed(past.undone) if name in named]
    last = [one for one in undone if among is None or one.on(among)][: max(0, count)]
    for one in last:
        folds_of(store, one)  # a folding that cannot be opened any more is not said to stand
    return _say(store, conversation, last, "redo", at)


def touch(store: Store, conversation: str, past: FoldLog, at: float) -> None:
    """Records live as long as their conversation goes on: noted once a day, as for folds."""
    if past.at and past.at < at - DAY:
        store.record(conversation, json.dumps({"at": int(at), "seen": True}))


def pin(store: Store, conversation: str, what: Pin, at: float, *, on: bool = True) -> None:
    store.record(conversation, json.dumps({"at": int(at), "pin" if on else "unpin": list(what)}))
    store.keep([])  # so that whoever has this conversation open looks again


def _say(store: Store, conversation: str, changed: list[FoldingRecord], what: str, at: float) -> list[FoldingRecord]:
    """Written down first: who is stopped in between has said it, and sessions go by what is written down."""
    for done in changed:
        store.record(conversation, json.dumps({"at": int(at), what: done.id}))
    if changed:
        gone = _show(store, conversation, [place for done in changed if not done.apart for place in done.places])
        late = FoldLog.of(store.recorded(conversation)).showing() if gone else {}
        if again := [place for place in gone if place in late]:  # another folded there while we forgot
            _show(store, conversation, again)
    return changed


def _show(store: Store, conversation: str, places: Iterable[Place]) -> list[Place]:
    """Lets the folds stand that are to show in these places, and tells in which of them none is."""
    showing = FoldLog.of(store.recorded(conversation)).showing()
    opened: dict[str, dict[Place, Fold]] = {}
    kept: list[Fold] = []
    gone: list[Place] = []
    for place in dict.fromkeys(places):
        winner = showing.get(place)
        if winner is None:
            gone.append(place)
        elif not winner.apart:
            if winner.id not in opened:
                opened[winner.id] = folds_of(store, winner)
            kept.append(opened[winner.id][place])
    store.keep(kept)  # even if there is none: whoever has this conversation open looks again
    if gone:
        store.forget(map(_sketch, gone))
    return gone


def _sketch(place: Place) -> Fold:
    """Enough of a fold to forget it by."""
    key, slot = place
    return Stub(key, slot, "", "", "", "", 0, 0) if slot else Gist(key, "", "", "", "", 0, 0)


def _place(fold: dict[str, Any]) -> Place | None:
    key, slot = fold.get("key"), fold.get("slot")
    if not isinstance(key, str):
        return None
    return key, Slot(*slot) if isinstance(slot, list) and len(slot) == 3 else None


def objects(rows: Iterable[str]) -> Iterable[dict[str, Any]]:
    """Other programs may record for themselves."""
    for row in rows:
        try:
            found = json.loads(row)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def told(folds: Iterable[Fold], shown: tuple[list[str], list[str]]) -> str:
    """The original of a folding: its id is the ref of this."""
    rows = [msgspec.to_builtins(fold) for fold in folds]
    return json.dumps({"folds": rows, "shown": shown}, separators=(",", ":"))


def row_of(facts: dict[str, Any], name: str, folds: Iterable[Fold], at: float) -> str:
    """What is recorded of a folding: the folds made now, not all that stand, so that rows do not grow with them."""
    return json.dumps({"at": int(at), "id": name, **facts, "folds": [_fold_row(fold) for fold in folds]})


def _fold_row(fold: Fold) -> dict[str, Any]:
    row = {name: getattr(fold, name) for name in FIELDS}
    if isinstance(fold, Stub):
        return {**row, "slot": fold.slot}
    return {**row, "detail": fold.detail} if fold.detail else row


def all_foldings(store: Store) -> list[tuple[str, FoldingRecord]]:
    """Return every recorded folding with the key of its session, the oldest first."""
    found = [(name, done) for name in store.conversations() for done in FoldLog.of(store.recorded(name)).done]
    return sorted(found, key=lambda one: int(one[1].row["at"]))


def find_fold(store: Store, ref: str) -> tuple[dict[str, Any], int | None] | None:
    """Return the last fold with this ref and when it was made; the time is None for one without a record.

    None where the original is kept and no fold stands for it; `UnknownRef` where it is not kept either.
    """
    for _, done in reversed(all_foldings(store)):
        for row in done.row["folds"]:
            if row["ref"] == ref:
                return row, done.row["at"]
    for fold in store.standing(0):
        if fold.ref == ref:
            return _fold_row(fold), None
    store.about(ref)
    return None
