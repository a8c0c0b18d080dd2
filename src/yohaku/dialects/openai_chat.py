"""OpenAI chat completions, and the many servers that use them.

A reply is one message: its text, then its calls; results follow at once, one message each.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, ClassVar

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Opaque, Part, Path, Reply, Result, Step, Text, Tool, Turn
from yohaku.dialects.answer import Answer, StreamReader, Usage
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import (
    Json,
    arguments_object,
    count_of,
    dump,
    kind_of,
    media_from_url,
    media_url,
    object_or_empty,
    objects,
    text_at,
    unknown_role,
)
from yohaku.dialects.replies import openai_chat as replies
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter, RequestOptions
from yohaku.dialects.server_api import signature

EMPTY_FUNCTION = {"name": "", "arguments": ""}
"""Some servers fill every field they do not use with empty texts."""

TOOL_FIELDS = ("tool_calls", "function_call", "tool_call_id", "tool_name", "name")
THOUGHT_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
CACHE_FIELDS = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens")
"""Fields in which DeepSeek, Mistral and others report tokens read from the cache."""

REASONING_MODELS = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9])")
"""Models of OpenAI that take `max_completion_tokens` for `max_tokens`, and no `stop`."""


class OpenAIChat(Dialect):
    name = "openai_chat"
    entries = "messages"
    path = "/chat/completions"
    proxied_paths = ("/chat/completions",)
    reply_limit_paths = (("max_tokens",), ("max_completion_tokens",))
    count_path = "/chat/completions/input_tokens"
    stream_fields: ClassVar = {"stream": True, "stream_options": {"include_usage": True}}
    progress_fields: ClassVar = {"return_progress": True}
    cut_off_stops = ("length", "max_tokens", "model_length", "model_context_window_exceeded")

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        builder.forced = body.get("tool_choice") not in (None, "auto", "none")
        for index, tool in enumerate(objects(body.get("tools"), "tools", "this")):
            function = object_or_empty(tool.get("function")) or object_or_empty(tool.get("custom")) or tool
            builder.tools.append(Tool(str(function.get("name", "")), dump(tool), ("tools", index)))

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        match entry.get("role"):
            case "system" | "developer":
                self._system(builder, index, entry)
            case "user":
                for part in _read_content(entry.get("content"), (index, "content"), builder.where):
                    builder.prompt(part)
            case "assistant":
                self._assistant(builder, index, entry)
            case "tool":
                call_id = text_at(entry.get("tool_call_id"), builder.where, "tool_call_id")
                parts = _read_content(entry.get("content"), (index, "content"), builder.where)
                builder.answer(call_id, Result(parts, at=(index,)))
            case "function":
                open_ = builder.open_calls
                call_id = open_[0].id if open_ else str(entry.get("name"))
                parts = _read_content(entry.get("content"), (index, "content"), builder.where)
                builder.answer(call_id, Result(parts, at=(index,)))
            case role:
                raise unknown_role(role, builder.where)

    def _system(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        began = builder.began
        for part in _read_content(entry.get("content"), (index, "content"), builder.where):
            if not began:
                builder.system.append(part)
            else:
                builder.prompt(replace(part, by="system"))

    def _assistant(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        builder.reply()
        for field in THOUGHT_FIELDS:
            if entry.get(field):
                thought = entry[field]
                data = thought if isinstance(thought, str) else dump(thought)
                builder.say(Opaque("thought", data, at=(index, field)))
        for part in _read_content(entry.get("content"), (index, "content"), builder.where):
            builder.say(part)
        if isinstance(entry.get("audio"), dict) and entry["audio"].get("id"):
            builder.say(Opaque("audio_reply", dump(entry["audio"]), at=(index, "audio")))
        if isinstance(entry.get("refusal"), str) and entry["refusal"]:
            builder.say(Text(entry["refusal"], at=(index, "refusal")))
        for place, call in enumerate(objects(entry.get("tool_calls"), builder.where, "tool_calls")):
            builder.say(_read_call(call, (index, "tool_calls", place), builder.where))
        if entry.get("function_call") and entry["function_call"] != EMPTY_FUNCTION:
            call = {"id": f"function:{index}", "function": entry["function_call"]}
            builder.say(_read_call(call, (index,), builder.where, "function_call"))

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        messages: list[Json] = [_write_message("system", (part,)) for part in history.system]
        for turn in history.turns:
            messages += _write_prompt(turn)
            for step in turn.steps:
                messages += _write_step(step)
        body: dict[str, Json] = {"model": model} if model else {}
        body["messages"] = messages
        if history.tools:
            body["tools"] = [found for tool in history.tools if (found := convert_definition(tool))]
        return body

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"role": "user", "content": text}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"role": "assistant", "content": text}

    def text_block(self, text: str, instead: Json) -> Json:
        return {"type": "text", "text": text}

    def write_tools_as_text(self, entry: dict[str, Json], names: dict[str, str]) -> dict[str, Json]:
        return write_tools_as_text(self, entry, names)

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        return {"max_completion_tokens" if REASONING_MODELS.search(model) else "max_tokens": limit}

    def temperature_fields(self, temperature: float) -> dict[str, Json]:
        return {"temperature": temperature}

    def stop_fields(self, texts: tuple[str, ...], model: str) -> dict[str, Json]:
        return {} if REASONING_MODELS.search(model) else {"stop": list(texts)}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        held = {"name": name, "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": held}}

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        return {**body, "tool_choice": "none"}

    def read_reply(self, body: dict[str, Json]) -> Answer:
        choice = (objects(body.get("choices"), "choices", "this") or [{}])[0]
        message = object_or_empty(choice.get("message"))
        return Answer(_read_message(message), usage_of(body), str(choice.get("finish_reason") or ""))

    def read_progress(self, event: Json) -> tuple[int, int, int, float] | None:
        told = event.get("prompt_progress") if isinstance(event, dict) else None
        if not isinstance(told, dict):
            return None
        values = [told.get(name) for name in ("processed", "total", "cache", "time_ms")]
        numbers = [float(value) for value in values if isinstance(value, int | float) and value >= 0]
        if len(numbers) < len(values):
            return None
        done, total, cached, milliseconds = numbers
        return int(done), int(total), int(cached), milliseconds / 1000

    def read_options(self, body: dict[str, Json], path: str) -> RequestOptions:
        return replies.read_options(body)

    def reply_writer(self, facts: ReplyFacts) -> ReplyWriter:
        return replies.ChatReplyWriter(facts)

    def stream_reader(self) -> StreamReader:
        return _Stream()


class _Stream(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Json] = {"tool_calls": []}
        self._usage: Usage | None = None
        self._stop = ""

    def add(self, event: dict[str, Json]) -> None:
        self._usage = usage_of(event) or self._usage
        for choice in objects(event.get("choices"), "choices", "this")[:1]:
            self._stop = str(choice.get("finish_reason") or self._stop)
            delta = object_or_empty(choice.get("delta"))
            for field in ("content", "refusal"):
                self.say(delta.get(field))
            for field in THOUGHT_FIELDS[:2]:
                self.think(delta.get(field))
            _add_delta(self._message, delta)

    def finish(self) -> Answer:
        return Answer(_read_message(self._message), self._usage, self._stop)


def write_tools_as_text(dialect: Dialect, entry: dict[str, Json], names: dict[str, str]) -> dict[str, Json]:
    """Write calls as models without tools are asked to write them, and results under the name of their call."""
    rest = {name: value for name, value in entry.items() if name not in TOOL_FIELDS}
    if calls := objects(entry.get("tool_calls"), "tool_calls", "this"):
        functions = [object_or_empty(call.get("function")) for call in calls]
        names |= {str(call.get("id")): str(each.get("name")) for call, each in zip(calls, functions, strict=True)}
        written = "\n".join(map(_write_call_as_text, functions))
        return dialect.join_entries({**rest, "content": rest.get("content") or ""}, dialect.model_entry(written))
    if dialect.speaker(entry) != "tool":
        return entry
    name = entry.get("tool_name") or entry.get("name") or names.get(str(entry.get("tool_call_id"))) or "the tool"
    return dialect.begin_with(f"Result of {name}:\n", {**rest, "role": "user"})


def _write_call_as_text(function: dict[str, Json]) -> str:
    arguments = function.get("arguments")
    asked = arguments_object(arguments) if isinstance(arguments, str) else arguments
    return f"```json\n{dump({'name': function.get('name'), 'arguments': asked})}\n```"


def usage_of(body: dict[str, Json]) -> Usage | None:
    usage = body.get("usage") or object_or_empty(body.get("x_groq")).get("usage")
    if not isinstance(usage, dict):
        return None
    details = object_or_empty(usage.get("prompt_tokens_details"))
    read = count_of(details.get("cached_tokens")) or max(count_of(usage.get(name)) for name in CACHE_FIELDS)
    written = count_of(details.get("cache_write_tokens")) or count_of(usage.get("cache_creation_input_tokens"))
    return Usage.split(count_of(usage.get("prompt_tokens")), read, written, count_of(usage.get("completion_tokens")))


def convert_definition(tool: Tool) -> Json:
    """Write a tool's definition; None for a tool that only another provider can run."""
    said = signature(tool.definition)
    if said.hosted:
        return None
    own = json.loads(tool.definition)
    if any(isinstance(own.get(key), dict) for key in ("function", "custom")):
        return own
    described = {"description": said.description} if said.description else {}
    return {"type": "function", "function": {"name": said.name, **described, "parameters": said.parameters}}


