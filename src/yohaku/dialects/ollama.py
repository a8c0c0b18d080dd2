"""Ollama's own API, /api/chat and /api/generate.

A body of /api/generate, with a `prompt` in place of messages, is a conversation of one message.
Ids are optional: a result without one answers the first open call of its name. Images stand beside the text, in a
list that takes nothing else, so the stub of a folded image stands in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import ClassVar

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Opaque, Part, Reply, Result, Step, Text, Tool, ToolUse
from yohaku.core.view import View
from yohaku.dialects.answer import Answer, StreamReader, Usage, line_events
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import (
    Json,
    arguments_object,
    arguments_text,
    count_of,
    dump,
    kind_of,
    object_or_empty,
    objects,
    text_at,
    text_or_empty,
    unknown_role,
)
from yohaku.dialects.openai_chat import convert_definition, write_tools_as_text
from yohaku.dialects.replies.writer import RequestOptions
from yohaku.dialects.server_api import signature

IMAGE_STARTS = {
    "iVBORw": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "Qk": "image/bmp",
}
"""First characters of each kind of image in base64."""


class Ollama(Dialect):
    name = "ollama"
    entries = "messages"
    event_end = "\n"
    path = "/api/chat"
    greeting = "Ollama is running"
    proxied_paths = ("/api/chat", "/api/generate")
    state_fields = ("context",)
    reply_limit_paths = (("options", "num_predict"),)
    loaded_models_path = "/api/ps"
    stream_fields: ClassVar = {"stream": True, "truncate": False, "shift": False, "keep_alive": "30m"}
    """Refuse what is too long instead of dropping the oldest, and keep the model loaded between steps."""
    whole_fields: ClassVar = {"stream": False}
    cut_off_stops = ("length",)
    takes_schema = True
    reports_cached_tokens = False
    drops_silently = True

    def entries_of(self, body: Json) -> list[Json]:
        return _write_prompt_entries(body) if _is_prompt(body) else super().entries_of(body)

    def with_entries(self, body: Json, entries: list[Json]) -> Json:
        if not _is_prompt(body):
            return super().with_entries(body, entries)
        said = {by: [entry for entry in entries if (entry["role"] == "system") == (by == "system")] for by in _SPOKEN}
        texts = {field: "\n\n".join(entry["content"] for entry in said[field]) for field in _SPOKEN}
        images = [image for entry in entries for image in entry.get("images", ())]
        rest = {name: value for name, value in body.items() if name not in (*_SPOKEN, "images")}
        return {
            **rest,
            **{name: text for name, text in texts.items() if text},
            **({"images": images} if images else {}),
        }

    def lets_model_choose(self, body: Json) -> bool:
        return not _is_prompt(body)

    def asked_window(self, body: Json) -> int | None:
        asked = object_or_empty(object_or_empty(body).get("options")).get("num_ctx")
        return asked if type(asked) is int and asked > 0 else None

    def with_window(self, body: Json, window: int) -> Json:
        """Set `num_ctx`, without which a server takes its own default, and have it refuse what is too long."""
        options = body.get("options") or {}
        if not isinstance(options, dict) or (options.get("num_ctx") == window and "truncate" in body):
            return body
        return {"truncate": False, "shift": False, **body, "options": {**options, "num_ctx": window}}

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        for index, tool in enumerate(objects(body.get("tools"), "tools", "this")):
            function = object_or_empty(tool.get("function")) or tool
            builder.tools.append(Tool(str(function.get("name", "")), dump(tool), ("tools", index)))

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        parts = _read_parts(index, entry, builder.where)
        match entry.get("role"):
            case "system" if not builder.began:
                builder.system += parts
            case "system":
                for part in parts:
                    builder.prompt(replace(part, by="system"))
            case "user":
                for part in parts:
                    builder.prompt(part)
            case "assistant":
                builder.reply()
                for item in _read_reply(index, entry, parts, builder.where):
                    builder.say(item)
            case "tool":
                builder.answer(_find_call_id(builder, entry), Result(parts, at=(index,)))
            case role:
                raise unknown_role(role, builder.where)

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        messages = _write_messages("system", history.system)
        for turn in history.turns:
            messages += _write_messages("user", turn.prompt)
            for step in turn.steps:
                messages += _write_step(step)
        body: dict[str, Json] = {"model": model} if model else {}
        body["messages"] = messages
        if history.tools:
            body["tools"] = [found for tool in history.tools if (found := _write_definition(tool))]
        return body

    def option_fields(self, options: RequestOptions) -> dict[str, Json]:
        given: dict[str, Json] = {"num_predict": options.limit, "temperature": options.temperature}
        given |= {"top_p": options.top_p, "seed": options.seed, "stop": list(options.stop) or None}
        fields: dict[str, Json] = {"stream": options.stream, "truncate": False, "shift": False}
        fields["options"] = {name: value for name, value in given.items() if value is not None}
        if options.schema is not None:
            fields["format"] = options.schema or "json"
        if options.effort:
            fields["think"] = False if options.effort == "none" else options.effort
        return fields

    def without_refused(self, body: dict[str, Json], refusal: str) -> dict[str, Json] | None:
        if "think" not in body or "does not support thinking" not in refusal:
            return None
        return {name: value for name, value in body.items() if name != "think"}

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"role": "user", "content": text}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"role": "assistant", "content": text}

    def text_block(self, text: str, instead: Json) -> Json:
        return {"stub": text}

    def write_tools_as_text(self, entry: dict[str, Json], names: dict[str, str]) -> dict[str, Json]:
        return write_tools_as_text(self, entry, names)

    def write(self, body: Json, view: View) -> Json:
        written = super().write(body, view)
        if written is body:
            return body
        return self.with_entries(written, [_move_stubs(entry) for entry in self.entries_of(written)])

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        return {"options": {"num_predict": limit}}

    def window_fields(self, window: int) -> dict[str, Json]:
        return {"options": {"num_ctx": window}} if window else {}

    def temperature_fields(self, temperature: float) -> dict[str, Json]:
        return {"options": {"temperature": temperature}}

    def error_body(self, message: str, status: int) -> Json:
        return {"error": message}

    def too_long_body(self, message: str, needs: int, limit: int) -> Json:
        return {"error": f"prompt too long; exceeded max context length by {max(0, needs - limit)} tokens ({message})"}

    def stop_fields(self, texts: tuple[str, ...], model: str) -> dict[str, Json]:
        return {"options": {"stop": list(texts)}}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        return {"format": schema}

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}

    def read_loaded_window(self, reply: Json, model: str) -> int | None:
        models = reply.get("models") if isinstance(reply, dict) else None
        for row in models if isinstance(models, list) else ():
            names = (row.get("name"), row.get("model")) if isinstance(row, dict) else ()
            if model in names or f"{model}:latest" in names:
                length = row.get("context_length")
                return length if type(length) is int and length > 0 else None
        return None

    def read_reply(self, body: dict[str, Json]) -> Answer:
        message = {**object_or_empty(body.get("message")), "role": "assistant"}
        parts = _read_parts(0, message, "message")
        said = tuple(_read_reply(0, message, parts, "message", str(body.get("created_at") or "")))
        return Answer(Reply(said), usage_of(body), str(body.get("done_reason") or ""))

    def stream_reader(self) -> StreamReader:
        return _Stream(self)

    def closes(self, event: Json) -> bool:
        return bool(event.get("done"))

    def events(self, stream: str) -> Iterable[dict[str, Json]]:
        return line_events(stream)


class _Stream(StreamReader):
    def __init__(self, dialect: Ollama) -> None:
        super().__init__()
        self._dialect = dialect
        self._whole: dict[str, Json] = {}
        self._message: dict[str, Json] = {"content": "", "thinking": "", "tool_calls": []}

    def add(self, event: dict[str, Json]) -> None:
        self._whole |= event
        delta = object_or_empty(event.get("message"))
        self.say(delta.get("content"))
        self.think(delta.get("thinking"))
        for field in ("content", "thinking"):
            self._message[field] += text_or_empty(delta.get(field))
        self._message["tool_calls"] += objects(delta.get("tool_calls"), "message", "tool_calls")

    def finish(self) -> Answer:
        return self._dialect.read_reply({**self._whole, "message": self._message})


_SPOKEN = ("system", "prompt")
"""Fields of /api/generate that hold text."""


def _is_prompt(body: Json) -> bool:
    """Tell whether a body is one of /api/generate that asks for an answer; without a prompt it loads the model."""
    return isinstance(body, dict) and "messages" not in body and bool(body.get("prompt")) and not body.get("raw")


def _write_prompt_entries(body: dict[str, Json]) -> list[Json]:
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    images = {"images": body["images"]} if body.get("images") else {}
    return [*system, {"role": "user", "content": body["prompt"], **images}]


def usage_of(body: dict[str, Json]) -> Usage | None:
    """Read the tokens that were evaluated; a prompt found whole in the server's cache is not counted."""
    if "prompt_eval_count" not in body and "eval_count" not in body:
        return None
    return Usage(input=count_of(body.get("prompt_eval_count")), output=count_of(body.get("eval_count")))


