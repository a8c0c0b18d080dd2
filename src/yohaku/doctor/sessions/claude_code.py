"""Claude Code's session files: a tree of rows, so none is moved; only their blocks and parents are repaired."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import NAMESPACE_OID, uuid5

from yohaku.core.model import Result, Text
from yohaku.dialects.anthropic import Anthropic
from yohaku.dialects.json_values import Json
from yohaku.dialects.recordings.claude_code import recognise
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairing import NO_RESULT, orphan_parts
from yohaku.doctor.reading import LenientReader, ReadItem, text_of
from yohaku.doctor.rewrite import compose_blocks, repair_block
from yohaku.doctor.salvage import Row

SPEAKERS = ("user", "assistant")
COPIED = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "timestamp")
DIALECT = Anthropic()


def knows(values: list[Json]) -> bool:
    return recognise(values) or any(
        isinstance(value, dict) and value.get("type") in SPEAKERS and isinstance(value.get("message"), dict)
        for value in values
    )


def repair(rows: list[Row], notes: Notes) -> list[Row]:
    kept = [row for row in rows if isinstance(row.value, dict)]
    kept = _without_circles(_with_own_uuids([_repair_row(row, notes) for row in kept], notes), notes)
    main = [row for row in kept if row.value.get("isSidechain") is not True] or kept
    read = {id(row) for row in main}
    calls = _Calls(notes)
    named = {id(row): calls.rename(row) for row in main}
    made: list[Row] = []
    for row in kept:
        if id(row) not in read:
            made.append(row)
            continue
        row = calls.with_lawful_results(named[id(row)])
        made += [row, *calls.missing(row)]
    return made


def reduce(value: Json) -> Json:
    """With its results as plain words: their calls are on another branch, or come later. Or else all of it."""
    content = _content(value)
    if not any(block.get("type") == "tool_result" for block in content if isinstance(block, dict)):
        return {**value, "message": {**value["message"], "content": text_of(content)}} if content else None
    words = [made for block in content for made in (_words(block) if isinstance(block, dict) else [])]
    return {**value, "message": {**value["message"], "content": words}}


def _words(block: dict[str, Json]) -> list[Json]:
    return _orphan_blocks(block) if block.get("type") == "tool_result" else [block]


def _orphan_blocks(block: dict[str, Json]) -> list[Json]:
    """The words of a result that answers no call."""
    reader = LenientReader(DIALECT, Notes())
    reader.read(1, {"role": "user", "content": [block]})
    parts = [
        part
        for item in reader.items
        for part in (orphan_parts(item.id, item.value) if isinstance(item.value, Result) else [item.value])
    ]
    return compose_blocks(DIALECT, [ReadItem("prompt", part, 0) for part in parts])


def _content(value: Json) -> list[Json]:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _repair_row(row: Row, notes: Notes) -> Row:
    """The row with a known role, and blocks that can be read."""
    value, message = row.value, row.value.get("message")
    if not isinstance(message, dict):
        return row
    notes.where = row.where
    before, role = len(notes.found), value.get("type")
    if role not in SPEAKERS and message.get("role") in SPEAKERS:
        notes.add("role", role, message["role"])
        role = message["role"]
    content = message.get("content")
    if role in SPEAKERS and content is not None and not isinstance(content, str):
        old = content if isinstance(content, list) else [content]
        made = [new for block in old for new in _block(block, role, notes)]
        content = content if made == content else made
    if role == value.get("type") and content is message.get("content"):
        return row
    if len(notes.found) == before:
        notes.add("shape", "content")
    return Row(row.number, {**value, "type": role, "message": {**message, "content": content}})


def _block(block: Json, role: str, notes: Notes) -> list[Json]:
    """Blank texts are passed over by the reader, and stay."""
    match block:
        case {"type": "text", "text": str()}:
            return [block]
        case {"type": "thinking", "thinking": str()}:
            return [block]  # sent back or not, the file keeps it
    return repair_block(DIALECT, role, block, notes)


def _with_own_uuids(rows: list[Row], notes: Notes) -> list[Row]:
    """A row written twice is left out; another row with the same uuid gets its own, and what follows hangs on it."""
    known: dict[str, Row] = {}
    newer: dict[str, str] = {}
    made: list[Row] = []
    for row in rows:
        notes.where = row.where
        value = row.value
        if isinstance(value.get("parentUuid"), str) and value["parentUuid"] in newer:
            value = {**value, "parentUuid": newer[value["parentUuid"]]}
        uuid = value.get("uuid")
        if isinstance(uuid, str) and uuid in known:
            if known[uuid].value == row.value:
                notes.add("twice")
                continue
            new = str(uuid5(NAMESPACE_OID, f"{uuid} {row.number}"))
            notes.add("same_id", uuid, new)
            value, newer[uuid] = {**value, "uuid": new, "parentUuid": newer.get(uuid, uuid)}, new
        elif isinstance(uuid, str):
            known[uuid] = row
        made.append(row if value is row.value else Row(row.number, value))
    return made


def _without_circles(rows: list[Row], notes: Notes) -> list[Row]:
    """A row that descends from itself hangs on the one before it in the file instead, and if need be on none."""
    place = {row.value["uuid"]: n for n, row in enumerate(rows) if isinstance(row.value.get("uuid"), str)}
    parents = [place.get(parent) if isinstance(parent := row.value.get("parentUuid"), str) else None for row in rows]
    made = list(rows)
    done: set[int] = set()
    for start in range(len(rows)):
        path: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = parents[at]
        if at is not None and at in path:
            circle = list(path)[list(path).index(at) :]
            first = min(circle)
            before = next((n for n in range(first - 1, -1, -1) if n in done), None)
            parents[first] = before
            notes.add("circle", where=f"line {rows[first].number}")
            uuid = rows[before].value.get("uuid") if before is not None else None
            made[first] = Row(rows[first].number, {**rows[first].value, "parentUuid": uuid})
        done |= path.keys()
    return made


class _Calls:
    """The calls of a file and their results, by ids that are used once."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.made: dict[str, tuple[str, Json]] = {}
        """Each id with the reply it stands in, and its block."""
        self.ids: dict[str, str] = {}
        """Under which id the newest call of an id goes."""
        self.answered: set[str] = set()

    def rename(self, row: Row) -> Row:
        """The row with ids of its own, results following their calls; to be used on all rows, in order."""
        value = row.value
        if value.get("type") not in SPEAKERS:
            return row
        self.notes.where = row.where
        reply = str(value["message"].get("id") or value.get("uuid")) if isinstance(value.get("message"), dict) else ""
        old = _content(value)
        made = [self._block(block, reply, row.number) for block in old]
        if all(new is was for new, was in zip(made, old, strict=True)):
            return row
        return Row(row.number, {**value, "message": {**value["message"], "content": made}})

    def _block(self, block: Json, reply: str, number: int) -> Json:
        match block:
            case {"type": "tool_use", "id": str(name)}:
                if name and self.made.get(name, (reply, block)) == (reply, block):
                    self.made[name] = (reply, block)
                    self.ids[name] = name
                    return block
                new = f"{name or 'call'}_{number}_{len(self.made)}"
                self.notes.add("same_id" if name else "no_id", name or block.get("name"), new)
                self.ids[name] = new
                self.made[new] = (reply, {**block, "id": new})
                return self.made[new][1]
            case {"type": "tool_result", "tool_use_id": str(name)}:
                now = self.ids.get(name, name)
                self.answered.add(now)
                return block if now == name else {**block, "tool_use_id": now}
        return block

    def with_lawful_results(self, row: Row) -> Row:
        """The row with each result that no call in the file asked for as plain words."""
        if row.value.get("type") != "user":
            return row
        made: list[Json] = []
        self.notes.where = row.where
        for block in _content(row.value):
            if isinstance(block, dict) and block.get("type") == "tool_result" and block["tool_use_id"] not in self.made:
                self.notes.add("orphan", block["tool_use_id"])
                made += _orphan_blocks(block)
            else:
                made.append(block)
        if made == _content(row.value):
            return row
        return Row(row.number, {**row.value, "message": {**row.value["message"], "content": made}})

    def missing(self, row: Row) -> Iterator[Row]:
        """A row for each call of this one that has no result."""
        if row.value.get("type") != "assistant":
            return
        for block in _content(row.value):
            if isinstance(block, dict) and block.get("type") == "tool_use" and block["id"] not in self.answered:
                self.answered.add(block["id"])
                self.notes.where = row.where
                self.notes.add("no_result", block["name"])
                uuid = row.value.get("uuid")
                lost = ReadItem("result", Result((Text(NO_RESULT),), error=True), 0, block["id"], block["name"])
                content = compose_blocks(DIALECT, [lost])
                beside = {key: row.value[key] for key in COPIED if key in row.value}
                own = str(uuid5(NAMESPACE_OID, f"{uuid} {block['id']}"))
                message = {"type": "user", "message": {"role": "user", "content": content}}
                yield Row(0, {"parentUuid": uuid, **beside, **message, "uuid": own})
