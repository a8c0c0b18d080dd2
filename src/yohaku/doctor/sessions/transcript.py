"""Our own transcripts. Lines that broke off were never acknowledged, and are left out."""

from __future__ import annotations

from yohaku.core.errors import YohakuError
from yohaku.dialects import CLASSES, DIALECTS
from yohaku.dialects.detect import detect
from yohaku.dialects.recordings.transcript import NAME, recognise, transcribed
from yohaku.doctor.kit import Json, nearest
from yohaku.doctor.kits import kit_for
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairs import paired
from yohaku.doctor.salvage import Row
from yohaku.doctor.write import lines_of

KNOWN = ("entry", "beside", "back", "folds", "undone", "torn")


def knows(values: list[Json]) -> bool:
    return any(recognise([value]) or _is_row(value) for value in values if isinstance(value, dict))


def mended(rows: list[Row], notes: Notes) -> list[Row]:
    whole = [row for row in rows if row.raw and isinstance(row.value, dict)]
    header = next((row for row in whole if recognise([row.value])), None)
    rest = [row for row in whole if row is not header]
    if header and header is not whole[0]:
        notes.where = f"line {header.number}"
        notes.add("moved")
    header = _header(header, rest, notes)
    kept: list[Row] = []
    for row in rest:
        notes.where = f"line {row.number}"
        if _lawful(row.value):
            kept.append(row)
        else:
            notes.add("lost_line")
    return _mended(header, _with_lawful_backs(kept, notes), notes)


def eased(value: Json) -> Json:
    return None


def _header(header: Row | None, rest: list[Row], notes: Notes) -> Row:
    if header and header.value.get("dialect") in tuple(CLASSES):
        return header
    notes.where = ""
    notes.add("header")
    said = header.value if header else {"format": NAME}
    entries = [row.value["entry"] for row in rest if isinstance(row.value.get("entry"), dict)]
    try:
        otherwise = detect(entries)
    except YohakuError:
        otherwise = "openai_chat"
    return Row(0, {**said, "dialect": nearest(said.get("dialect"), CLASSES) or otherwise})


def _is_row(value: dict[str, Json]) -> bool:
    return len(value) == 1 and isinstance(value.get("entry"), dict)


def _lawful(value: dict[str, Json]) -> bool:
    """Whether a row can be read by itself."""
    if not any(key in value for key in KNOWN):
        return False
    try:
        header = {"format": NAME, "dialect": "openai_chat"}
        transcribed(lines_of([Row(0, header), Row(0, value if "back" not in value else {"back": 0})]))
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
                notes.where = f"line {row.number}"
                notes.add("lost_line")
                continue
            count = row.value["back"]
        kept.append(row)
    return kept


def _mended(header: Row, rows: list[Row], notes: Notes) -> list[Row]:
    """As it is; or what the transcript says now, mended, and what was taken back is in the original only."""
    before = len(notes.found)
    told = transcribed(lines_of([header, *rows]))
    numbers = dict(enumerate([header, *rows], 1))
    kit = kit_for(told.dialect.name)
    beside = kit.beside(told.beside, notes)
    entries: list[Json] = []
    places: list[str] = []
    for number, entry in zip(told.lines, told.entries, strict=True):
        notes.where = f"line {numbers[number].number}"
        shaped = kit.mended(entry, notes)
        entries += shaped
        places += [notes.where] * len(shaped)
    written = paired(kit, entries, places, notes)
    body = kit.whole({**beside, told.dialect.entries: [entry for entry, _ in written]}, notes)
    if len(notes.found) == before:
        return [header, *rows]
    said = DIALECTS[told.dialect.name].entries_of(body)
    folds = [row for row in rows if "folds" in row.value or "undone" in row.value]
    beside = {key: value for key, value in body.items() if key != told.dialect.entries}
    return [
        header,
        *([Row(0, {"beside": beside})] if beside else []),
        *(Row(0, {"entry": entry}) for entry in said),
        *folds,
    ]
