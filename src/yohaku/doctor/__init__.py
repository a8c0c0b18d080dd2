"""Repairs broken session files and request bodies.

Laws: what is called repaired can be read, and says in every dialect what a provider takes; words are kept, if need be
as a text that says what they were; a file that needs nothing is not touched. Each change is noted.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.model import History, Text, ToolUse
from yohaku.dialects import DIALECTS, dialect_named
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import RAW, arguments_object
from yohaku.dialects.load import FORMATS, Request, load
from yohaku.doctor.kit import text_of
from yohaku.doctor.kits import kit_for
from yohaku.doctor.notes import Note, Notes
from yohaku.doctor.pairs import paired
from yohaku.doctor.salvage import Row, Salvaged, salvage
from yohaku.doctor.sessions import Session
from yohaku.doctor.write import encoded, lines_of

ROUNDS = 40
"""How often a file is looked at again; each round mends all it finds, and leaves out at most one row."""


@dataclass(frozen=True, slots=True)
class Repaired:
    data: bytes | None
    """None when there was nothing to repair."""
    notes: tuple[Note, ...] = ()


def repair(data: bytes) -> Repaired:
    """The file as it should have been; raises `Unreadable` when nothing in it can be saved."""
    try:
        return _repair(data)
    except RecursionError:
        raise Unreadable("this is nested too deeply to be read") from None


def _repair(data: bytes) -> Repaired:
    notes = Notes()
    salvaged = salvage(data, notes)
    if not notes.found and _is_sound_recording(data):
        return Repaired(None)
    written = _round(salvaged, notes)
    for _ in range(ROUNDS):
        before, unique = len(notes.found), notes.unique
        try:
            trouble = _trouble(written)
        except Unreadable as wrong:
            raise Unreadable(f"nothing in this can be saved: {wrong}") from None
        again = salvage(written, Notes())
        if trouble:
            written = _eased(again, trouble, notes)
        else:
            notes.unique = bool(notes.found)
            written = _round(again, notes)
            if len(notes.found) == before and notes.unique == unique:
                break
    else:
        raise Unreadable("this is too broken to be repaired")
    if not notes.found:
        return Repaired(None)
    return Repaired(gzip.compress(written, mtime=0) if salvaged.packed else written, tuple(notes.found))


def _round(salvaged: Salvaged, notes: Notes) -> bytes:
    """Everything that can be mended in one go."""
    rows = salvaged.rows
    if session := _session(rows):
        return lines_of(session.mended(rows, notes))
    value: Any = [row.value for row in rows] if salvaged.lines else rows[0].value
    if salvaged.lines:
        notes.where = ""
        notes.add("listed")
    mended = _body(value, notes)
    return rows[0].raw if mended is value and not salvaged.lines and rows[0].raw else encoded(mended)


def _session(rows: list[Row]) -> Session | None:
    values = [row.value for row in rows[:50]]
    for name in FORMATS:
        session = cast(Session, import_module(f"yohaku.doctor.sessions.{name}"))
        if session.knows(values):
            return session
    return None


def _body(value: Any, notes: Notes) -> Any:
    name = detect(value)
    dialect, kit = dialect_named(name), kit_for(name)
    body = kit.beside(value, notes) if isinstance(value, dict) else value
    if isinstance(body, dict) and isinstance(body.get(dialect.entries), dict):
        body = {**body, dialect.entries: [body[dialect.entries]]}
    old = dialect.entries_of(body)
    entries: list[Any] = []
    places: list[str] = []
    for place, entry in enumerate(old):
        notes.where = f"{dialect.entries}[{place}]"
        shaped = kit.mended(entry, notes)
        entries += shaped
        places += [notes.where] * len(shaped)
    written = [entry for entry, _ in paired(kit, entries, places, notes)]
    if not written:
        raise Unreadable("nothing was said in this")
    if len(written) != len(old) or any(new is not was for new, was in zip(written, old, strict=True)):
        body = dialect.with_entries(body, written)
    return kit.whole(body, notes) if isinstance(body, dict) else body


def _is_sound_recording(data: bytes) -> bool:
    try:
        loaded = load(data)
    except YohakuError:
        return False
    if isinstance(loaded, Request) or _unsound(loaded.history):
        return False
    steps = loaded.history.steps
    ids = [use.call.id for step in steps for use in step.uses]
    return len(set(ids)) == len(ids) and all(
        any(isinstance(item, Text | ToolUse) for item in step.items) for step in steps
    )


def _trouble(written: bytes) -> Malformed | None:
    """What keeps the reader from reading this; raises `Unreadable` when there is nothing to read."""
    try:
        loaded = load(written)
        if isinstance(loaded, Request):
            history = dialect_named(loaded.dialect).read(loaded.value).history()
        else:
            history = loaded.history
    except Malformed as wrong:
        return wrong
    if why := _unsound(history):
        raise Unreadable(why)
    return None


def _unsound(history: History) -> str:
    for use in (use for step in history.steps for use in step.uses):
        if not use.call.name or RAW in arguments_object(use.call.arguments or "{}"):
            return f"the arguments of {use.call.name or 'a call'} are no object"
    if not all(dialect.compose(history)[dialect.entries] for dialect in DIALECTS.values()):
        return "nothing was said in this"
    return ""


def _eased(salvaged: Salvaged, trouble: Malformed, notes: Notes) -> bytes:
    """Without the row or entry the reader refuses, or with its results as plain words."""
    rows = salvaged.rows
    place = re.match(r"(?:line |(\w+)\[)(\d+)", trouble.where)
    if place is None:
        raise Unreadable(f"{trouble}")
    notes.where = place[0] + ("]" if place[1] else "")
    session = _session(rows)
    if place[1] is None:
        target = next((row for row in rows if row.number == int(place[2])), None)
        if target is None or session is None or len(rows) < 2:
            raise Unreadable(f"{trouble}")
        made = session.eased(target.value)
        notes.add("left_out" if made is None else "unasked", why=trouble.what)
        changed = [row if row is not target else Row(row.number, made) for row in rows]
        return lines_of([row for row in changed if row.value is not None])
    value = rows[0].value
    entries = value if isinstance(value, list) else value.get(place[1], [])
    if not isinstance(entries, list) or not 0 <= int(place[2]) < len(entries):
        raise Unreadable(f"{trouble}")
    refused = entries[int(place[2])]
    if session:
        made = session.eased(refused) if isinstance(refused, dict) else None
    else:
        made = dialect_named(detect(value)).user_entry(text_of(refused))
    notes.add("left_out" if made is None else "unasked", why=trouble.what)
    left = [*entries[: int(place[2])], *([] if made is None else [made]), *entries[int(place[2]) + 1 :]]
    return encoded(left if isinstance(value, list) else {**value, place[1]: left})