def _read_parts(index: int, entry: dict[str, Json], where: str) -> tuple[Part, ...]:
    content, images = entry.get("content"), entry.get("images")
    if images is not None and not (isinstance(images, list) and all(isinstance(image, str) for image in images)):
        raise Malformed("images must be a list of texts in base64", where)
    text = text_at("" if content is None else content, where, "content")
    seen = (
        Opaque("image", image, "base64", _mime(image), at=(index, "images", number))
        for number, image in enumerate(images or ())
    )
    return (*([Text(text, at=(index, "content"))] if text else []), *seen)


def _read_reply(
    index: int, entry: dict[str, Json], parts: tuple[Part, ...], where: str, when: str = ""
) -> list[Part | Call]:
    thoughts: list[Part | Call] = []
    if entry.get("thinking"):
        thoughts.append(Opaque("thought", text_at(entry["thinking"], where, "thinking"), at=(index, "thinking")))
    calls = objects(entry.get("tool_calls"), where, "tool_calls")
    return [*thoughts, *parts, *(_read_call(call, index, number, where, when) for number, call in enumerate(calls))]


def _read_call(call: dict[str, Json], index: int, number: int, where: str, when: str) -> Call:
    function = call.get("function")
    if not isinstance(function, dict):
        raise Malformed("a tool call needs a function", where)
    name = text_at(function.get("name"), where, "the name of a tool call")
    arguments = function.get("arguments", {})
    if not isinstance(arguments, dict | str):
        raise Malformed(f"arguments must be an object, not {kind_of(arguments)}", where)
    said = arguments if isinstance(arguments, str) else arguments_text(arguments)
    call_id = text_at(call.get("id") or _make_id(index, number, when, name + said), where, "the id of a tool call")
    return Call(call_id, name, said, (index, "tool_calls", number, "function", "arguments"))