def _read_content(content: Json, at: Path, where: str) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content, at=at),)
    if not isinstance(content, list):
        raise Malformed(f"content must be a text or a list, not {kind_of(content)}", where)
    return tuple(part for index, block in enumerate(content) for part in _read_block(block, (*at, index), where))


def _read_block(block: Json, at: Path, where: str) -> tuple[Part, ...]:
    if isinstance(block, str):
        return (Text(block, at=at),) if block else ()
    if not isinstance(block, dict):
        raise Malformed(f"a part of content must be an object, not {kind_of(block)}", where)
    match block:
        case {"type": "text", "text": str(text)}:
            return (Text(text, at=(*at, "text")),) if text else ()
        case {"type": "refusal", "refusal": str(text)}:
            return (Text(text, at=(*at, "refusal")),)
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return (media_from_url("image", url, at, str(rest.get("detail") or "")),)
        case {"type": "input_audio", "input_audio": {"data": str(data), **rest}}:
            return (Opaque("audio", data, "base64", f"audio/{rest.get('format', '')}", at=at),)
        case {"type": "file", "file": {"file_data": str(url)}}:
            return (media_from_url("document", url, at),)
        case {"type": "document_url", "document_url": str(url)}:
            return (media_from_url("document", url, at),)
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return (media_from_url("video", url, at),)
    return (Opaque(str(block.get("type", "unknown")), dump(block), at=at),)


