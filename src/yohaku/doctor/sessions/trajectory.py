"""trajectory-v1: a header, then a row an entry."""

from __future__ import annotations

from yohaku.dialects.recordings.trajectory import NAME, recognise
from yohaku.doctor.kit import Json, text_of
from yohaku.doctor.kits.trajectory import TrajectoryKit
from yohaku.doctor.notes import Notes
from yohaku.doctor.salvage import Row
from yohaku.doctor.sessions import in_line


def knows(values: list[Json]) -> bool:
    if any(recognise([value]) for value in values):
        return True
    calls = [call for value in values if isinstance(value, dict) for call in _calls(value)]
    return any(isinstance(call, dict) and "arguments" in call for call in calls)


def mended(rows: list[Row], notes: Notes) -> list[Row]:
    header = next((row for row in rows if recognise([row.value])), None)
    rest = [row for row in rows if row is not header and isinstance(row.value, dict)]
    if header is None:
        notes.add("header")
        header = Row(0, {"format": NAME})
    elif header is not rows[0]:
        notes.where = f"line {header.number}"
        notes.add("moved")
    return [header, *in_line(TrajectoryKit(), rest, notes, _entry, _row)]


def eased(value: Json) -> Json:
    return {"role": "user", "content": text_of(value)}


def _calls(value: dict[str, Json]) -> list[Json]:
    calls = value.get("tool_calls")
    return calls if isinstance(calls, list) and "role" in value else []


def _entry(value: Json) -> Json:
    """A summary by another tool stands beside what it replaced, and is not said."""
    return None if value.get("mark") == "compact_summary" or recognise([value]) else value


def _row(value: Json, entry: Json) -> Json:
    return entry
