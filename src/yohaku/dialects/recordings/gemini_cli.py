"""Gemini CLI's saved chats: one object with all messages, or its newer form of a line a message; and checkpoints.

Law: each tool call stands beside the words it came with and holds its own result, so calls and results are told from
there. Later lines of one message replace it; a rewind takes back what followed; a rewritten list is not said anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yohaku.core.errors import Malformed
from yohaku.dialects.json_values import Json, kind_of
from yohaku.dialects.recordings import Recording, Retelling
from yohaku.dialects.recordings.lines import decode, is_lines, rows

NAME = "gemini-cli"

COMMAND = re.compile(r"[/?][a-z-]*(\s|$)")
"""Typed at the prompt of the program, not sent to the model."""


def recognise(first: list[Json]) -> bool:
    match first:
        case [{"sessionId": str(), "projectHash": str()}, *_]:
            return True
        case [{"messages": list(messages)}]:
            return any(isinstance(message, dict) and message.get("type") == "gemini" for message in messages)
        case [{"clientHistory": [{"parts": list()}, *_]}] | [{"history": [{"parts": list()}, *_]}]:
            return True
    return False


def read(data: bytes) -> Recording:
    from yohaku.dialects.gemini import Gemini

    session = _Session(Retelling(Gemini(), unique_ids=False))
    for where, record in _from_lines(data) if is_lines(data) else _from_value(decode(data)):
        session.retelling.at(where)
        match record.get("type"):
            case "user":
                session.prompt(record)
            case "gemini":
                session.reply(record)
    return session.retelling.ended(NAME, session.model)


class _Session:
    def __init__(self, retelling: Retelling) -> None:
        self.retelling = retelling
        self.model = ""
        self.placed: set[str | None] = set()
        """Ids of calls whose results stood with them."""

    def prompt(self, record: dict[str, Json]) -> None:
        parts = _parts(record.get("content"), self.retelling.builder.where)
        answers = [part for part in parts if "functionResponse" in part]
        self._answer([part for part in answers if _id(part["functionResponse"]) not in self.placed])
        said = [part for part in parts if "functionResponse" not in part and not _blank(part)]
        if said and not COMMAND.match(str(said[0].get("text")).lstrip()):
            self.retelling.settle()
            self.retelling.entry({"role": "user", "parts": said})

    def reply(self, record: dict[str, Json]) -> None:
        where = self.retelling.builder.where
        said = [part for part in _parts(record.get("content"), where) if not _blank(part)]
        calls = _calls(record, where)
        held = [part["functionCall"] for part in said if "functionCall" in part]
        said += [_called(call) for call in calls if not any(_same(call, part) for part in held)]
        if all(part.get("thought") is True for part in said):
            return
        self.retelling.settle()
        self.retelling.entry({"role": "model", "parts": said})
        self._bill(record)
        answers: list[dict[str, Json]] = []
        for call in calls:
            found = _answers(call, where)
            self.placed |= {_id(call)} if found else set()
            answers += [part for part in found if part not in answers]
        self._answer(answers)

    def _answer(self, parts: list[dict[str, Json]]) -> None:
        if parts:
            self.retelling.entry({"role": "user", "parts": parts})

    def _bill(self, record: dict[str, Json]) -> None:
        model = record.get("model")
        self.model = model if isinstance(model, str) and model else self.model
        match record.get("tokens"):
            case {"input": int(prompt), "output": int(output), **rest}:
                thoughts = rest.get("thoughts")
                self.retelling.bill(prompt, output + (thoughts if isinstance(thoughts, int) else 0))


def _from_value(value: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    match value:
        case {"messages": list(records)}:
            for number, record in enumerate(records):
                if not isinstance(record, dict):
                    raise Malformed(f"this must be an object, not {kind_of(record)}", f"messages[{number}]")
                yield f"messages[{number}]", record
        case {"clientHistory": list(contents)} | {"history": list(contents)}:
            for number, content in enumerate(contents):
                if not isinstance(content, dict):
                    raise Malformed(f"this must be an object, not {kind_of(content)}", f"history[{number}]")
                by = "gemini" if content.get("role") == "model" else "user"
                yield f"history[{number}]", {"type": by, "content": content.get("parts")}


def _from_lines(data: bytes) -> Iterator[tuple[str, dict[str, Json]]]:
    records: dict[str, tuple[str, dict[str, Json]]] = {}
    for number, row in rows(data):
        match row:
            case {"$rewindTo": str(name)}:
                names = list(records)
                for later in names[names.index(name) if name in records else 0 :]:
                    del records[later]
            case {"id": str(name)}:
                records[name] = (f"line {number}", row)
            case {"$set": {"messages": list(messages)}} | {"messages": list(messages)} if not records:
                for _, record in _from_value({"messages": messages}):
                    records[str(record.get("id"))] = (f"line {number}", record)
    yield from records.values()


def _parts(content: Json, where: str) -> list[dict[str, Json]]:
    """Return the parts of a content: the SDK takes a text, a part, or a list of either."""
    found = content if isinstance(content, list) else [] if content is None else [content]
    parts = [{"text": part} if isinstance(part, str) else part for part in found]
    for part in parts:
        if not isinstance(part, dict):
            raise Malformed(f"a part of content must be an object, not {kind_of(part)}", where)
    return parts


def _calls(record: dict[str, Json], where: str) -> list[dict[str, Json]]:
    calls = record.get("toolCalls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Malformed("toolCalls must be a list of objects", where)
    return calls


def _answers(call: dict[str, Json], where: str) -> list[dict[str, Json]]:
    """Return the parts that answer this call; a result may hold those of its neighbours, too."""
    parts = _parts(call.get("result"), where)
    if parts and not any("functionResponse" in part for part in parts):
        words = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        media = [part for part in parts if "text" not in part]
        return [_named({"functionResponse": {"response": {"output": words}, "parts": media}}, call)]
    own = (None, _id(call))
    return [_named(part, call) for part in parts if _id(part.get("functionResponse")) in own]


def _named(part: dict[str, Json], call: dict[str, Json]) -> dict[str, Json]:
    response = part.get("functionResponse")
    if not isinstance(response, dict):
        return part
    return {**part, "functionResponse": {"id": call.get("id"), "name": call.get("name"), **response}}


def _called(call: dict[str, Json]) -> dict[str, Json]:
    return {"functionCall": {key: call.get(key) for key in ("id", "name", "args")}}


def _same(call: dict[str, Json], other: Json) -> bool:
    """Tell whether a recorded call is the one among the parts, where it may have no id."""
    if _id(other) is None and isinstance(other, dict):
        return (call.get("name"), call.get("args")) == (other.get("name"), other.get("args"))
    return _id(call) == _id(other)


def _id(call: Json) -> str | None:
    found = call.get("id") if isinstance(call, dict) else None
    return found if isinstance(found, str) else None


def _blank(part: dict[str, Json]) -> bool:
    text = part.get("text")
    return isinstance(text, str) and not text.strip() and len(part) == 1
