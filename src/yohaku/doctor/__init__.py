"""Repairs broken session files and request bodies.

Laws: a repaired file can be read, and in every dialect a provider takes what it says; words are kept, if need be as a
text that tells what they were; a file that needs nothing is not touched. Each change is noted.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, cast

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.model import History, Text, ToolUse
from yohaku.dialects import DIALECTS, dialect_named
from yohaku.dialects.detect import detect
from yohaku.dialects.load import FORMATS, Request, load
from yohaku.doctor.bodies import repair_body
from yohaku.doctor.notes import Note, Notes
from yohaku.doctor.salvage import Row, Salvaged, encode, encode_rows, salvage
from yohaku.doctor.sessions import SessionRepair, claude_code

MAX_ROUNDS = 40
"""Each round repairs all it finds, and leaves out at most one row."""


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


def path_beside(path: Path) -> Path:
    """`session.jsonl.gz` becomes `session.repaired.jsonl.gz`, or the next such name that is free."""
    name, endings = path.name, ""
    for ending in (".gz", "".join(Path(path.name.removesuffix(".gz")).suffixes[-1:])):
        if ending and name.endswith(ending) and name != ending:
            name, endings = name.removesuffix(ending), ending + endings
    made = (path.with_name(f"{name}.repaired{'' if n == 1 else f'-{n}'}{endings}") for n in count(1))
    return next(each for each in made if not each.exists())


def _repair(data: bytes) -> Repaired:
    notes = Notes()
    salvaged = salvage(data, notes)
    if not notes.found and _is_sound_recording(data):
        return Repaired(None)
    written = _repair_all(salvaged, notes)
    for _ in range(MAX_ROUNDS):
        before, unique = len(notes.found), notes.unique
        try:
            refusal = _refusal(written)
        except Unreadable as wrong:
            raise Unreadable(f"nothing in this can be saved: {wrong}") from None
        again = salvage(written, Notes())
        if refusal and _session(again.rows) is not claude_code:
            raise Unreadable(f"{refusal}")
        if refusal:
            written = _without_refused(refusal, again.rows, notes)
        else:
            notes.unique = bool(notes.found)
            written = _repair_all(again, notes)
            if len(notes.found) == before and notes.unique == unique:
                break
    else:
        raise Unreadable("this is too broken to be repaired")
    if not notes.found:
        return Repaired(None)
    return Repaired(gzip.compress(written, mtime=0) if salvaged.packed else written, tuple(notes.found))


def _repair_all(salvaged: Salvaged, notes: Notes) -> bytes:
    """Everything that can be repaired in one go."""
    rows = salvaged.rows
    if session := _session(rows):
        return encode_rows(session.repair(rows, notes))
    value: Any = [row.value for row in rows] if salvaged.lines else rows[0].value
    if salvaged.lines:
        notes.add("listed", where="")
    repaired = repair_body(dialect_named(detect(value)), value, notes)
    return rows[0].raw if repaired is value and not salvaged.lines and rows[0].raw else encode(repaired)


def _session(rows: list[Row]) -> SessionRepair | None:
    values = [row.value for row in rows[:50]]
    for name in FORMATS:
        session = cast(SessionRepair, import_module(f"yohaku.doctor.sessions.{name}"))
        if session.knows(values):
            return session
    return None


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


def _refusal(written: bytes) -> Malformed | None:
    """The reason why the reader refuses this; raises `Unreadable` when there is nothing to read."""
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
    if not all(use.call.name for step in history.steps for use in step.uses):
        return "a call has no name"
    if not all(dialect.compose(history)[dialect.entries] for dialect in DIALECTS.values()):
        return "nothing was said in this"
    return ""


def _without_refused(refusal: Malformed, rows: list[Row], notes: Notes) -> bytes:
    """Without the row the reader refuses, or with its results as plain words."""
    place = re.match(r"line (\d+)", refusal.where)
    target = next((row for row in rows if place and row.number == int(place[1])), None)
    if target is None or len(rows) < 2:
        raise Unreadable(f"{refusal}")
    notes.where = target.where
    made = claude_code.reduce(target.value)
    notes.add("left_out" if made is None else "unasked", why=refusal.what)
    changed = [row if row is not target else Row(row.number, made) for row in rows]
    return encode_rows([row for row in changed if row.value is not None])
