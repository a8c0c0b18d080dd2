"""Gemini CLI's saved chats and checkpoints. A call holds its own result, so each record is mended by itself."""

from __future__ import annotations

from itertools import count
from typing import Any

from yohaku.dialects.recordings.gemini_cli import recognise
from yohaku.doctor.kit import Ask, Json, name_of, nearest, object_of, text_of
from yohaku.doctor.kits.gemini import GeminiKit, orphan_parts, response_of
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairs import paired
from yohaku.doctor.salvage import Row

KINDS = ("user", "gemini", "info", "error", "warning")
LISTS = ("messages", "history", "clientHistory")
KIT = GeminiKit()


class CheckpointKit(GeminiKit):
    joined = False  # each content is read as a reply of its own


Used = dict[str, str]
"""The ids of calls, each with the record it stands in."""


def knows(values: list[Json]) -> bool:
    if recognise(values) or (len(values) == 1 and isinstance(values[0], list) and knows([None, *values[0]])):
        return True
    return len(values) > 1 and any(
        isinstance(value, dict) and value.get("type") == "gemini" and "id" in value for value in values
    )


def mended(rows: list[Row], notes: Notes) -> list[Row]:
    if len(rows) == 1:
        return [_whole(rows[0], notes)]
    kept = [row for row in rows if isinstance(row.value, dict)]
    used: Used = {}
    made = [_line(row, notes, used) for row in kept]
    if not recognise([row.value for row in made]):
        notes.where = ""
        notes.add("header")
        made.insert(0, Row(0, {"sessionId": "repaired", "projectHash": ""}))
    return made


def eased(value: Json) -> Json:
    """With its results as plain words: their calls are not there. Or else all of it as plain words."""
    if "parts" in value:  # one of a checkpoint's
        return {"role": "user", "parts": [{"text": text_of(value["parts"])}]}
    content = value.get("content")
    if not isinstance(content, list) or not any(isinstance(part, dict) and response_of(part) for part in content):
        words = text_of({key: value[key] for key in ("content", "toolCalls") if key in value})
        return None if value.get("type") not in KINDS[:2] else {**_bare(value), "content": [{"text": words}]}
    parts = [made for part in content for made in (orphan_parts(response_of(part)) if response_of(part) else [part])]
    return {**value, "content": parts}


def _bare(value: Json) -> dict[str, Json]:
    return {key: item for key, item in value.items() if key != "toolCalls"}


def _line(row: Row, notes: Notes, used: Used) -> Row:
    notes.where = f"line {row.number}"
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
    entries: list[Json] = []
    places: list[str] = []
    for place, content in enumerate(given if isinstance(given, list) else [given]):
        notes.where = f"{name}[{place}]"
        shaped = KIT.mended(content, notes)
        entries += shaped
        places += [notes.where] * len(shaped)
    return [entry for entry, _ in paired(CheckpointKit(), entries, places, notes)]


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
        parts = [new for part in old for new in ([part] if isinstance(part, str) else KIT.part(part, role, notes))]
        made["content"] = content if parts in (content, [content]) else parts
    if kind == "gemini" and record.get("toolCalls"):
        made["toolCalls"] = _calls(record["toolCalls"], notes, name or text_of(record.get("id")), used)
    return record if made == record else made


def _kind(record: dict[str, Json]) -> str:
    meant = nearest(record.get("type"), KINDS)
    return meant or ("gemini" if "toolCalls" in record else "user" if "content" in record else "")


def _calls(given: Json, notes: Notes, record: str, used: Used) -> list[Json]:
    """A record that is written again says the same calls again; another one with their ids does not."""
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    if calls != given:
        notes.add("shape", "toolCalls")
    made: list[Json] = []
    own: set[str] = set()
    for call in calls:
        name = name_of(call.get("name"), notes)
        call_id = text_of(call.get("id"))
        if not call_id or call_id in own or used.get(call_id, record) != record:
            new = next(new for n in count(2) if (new := f"{call_id or 'call'}_{n}") not in used)
            notes.add("same_id" if call_id else "no_id", call_id or name, new)
            call_id = new
        own.add(call_id)
        used[call_id] = record
        args = call.get("args") if call.get("args") is None else object_of(call["args"], notes, name)
        changed = {**call, "id": call_id, "name": name, **({"args": args} if "args" in call else {})}
        changed["result"] = _result(call.get("result"), Ask(call_id, name, 0), notes)
        made.append(call if changed == call else changed)
    return made


def _result(given: Json, ask: Ask, notes: Notes) -> Json:
    old = given if isinstance(given, list) else [] if given in (None, "") else [given]
    parts = [new for part in old for new in ([part] if isinstance(part, str) else KIT.part(part, "user", notes))]
    answers = [part for part in parts if isinstance(part, dict) and response_of(part)]
    if not parts:
        notes.add("no_result", ask.name)
        return [KIT.answer(ask)]
    own = [part for part in answers if response_of(part).get("id") in (None, ask.id)]
    if answers and not own:
        parts = [KIT.fitted(part, ask) if part is answers[0] else part for part in parts]
    parts = _one_answer([_named(part, ask) for part in parts], ask, notes)
    return given if parts in (given, [given]) else parts


def _one_answer(parts: list[Json], ask: Ask, notes: Notes) -> list[Json]:
    """A call has one answer: what further ones say is said by the first."""
    own = [part for part in parts if isinstance(part, dict) and response_of(part).get("id", "") in (None, ask.id)]
    if len(own) < 2:
        return parts
    notes.add("twice")
    texts = [text_of(response_of(part).get("response")) for part in own]
    first = own[0]
    if len(set(texts)) > 1:
        key = next(key for key in first if response_of({key: first[key]}))
        first = {**first, key: {**first[key], "response": {"output": "\n".join(dict.fromkeys(texts))}}}
    return [first if part is own[0] else part for part in parts if part is own[0] or not any(part is o for o in own)]


def _named(part: Json, ask: Ask) -> Json:
    if not isinstance(part, dict) or not response_of(part) or response_of(part)["name"]:
        return part
    return KIT.fitted(part, ask)