def _read_call(call: Json, at: Path, where: str, field: str = "function") -> Call:
    if not isinstance(call, dict):
        raise Malformed(f"a tool call must be an object, not {kind_of(call)}", where)
    call_id = text_at(call.get("id"), where, "the id of a tool call")
    if isinstance(custom := call.get("custom"), dict) and (custom.get("name") or "function" not in call):
        name = text_at(custom.get("name"), where, "the name of a tool call")
        said = text_at(custom.get("input"), where, "input")
        return Call(call_id, name, dump({"input": said}), (*at, "custom"))
    function = call.get("function")
    if not isinstance(function, dict):
        raise Malformed("a tool call needs a function", where)
    name = text_at(function.get("name"), where, "the name of a tool call")
    arguments = text_at(function.get("arguments", ""), where, "arguments")
    return Call(call_id, name, arguments, (*at, field, "arguments"))


def _write_message(role: str, parts: tuple[Part, ...]) -> Json:
    texts = [part.text for part in parts if isinstance(part, Text)]
    plain = len(texts) == len(parts) and len(parts) <= 1
    return {"role": role, "content": "".join(texts) if plain else [block_of(part) for part in parts]}


def block_of(part: Part) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.kind == "image":
        detail = {"detail": part.hint} if part.hint else {}
        return {"type": "image_url", "image_url": {"url": media_url(part), **detail}}
    if part.kind == "audio" and part.form == "base64":
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.mime.partition("/")[2]}}
    if part.kind == "document":
        return {"type": "file", "file": {"file_data": media_url(part)}}
    if part.kind == "video":
        return {"type": "video_url", "video_url": {"url": media_url(part)}}
    return {"type": "text", "text": f"[{part.kind}]"}


def _write_prompt(turn: Turn) -> list[Json]:
    """Write one message for each text; where anything else stands beside them, one message of several parts."""
    if all(isinstance(part, Text) for part in turn.prompt):
        return [_write_message((part.by if isinstance(part, Text) else "") or "user", (part,)) for part in turn.prompt]
    return [_write_message("user", turn.prompt)]


def _write_step(step: Step) -> list[Json]:
    parts = tuple(item for item in step.items if isinstance(item, Text))
    message: dict[str, Json] = _write_message("assistant", parts) if parts else {"role": "assistant", "content": None}
    if step.uses:
        message["tool_calls"] = [
            {
                "id": use.call.id,
                "type": "function",
                "function": {"name": use.call.name, "arguments": use.call.arguments},
            }
            for use in step.uses
        ]
    results: list[Json] = []
    for use in step.uses:
        content = _write_message("tool", use.result.parts)["content"]
        results.append({"role": "tool", "tool_call_id": use.call.id, "content": content})
    return [message, *results]


def _read_message(message: dict[str, Json]) -> Reply:
    builder = HistoryBuilder()
    OpenAIChat()._assistant(builder, 0, message)
    return builder.open_reply()


def _add_delta(message: dict[str, Any], delta: dict[str, Json]) -> None:
    for field in ("content", "refusal", *THOUGHT_FIELDS[:2]):
        if isinstance(delta.get(field), str):
            message[field] = (message.get(field) or "") + delta[field]
    calls = message["tool_calls"]
    for piece in objects(delta.get("tool_calls"), "delta", "tool_calls"):
        call_id, place = piece.get("id"), piece.get("index")
        call = next((call for call in reversed(calls) if place is None or call["index"] == place), None)
        # Some servers count no index, or count 0 each time; a new id is a new call all the same.
        if call is None or (call_id and call["id"] and call_id != call["id"]):
            call = {"index": place, "id": "", "function": {"name": "", "arguments": ""}}
            calls.append(call)
        call["id"] = call_id or call["id"]
        function = object_or_empty(piece.get("function"))
        for field in ("name", "arguments"):
            call["function"][field] += function[field] if isinstance(function.get(field), str) else ""
