"""Codex's rollout files: items of the Responses API, each in an envelope, and in the oldest files without."""

from __future__ import annotations

from yohaku.core.history_builder import HistoryBuilder
from yohaku.dialects.json_values import Json
from yohaku.dialects.openai_responses import OpenAIResponses
from yohaku.dialects.recordings.codex import ENVELOPES, NOT_SENT, plain_item, recognise
from yohaku.doctor.notes import Notes
from yohaku.doctor.salvage import Row
from yohaku.doctor.sessions import repair_rows


class CodexItems(OpenAIResponses):
    """Codex answers every kind of call with the output of a function, and wrote some in an object."""

    name = "codex"

    def plain(self, entry: Json) -> Json:
        return plain_item(entry)

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        super().read_entry(builder, index, plain_item(entry))


def knows(values: list[Json]) -> bool:
    return any(recognise([value]) for value in values)


def repair(rows: list[Row], notes: Notes) -> list[Row]:
    kept = [_in_envelope(row, notes) for row in rows if isinstance(row.value, dict) and not _is_hollow(row, notes)]
    plain = not any("payload" in row.value for row in kept)
    made = repair_rows(CodexItems(), kept, notes, _entry, lambda value, entry: _row(value, entry, plain))
    return made if recognise([made[0].value] if made else []) else _with_header(made, plain, notes)


def _with_header(rows: list[Row], plain: bool, notes: Notes) -> list[Row]:
    notes.add("header", where="")
    header = {"id": "repaired", "timestamp": "", "instructions": None}
    return [Row(0, header if plain else {"timestamp": "", "type": "session_meta", "payload": header}), *rows]


def _is_hollow(row: Row, notes: Notes) -> bool:
    """True for an envelope with nothing in it, which the reader would take for a reply."""
    if row.value.get("type") not in ENVELOPES or "payload" in row.value:
        return False
    notes.add("lost_line", where=row.where)
    return True


def _in_envelope(row: Row, notes: Notes) -> Row:
    match row.value:
        case {"payload": dict(item), "type": kind} if kind not in ENVELOPES and ("role" in item or "call_id" in item):
            notes.add("block", kind, "response_item", where=row.where)
            return Row(row.number, {**row.value, "type": "response_item"})
    return row


def _entry(value: Json) -> Json:
    match value:
        case {"type": "response_item", "payload": dict(item)}:
            return item if item.get("type") not in NOT_SENT else None
        case {"type": str(kind)} if "payload" not in value and kind not in ENVELOPES and kind not in NOT_SENT:
            return value
    return None


def _row(value: Json, entry: Json, plain: bool) -> Json:
    if value is None:
        return {"type": "message", **entry} if plain else {"timestamp": "", "type": "response_item", "payload": entry}
    if "payload" in value:
        return {**value, "type": "response_item", "payload": entry}
    return {"type": "message", **entry}
