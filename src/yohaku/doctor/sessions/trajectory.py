"""trajectory-v1: a header, then a row an entry, which is a message of OpenAI chat with its calls laid flat."""

from __future__ import annotations

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History
from yohaku.dialects.json_values import Json
from yohaku.dialects.openai_chat import OpenAIChat
from yohaku.dialects.recordings.trajectory import NAME, recognise
from yohaku.doctor.notes import Notes
from yohaku.doctor.reading import text_of
from yohaku.doctor.salvage import Row
from yohaku.doctor.sessions import repair_rows


class TrajectoryRows(OpenAIChat):
    name = "trajectory"

    def plain(self, entry: Json) -> Json:
        """The row as a message of OpenAI chat; None where the format wants another form."""
        content, calls = entry.get("content"), entry.get("tool_calls")
        if content is not None and not isinstance(content, str):
            return None
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            return entry
        nested = [{"id": call.get("id"), "type": "function", "function": call} for call in calls]
        rest = {key: value for key, value in entry.items() if key != "tool_calls"}
        return {**rest, "tool_calls": nested} if nested else rest

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        if entry["role"] in ("developer", "function"):
            raise Malformed(f"unknown role {entry['role']!r}", builder.where)
        super().read_entry(builder, index, self.plain(entry))

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        body = super().compose(history, model)
        return {**body, "messages": [_flat(message) for message in body["messages"]]}


def knows(values: list[Json]) -> bool:
    if any(recognise([value]) for value in values):
        return True
    calls = [call for value in values if isinstance(value, dict) for call in _calls(value)]
    return any(isinstance(call, dict) and "arguments" in call for call in calls)


def repair(rows: list[Row], notes: Notes) -> list[Row]:
    header = next((row for row in rows if recognise([row.value])), None)
    rest = [row for row in rows if isinstance(row.value, dict) and not recognise([row.value])]
    for row in rows:
        if row is not header and recognise([row.value]):
            notes.add("twice", where=row.where)
    if header is None:
        notes.add("header")
        header = Row(0, {"format": NAME})
    elif header is not rows[0]:
        notes.add("moved", where=header.where)
    return [header, *repair_rows(TrajectoryRows(), rest, notes, _entry, lambda value, entry: entry)]


def _calls(value: dict[str, Json]) -> list[Json]:
    calls = value.get("tool_calls")
    return calls if isinstance(calls, list) and "role" in value else []


def _entry(value: Json) -> Json:
    """None for a summary by another tool: what it replaced stands beside it."""
    return None if value.get("mark") == "compact_summary" else value


def _flat(message: dict[str, Json]) -> dict[str, Json]:
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part["text"] if part["type"] == "text" else text_of(part) for part in content)
    calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
    return {**message, "content": content, **({"tool_calls": calls} if calls else {})}