def _make_id(index: int, number: int, when: str, said: str) -> str:
    """Make an id: from the place in a conversation; in a reply also from its time, to differ from other replies."""
    if not when:
        return f"call:{index}:{number}"
    return f"call_{blake2b(f'{when}:{number}:{said}'.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _find_call_id(builder: HistoryBuilder, entry: dict[str, Json]) -> str:
    if entry.get("tool_call_id"):
        return text_at(entry["tool_call_id"], builder.where, "tool_call_id")
    name = entry.get("tool_name") or entry.get("name") or ""
    calls = builder.open_calls
    named = [call.id for call in calls if call.name == name] or [call.id for call in calls]
    return named[0] if named else str(name)


def _mime(image: str) -> str:
    return next((mime for magic, mime in IMAGE_STARTS.items() if image.startswith(magic)), "")


def _move_stubs(entry: Json) -> Json:
    """Move the stubs of folded images from the list of images into the text."""
    images = entry.get("images") or ()
    stubs = [image["stub"] for image in images if isinstance(image, dict)]
    if not stubs:
        return entry
    kept = [image for image in images if isinstance(image, str)]
    rest = {key: value for key, value in entry.items() if key != "images"}
    rest["content"] = "\n".join(filter(None, [entry.get("content"), *stubs]))
    return {**rest, "images": kept} if kept else rest


def _write_messages(role: str, parts: tuple[Part, ...]) -> list[dict[str, Json]]:
    """Write one message for each text, with the images that follow it."""
    messages: list[dict[str, Json]] = []
    for part in parts:
        if not isinstance(part, Text) and part.kind == "image" and part.form == "base64":
            if not messages or messages[-1]["role"] != role:
                messages.append({"role": role, "content": ""})
            messages[-1].setdefault("images", []).append(part.data)
        else:
            by = (part.by if isinstance(part, Text) else "") or role
            messages.append({"role": by, "content": part.text if isinstance(part, Text) else f"[{part.kind}]"})
    return messages


def _write_step(step: Step) -> list[dict[str, Json]]:
    messages: list[dict[str, Json]] = []
    for item in step.items:
        match item:
            case Opaque("thought", data) if not _is_foreign(data):
                messages.append({"role": "assistant", "content": "", "thinking": data})
            case Text(text) if messages and not messages[-1]["content"]:
                messages[-1]["content"] = text
            case Text(text):
                messages.append({"role": "assistant", "content": text})
    if step.uses:
        if not messages:
            messages.append({"role": "assistant", "content": ""})
        messages[-1]["tool_calls"] = [_write_call(use.call) for use in step.uses]
    return [*messages, *(_write_result(use) for use in step.uses)]


def _is_foreign(thought: str) -> bool:
    """Tell whether a thought is a block of another provider, not plain text."""
    try:
        return isinstance(json.loads(thought), dict | list)
    except (ValueError, RecursionError):
        return False


def _write_definition(tool: Tool) -> Json:
    """Write a tool's definition; one that takes a text gets it as its only argument."""
    found = convert_definition(tool)
    if not found or "custom" not in (found.get("type"), object_or_empty(_decode(tool.definition)).get("type")):
        return found
    said = signature(tool.definition)
    described = {"description": said.description} if said.description else {}
    return {"type": "function", "function": {"name": said.name, **described, "parameters": TEXT_ARGUMENT}}


TEXT_ARGUMENT: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def _decode(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _write_call(call: Call) -> Json:
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments_object(call.arguments)}}


def _write_result(use: ToolUse) -> dict[str, Json]:
    found = _write_messages("tool", use.result.parts)
    message: dict[str, Json] = {"role": "tool", "tool_name": use.call.name, "tool_call_id": use.call.id}
    message["content"] = "\n".join(part["content"] for part in found if part["content"])
    images = [image for part in found for image in part.get("images", ())]
    return {**message, "images": images} if images else message
