"""Our own transcripts. Lines that broke off were never acknowledged, and are left out."""

from __future__ import annotations

from yohaku.core.errors import YohakuError
from yohaku.dialects import BUILT_IN
from yohaku.dialects.detect import detect
from yohaku.dialects.json_values import Json
from yohaku.dialects.recordings.transcript import NAME, recognise, transcribed
from yohaku.doctor.bodies import apply_body_rules, repair_fields
from yohaku.doctor.notes import Notes
from yohaku.doctor.reading import nearest
from yohaku.doctor.rewrite import repair_entries
from yohaku.doctor.salvage import Row, encode_rows

KNOWN = ("entry", "beside", "back", "folds", "undone", "outputs", "torn")


def knows(values: list[Json]) -> bool:
    return any(recognise([value]) or _is_row(value) for value in values if isinstance(value, dict))


def repair(rows: list[Row], notes: Notes) -> list[Row]:
    whole = [row for row in rows if row.raw and isinstance(row.value, dict)]
    header = next((row for row in whole if recognise([row.value])), None)
    rest = [row for row in whole if row is not header]
    if header and header is not whole[0]:
        notes.add("moved", where=header.where)
    header = _header(header, rest, notes)
    kept: list[Row] = []
    for row in rest:
        notes.where = row.where
        if _lawful(row.value):
            kept.append(row)
        else:
            notes.add("lost_line")
    return _repair(header, _with_lawful_backs(kept, notes), notes)


def _header(header: Row | None, rest: list[Row], notes: Notes) -> Row:
    if header and header.value.get("dialect") in tuple(BUILT_IN):
        return header
    notes.add("header", where="")
    fields = header.value if header else {"format": NAME}
    entries = [row.value["entry"] for row in rest if isinstance(row.value.get("entry"), dict)]
    try:
        otherwise = detect(entries)
    except YohakuError:
        otherwise = "openai_chat"
    return Row(0, {**fields, "dialect": nearest(fields.get("dialect"), BUILT_IN) or otherwise})


def _is_row(value: dict[str, Json]) -> bool:
    return len(value) == 1 and isinstance(value.get("entry"), dict)


def _lawful(value: dict[str, Json]) -> bool:
    """True for a row that can be read by itself."""
    if not any(key in value for key in KNOWN):
        return False
    try:
        header = {"format": NAME, "dialect": "openai_chat"}
        transcribed(encode_rows([Row(0, header), Row(0, value if "back" not in value else {"back": 0})]))
    except YohakuError:
        return False
    return "back" not in value or (type(value["back"]) is int and value["back"] >= 0)


def _with_lawful_backs(rows: list[Row], notes: Notes) -> list[Row]:
    """One that goes back to more than there is, in a file that lost rows, goes back to all there is."""
    count = 0
    kept: list[Row] = []
    for row in rows:
        count += isinstance(row.value.get("entry"), dict)
        if "entry" not in row.value and "back" in row.value:
            if row.value["back"] > count:
                notes.add("lost_line", where=row.where)
                continue
            count = row.value["back"]
        kept.append(row)
    return kept


def _repair(header: Row, rows: list[Row], notes: Notes) -> list[Row]:
    """As it is; or what the transcript says now, repaired, and what was taken back is in the original only."""
    before = len(notes.found)
    now = transcribed(encode_rows([header, *rows]))
    numbers = dict(enumerate([header, *rows], 1))
    fields = repair_fields(now.dialect, now.beside, notes)
    places = [f"line {numbers[number].number}" for number in now.lines]
    written = repair_entries(now.dialect, list(now.entries), places, notes)
    body = apply_body_rules(now.dialect, {**fields, now.dialect.entries: [entry for entry, _ in written]}, notes)
    if len(notes.found) == before:
        return [header, *rows]
    entries = body.pop(now.dialect.entries)
    folds = [row for row in rows if any(name in row.value for name in ("folds", "undone", "outputs"))]
    return [
        header,
        *([Row(0, {"beside": body})] if body else []),
        *(Row(0, {"entry": entry}) for entry in entries),
        *folds,
    ]
