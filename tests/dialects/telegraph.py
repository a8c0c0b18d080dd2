"""A wire format that nothing in the package knows, as another package would bring it: one file, one class.

A body is `{"engine": …, "wire": [messages], "kit": [tools], "most": tokens}`. A message is from "office" (system),
"sender", "engine" or "clerk" (a tool result); a stream has one JSON object in each line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Result, Text, Tool, ToolUse
from yohaku.dialects.answer import Answer, StreamReader, Usage, line_events
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json, arguments_object, arguments_text, count_of, dump, objects, text_at
from yohaku.dialects.server_api import signature


class Telegraph(Dialect):
    name = "telegraph"
    entries = "wire"
    path = "/send/{model}"
    key_header = "x-stamp"
    names_model = False
    tools_field = "kit"
    stream_fields: ClassVar = {"piecewise": True}
    cut_off_stops = ("paper",)
    event_end = "\n"

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        for index, tool in enumerate(objects(body.get("kit"), "kit", "this")):
            builder.tools.append(Tool(str(tool.get("name")), dump(tool), ("kit", index)))

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        text = text_at(entry.get("text", ""), builder.where, "text")
        parts = (Text(text, at=(index, "text")),) if text else ()
        match entry.get("from"):
            case "office":
                builder.system += parts
            case "sender":
                for part in parts:
                    builder.prompt(part)
            case "engine":
                builder.reply()
                for part in parts:
                    builder.say(part)
                for number, call in enumerate(objects(entry.get("jobs"), builder.where, "jobs")):
                    builder.say(_call(call, (index, "jobs", number, "with")))
            case "clerk":
                builder.answer(text_at(entry.get("job"), builder.where, "job"), Result(parts, at=(index,)))
            case other:
                raise Malformed(f"nobody is called {other!r}", builder.where)

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        wire: list[Json] = [{"from": "office", "text": part.text} for part in history.system if isinstance(part, Text)]
        for turn in history.turns:
            wire += [self.user_entry(part.text) for part in turn.prompt if isinstance(part, Text)]
            for step in turn.steps:
                said = "".join(item.text for item in step.items if isinstance(item, Text))
                wire.append(self.model_entry(said) | ({"jobs": [_job(use) for use in step.uses]} if step.uses else {}))
                wire += [{"from": "clerk", "job": use.call.id, "text": use.result.text} for use in step.uses]
        kit = self.tool_definitions(signature(tool.definition) for tool in history.tools)
        return {"wire": wire, **({"kit": kit} if kit else {})}

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"from": "sender", "text": text}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"from": "engine", "text": text}

    def text_block(self, text: str, instead: Json) -> Json:
        return text

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        return {"most": limit}

    def recognise(self, value: Json) -> bool:
        return isinstance(value, dict) and isinstance(value.get("wire"), list)

    def read_reply(self, body: dict[str, Json]) -> Answer:
        builder = HistoryBuilder()
        self.read_entry(builder, 0, {**body, "from": "engine"})
        cost = body.get("cost")
        usage = Usage(count_of(cost.get("in")), output=count_of(cost.get("out"))) if isinstance(cost, dict) else None
        return Answer(builder.open_reply(), usage, str(body.get("stop") or ""))

    def stream_reader(self) -> StreamReader:
        return _Lines(self)

    def events(self, stream: str) -> Iterable[dict[str, Json]]:
        return line_events(stream)


class _Lines(StreamReader):
    def __init__(self, dialect: Telegraph) -> None:
        super().__init__()
        self._dialect = dialect
        self._body: dict[str, Json] = {"text": "", "jobs": []}

    def add(self, event: dict[str, Json]) -> None:
        self.say(event.get("click"))
        self.think(event.get("hum"))
        self._body["text"] += event.get("click", "")
        self._body["jobs"] += [event["job"]] if "job" in event else []
        self._body |= {key: event[key] for key in ("stop", "cost") if key in event}

    def finish(self) -> Answer:
        return self._dialect.read_reply(self._body)


def _call(call: dict[str, Json], at: tuple[int | str, ...]) -> Call:
    return Call(str(call["id"]), str(call["name"]), arguments_text(call["with"]), at)


def _job(use: ToolUse) -> Json:
    return {"id": use.call.id, "name": use.call.name, "with": arguments_object(use.call.arguments)}
