"""Gemini CLI's saved chats and checkpoints. A call holds its own result, so each record is repaired by itself."""

from __future__ import annotations

from itertools import count
from typing import Any

from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Opaque, Part, Result, Text
from yohaku.dialects.gemini import Gemini
from yohaku.dialects.json_values import Json
from yohaku.dialects.recordings.gemini_cli import recognise
from yohaku.doctor.lawful import is_lawful
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairing import NO_RESULT
from yohaku.doctor.reading import LenientReader, ReadItem, nearest, text_of
from yohaku.doctor.rewrite import compose_blocks, repair_block, repair_entries
from yohaku.doctor.salvage import Row

KINDS = ("user", "gemini", "info", "error", "warning")
LISTS = ("messages", "history", "clientHistory")


class Checkpoint(Gemini):
    """Contents of a checkpoint: each is read as a reply of its own."""

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        if entry.get("role") == "model":
            builder.reply()
        super().read_entry(builder, index, entry)


DIALECT = Checkpoint()

Used = dict[str, str]
"""The ids of calls, each with the record it stands in."""


def knows(values: list[Json]) -> bool:
    if recognise(values) or (len(values) == 1 and isinstance(values[0], list) and knows([None, *values[0]])):
        return True
    return len(values) > 1 and any(
        isinstance(value, dict) and value.get("type") == "gemini" and "id" in value for value in values
    )


def repair(rows: list[Row], notes: Notes) -> list[Row]:
    if len(rows) == 1:
        return [_whole(rows[0], notes)]
    kept = [row for row in rows if isinstance(row.value, dict)]
    used: Used = {}
    made = [_line(row, notes, used) for row in kept]
    if not recognise([row.value for row in made]):
        notes.add("header", where="")
        made.insert(0, Row(0, {"sessionId": "repaired", "projectHash": ""}))
    return made


def _read(role: str, parts: list[Json], notes: Notes) -> list[ReadItem]:
    reader = LenientReader(DIALECT, notes)
    reader.read(1, {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]})
    return reader.items


def _line(row: Row, notes: Notes, used: Used) -> Row:
    notes.where = row.where
    value = row.value
    match value:
        case {"$set": {"messages": messages}}:
            made: dict[str, Any] = {**value, "$set": {**value["$set"], "messages": _records(messages, notes, "")}}
        case {"messages": messages}:
            made = {**value, "messages": _records(messages, notes, "")}
        case {"type": _, "id": name}:
            made = {**_record(value, notes, used), "id": name if isinstance(name, str) else text_of(name)}
        case _:
            return row
    return row if made == value else Row(row.number, made)


def _whole(row: Row, notes: Notes) -> Row:
    value = row.value
    if isinstance(value, list):
        notes.add("header")
        value = {"sessionId": "repaired", "projectHash": "", "messages": value}
    name = next((name for name in LISTS if name in value), "messages")
    if name == "messages":
        made = _records(value.get("messages"), notes, "messages")
    else:
        made = _contents(value[name], notes, name)
    return row if value is row.value and made == value.get(name) else Row(row.number, {**value, name: made})


def _contents(given: Json, notes: Notes, name: str) -> list[Json]:
    """A checkpoint: contents as they are sent."""
    entries = given if isinstance(given, list) else [given]
    places = [f"{name}[{place}]" for place in range(len(entries))]
    return [entry for entry, _ in repair_entries(DIALECT, entries, places, notes)]


def _records(given: Json, notes: Notes, name: str) -> list[Json]:
    made: list[Json] = []
    used: Used = {}
    for place, record in enumerate(given if isinstance(given, list) else [given]):
        if name:
            notes.where = f"{name}[{place}]"
        if isinstance(record, dict) and record.get("id") and record in made:
            notes.add("twice")
        elif isinstance(record, dict):
            made.append(_record(record, notes, used, f"[{place}]"))
        else:
            notes.add("no_entry", text_of(record))
    return made


def _record(record: dict[str, Json], notes: Notes, used: Used, name: str = "") -> dict[str, Json]:
    made = dict(record)
    kind = record.get("type")
    if not (isinstance(kind, str) and kind in KINDS) and (meant := _kind(record)):
        notes.add("role", text_of(kind), meant)
        made["type"] = kind = meant
    if kind not in ("user", "gemini"):
        return record if made == record else made
    role = "model" if kind == "gemini" else "user"
    content = record.get("content")
    if content is not None and not isinstance(content, str):
        old = content if isinstance(content, list) else [content]
        parts = [new for part in old for new in _parts(part, role, notes)]
        made["content"] = content if parts in (content, [content]) else parts
    if kind == "gemini" and record.get("toolCalls"):
        made["toolCalls"] = _calls(record["toolCalls"], notes, name or text_of(record.get("id")), used)
    return record if made == record else made


def _kind(record: dict[str, Json]) -> str:
    meant = nearest(record.get("type"), KINDS)
    return meant or ("gemini" if "toolCalls" in record else "user" if "content" in record else "")


def _parts(part: Json, role: str, notes: Notes) -> list[Json]:
    return [part] if isinstance(part, str) else repair_block(DIALECT, role, part, notes)


def _calls(given: Json, notes: Notes, record: str, used: Used) -> list[Json]:
    """A record that is written again says the same calls again; another one with their ids does not."""
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    if calls != given:
        notes.add("shape", "toolCalls")
    made: list[Json] = []
    own: set[str] = set()
    for call in calls:
        (block,) = repair_block(DIALECT, "model", {"functionCall": {**_called(call), "id": "call"}}, notes)
        name, args = block["functionCall"]["name"], block["functionCall"]["args"]
        call_id = text_of(call.get("id"))
        if not call_id or call_id in own or used.get(call_id, record) != record:
            new = next(new for n in count(2) if (new := f"{call_id or 'call'}_{n}") not in used)
            notes.add("same_id" if call_id else "no_id", call_id or name, new)
            call_id = new
        own.add(call_id)
        used[call_id] = record
        changed = {**call, "id": call_id, "name": name, **({"args": args} if call.get("args") is not None else {})}
        changed["result"] = _result(call.get("result"), call_id, name, notes)
        made.append(call if changed == call else changed)
    return made


def _called(call: dict[str, Json]) -> dict[str, Json]:
    args = call.get("args")
    return {"name": call.get("name"), "args": {} if args is None else args}


def _result(given: Json, call_id: str, name: str, notes: Notes) -> Json:
    """A call has one answer: it holds what further ones, or plain texts, say."""
    parts = given if isinstance(given, list) else [] if given in (None, "") else [given]
    lawful = all(isinstance(part, str) or is_lawful("gemini", {"parts": [part]}) for part in parts)
    items = _read("user", parts, Notes()) if parts else []
    answers = [item for item in items if isinstance(item.value, Result)]
    own = [item for item in answers if item.id in (call_id, name)]
    if lawful and items and (len(own) == 1 or not answers):
        return given
    notes.add("twice" if len(own) > 1 else "shape" if items else "no_result", name)
    found = [part for item in own or answers or items for part in _values(item)] or [Text(NO_RESULT)]
    result = Result(tuple(dict.fromkeys(found)), error=not items)
    return compose_blocks(DIALECT, [ReadItem("result", result, 0, call_id, name)])


def _values(item: ReadItem) -> tuple[Part, ...]:
    if isinstance(item.value, Result):
        return item.value.parts
    return (item.value,) if isinstance(item.value, Text | Opaque) else ()
