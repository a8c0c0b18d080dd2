"""OpenAI Responses, used by Codex.

A reply is a run of items: thoughts, messages, calls, what the server did itself; results are items like any other.
A thought or reference leads to the item after it, so the items of a step are never parted.
"""

from __future__ import annotations

import json
from dataclasses import replace

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Opaque, Part, Path, Reply, Result, Step, Text, Tool, ToolUse
from yohaku.dialects.answer import Answer, StreamReader, Usage
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import (
    RAW,
    Json,
    arguments_object,
    arguments_text,
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
from yohaku.dialects.replies import openai_responses as replies
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter, RequestOptions
from yohaku.dialects.role_rules import Speaker
from yohaku.dialects.server_api import signature

TYPED_CALLS = {
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
}
"""Calls whose form the server checks, with the field that holds the command."""

OUTPUT_ITEMS = (
    "function_call_output",
    "custom_tool_call_output",
    "tool_search_output",
    *(f"{kind}_output" for kind in TYPED_CALLS),
)

LASTING_ITEMS = ("additional_tools", "compaction", "compaction_summary")
"""Tools added on the way, and the server's own summaries: they stand nowhere else, so no cut removes them."""

KEPT_ITEMS = (
    "reasoning", "item_reference", "tool_search_call", "tool_search_output", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response", *LASTING_ITEMS,
)  # fmt: skip
"""Items that are kept whole."""

TOOL_TYPES = (
    "function", "custom", "namespace", "tool_search", "web_search", "web_search_preview", "file_search", "mcp",
    "code_interpreter", "image_generation", "local_shell", "shell", "apply_patch", "computer", "computer_use_preview",
)  # fmt: skip


MIN_LIMIT = 16
"""Tokens. The API refuses a smaller limit of a reply."""


class OpenAIResponses(Dialect):
    name = "openai_responses"
    entries = "input"
    path = "/responses"
    proxied_paths = ("/responses",)
    reply_limit_paths = (("max_output_tokens",),)
    state_fields = ("previous_response_id", "conversation")
    link_field = "previous_response_id"
    cut_off_stops = ("max_output_tokens", "max_tokens")
    images_in_results = True
    takes_prefill = False

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        builder.partial = bool(self.state_in(body))
        if body.get("instructions"):
            text = text_at(body["instructions"], "instructions", "this")
            builder.system.append(Text(text, at=("instructions",)))
        for index, tool in enumerate(objects(body.get("tools"), "tools", "this")):
            name = str(tool.get("name") or tool.get("type") or "")
            builder.tools.append(Tool(name, dump(tool), ("tools", index)))

    def entries_of(self, body: Json) -> list[Json]:
        found = body.get(self.entries) if isinstance(body, dict) else body
        if isinstance(found, str) and isinstance(body, dict):
            return [self.user_entry(found)]
        if not isinstance(found, list):
            raise Unreadable(f"{self.entries} must be a text or a list, not {kind_of(found)}")
        return found

    def with_entries(self, body: Json, entries: list[Json]) -> Json:
        if isinstance(body, dict) and isinstance(body.get(self.entries), str) and len(entries) == 1:
            return {**body, self.entries: entries[0]["content"]}
        return super().with_entries(body, entries)

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        match entry.get("type") or ("message" if "role" in entry else None):
            case "message":
                _read_message(builder, index, entry)
            case "function_call" | "custom_tool_call":
                builder.say(_read_call(index, entry, builder.where))
            case str(kind) if kind in TYPED_CALLS and _runs_here(kind, entry):
                builder.say(_read_typed_call(index, entry, kind, builder.where))
            case str(kind) if kind in OUTPUT_ITEMS and _runs_here(kind, entry):
                _read_output(builder, index, entry)
            case str(kind) if kind in LASTING_ITEMS:
                builder.system.append(_read_item(index, entry, kind))
            case "compaction_trigger":
                builder.prompt(_read_item(index, entry, "compaction_trigger"))
            case str(kind):
                builder.partial |= kind == "item_reference"
                by_model = entry.get("role", "assistant") == "assistant"
                (builder.say if by_model else builder.prompt)(_read_item(index, entry, kind))
            case kind:
                raise Malformed(f"an item needs a type or a role, and the type is {kind_of(kind)}", builder.where)

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        items: list[Json] = []
        for part in history.system:
            items += _write_part("system", part)
        for turn in history.turns:
            for part in turn.prompt:
                items += _write_part("user", part)
            for step in turn.steps:
                items += _write_step(step)
        body: dict[str, Json] = {"model": model} if model else {}
        body["input"] = items
        if history.tools:
            body["tools"] = [found for tool in history.tools if (found := _convert_definition(tool))]
        return body

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"role": "user", "content": text}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"type": "message", "role": "assistant", "content": text}

    def text_block(self, text: str, instead: Json) -> Json:
        return {"type": "input_text", "text": text}

    def speaker(self, entry: Json) -> Speaker:
        kind = entry.get("type") or "message"
        return "tool" if kind in OUTPUT_ITEMS else super().speaker(entry) if kind == "message" else ""

    def take_system(self, body: Json) -> tuple[str, Json]:
        if not isinstance(body, dict) or not isinstance(body.get("instructions"), str):
            return "", body
        return body["instructions"], {name: value for name, value in body.items() if name != "instructions"}

    def compose_question(self, history: History, model: str) -> dict[str, Json]:
        """Give every message its type: some servers recognise what the model said only by that."""
        body = self.compose(history, model)
        return {**body, "input": [{"type": "message", **item} for item in body["input"]]}

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        return {"max_output_tokens": max(MIN_LIMIT, limit)}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        return {"text": {"format": {"type": "json_schema", "name": name, "strict": True, "schema": schema}}}

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        """Not strict: that is the default, and makes every argument required."""
        return {"type": "function", "name": name, "description": about, "parameters": schema, "strict": False}

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        return {**body, "tool_choice": "none"}

    def read_reply(self, body: dict[str, Json]) -> Answer:
        builder = HistoryBuilder()
        for index, item in enumerate(objects(body.get("output"), "output", "this")):
            builder.where = f"output[{index}]"
            self.read_entry(builder, index, item)
        details, error = object_or_empty(body.get("incomplete_details")), object_or_empty(body.get("error"))
        stop = details.get("reason") or error.get("code") or body.get("status")
        return Answer(Reply((*builder.system, *builder.open_reply().items)), usage_of(body), str(stop or ""))

    def path_of_question(self, path: str) -> str:
        return path.removesuffix("/compact")

    def linkable(self, reply: Json) -> tuple[str, list[Json]] | None:
        kind = reply.get("type") if isinstance(reply, dict) else None
        response = reply.get("response") if kind in ("response.completed", "response.incomplete") else reply
        match response:
            case {"object": "response", "id": str(name), "status": "completed" | "incomplete", "output": list(output)}:
                return name, output
        return None

    def read_options(self, body: dict[str, Json], path: str) -> RequestOptions:
        return replies.read_options(body)

    def reply_writer(self, facts: ReplyFacts) -> ReplyWriter:
        return replies.ResponseReplyWriter(facts)

    def stream_reader(self) -> StreamReader:
        return _Stream(self)


class _Stream(StreamReader):
    def __init__(self, dialect: OpenAIResponses) -> None:
        super().__init__()
        self._dialect = dialect
        self._done: list[tuple[int, Json]] = []
        self._last: dict[str, Json] = {}

    def add(self, event: dict[str, Json]) -> None:
        match event:
            case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": str(text)}:
                self.say(text)
            case {
                "type": "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                "delta": str(text),
            }:
                self.think(text)
            case {"type": "response.output_item.done", "item": dict(item)}:
                self._done.append((count_of(event.get("output_index")), item))
            case {"type": "error"}:
                self._last = {**self._last, "error": event.get("error") or event}
            case {"response": dict(response)}:
                self._last = response

    def finish(self) -> Answer:
        if self._last.get("output"):
            return self._dialect.read_reply(self._last)
        # Some servers leave the closing event empty, and a torn stream has none.
        items = [item for _, item in sorted(self._done, key=lambda found: found[0])]
        return self._dialect.read_reply({**self._last, "output": items})


def usage_of(body: dict[str, Json]) -> Usage | None:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    details = object_or_empty(usage.get("input_tokens_details"))
    read, written = count_of(details.get("cached_tokens")), count_of(details.get("cache_write_tokens"))
    return Usage.split(count_of(usage.get("input_tokens")), read, written, count_of(usage.get("output_tokens")))


def _runs_here(kind: str, entry: dict[str, Json]) -> bool:
    """Tell whether the client runs this call; a search for tools may be the server's own."""
    return not kind.startswith("tool_search") or entry.get("execution") == "client"


def _read_message(builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
    began, role = builder.began, entry.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        raise unknown_role(role, builder.where)
    for part in _read_content(entry.get("content"), (index, "content"), builder.where):
        match role:
            case "user":
                builder.prompt(part)
            case "assistant":
                builder.say(part)
            case _ if not began:
                builder.system.append(part)
            case _:
                noted = replace(part, by="system")
                # Codex notes what was approved while the call that needed it is still open.
                (builder.say if builder.open_calls else builder.prompt)(noted)


def _read_output(builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
    call_id = text_at(entry.get("call_id") or entry.get("id"), builder.where, "call_id")
    parts = _read_output_parts(index, entry, builder.where)
    here = any(call.id == call_id for call in builder.open_calls)
    if here or not builder.partial:
        builder.answer(call_id, Result(parts, at=(index,)))
    else:
        # Behind a reference it belongs to what is referred to, and must not be cut from it.
        said = builder.open_reply().items
        referred = any(isinstance(item, Opaque) and item.kind == "item_reference" for item in said)
        for part in parts or (Text("", at=(index, "output")),):
            (builder.say if referred else builder.prompt)(part)


def _read_output_parts(index: int, entry: dict[str, Json], where: str) -> tuple[Part, ...]:
    output, at = entry.get("output"), (index, "output")
    match entry.get("type"):
        case "tool_search_output":
            return (_read_item(index, entry, "tool_search_output"),)
        case "shell_call_output" if isinstance(output, list):
            said = ((n, key, run.get(key)) for n, run in enumerate(output) if isinstance(run, dict) for key in run)
            return tuple(
                Text(text, at=(*at, n, key))
                for n, key, text in said
                if key in ("stdout", "stderr") and isinstance(text, str) and text
            )
        case "computer_call_output" if isinstance(output, dict):
            # Not a kind that may be shown as a text: the server wants a picture here.
            if isinstance(url := output.get("image_url"), str):
                return (media_from_url("computer_screenshot", url, at),)
            return (Opaque("computer_screenshot", dump(output), at=at),)
    return _read_content(output, at, where, "output")


def _read_item(index: int, entry: dict[str, Json], kind: str) -> Opaque:
    if kind == "image_generation_call" and isinstance(entry.get("result"), str):
        return Opaque(kind, entry["result"], "base64", "image/png", str(entry.get("id") or ""), (index,))
    if kind == "reasoning":
        return Opaque("thought", dump(entry), hint="bound", at=(index,))
    return Opaque(kind, dump(entry), at=(index,))


def _read_content(content: Json, at: Path, where: str, what: str = "content") -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content, at=at),)
    if not isinstance(content, list):
        raise Malformed(f"{what} must be a text or a list, not {kind_of(content)}", where)
    return tuple(part for index, block in enumerate(content) for part in _read_block(block, (*at, index), where))


def _read_block(block: Json, at: Path, where: str) -> tuple[Part, ...]:
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return (Text(text, at=(*at, "text")),) if text else ()
        case {"type": "refusal", "refusal": str(text)}:
            return (Text(text, at=(*at, "refusal")),) if text else ()
        case {"type": "input_image", "image_url": str(url)}:
            return (media_from_url("image", url, at, str(block.get("detail") or "")),)
        case {"type": "input_image"}:
            return (Opaque("image", dump(block), hint=str(block.get("detail") or ""), at=at),)
        case {"type": "input_file", "file_data": str(data)} if not data.startswith("data:"):
            return (Opaque("document", data, "base64", at=at),)
        case {"type": "input_file", "file_data": str(url)} | {"type": "input_file", "file_url": str(url)}:
            return (media_from_url("document", url, at),)
        case {"type": "input_file"}:
            return (Opaque("document", dump(block), at=at),)
        case {"type": "input_audio", "input_audio": {"data": str(data), **rest}}:
            return (Opaque("audio", data, "base64", f"audio/{rest.get('format', '')}", at=at),)
        case dict():
            return (Opaque(str(block.get("type", "unknown")), dump(block), at=at),)
    raise Malformed(f"a part of content must be an object, not {kind_of(block)}", where)


def _read_call(index: int, entry: dict[str, Json], where: str) -> Call:
    call_id = text_at(entry.get("call_id"), where, "call_id")
    name = text_at(entry.get("name"), where, "the name of a call")
    if entry["type"] == "custom_tool_call":
        said = text_at(entry.get("input"), where, "input")
        return Call(call_id, name, dump({"input": said}), (index,))
    arguments = text_at(entry.get("arguments", ""), where, "arguments")
    if RAW in arguments:
        arguments = arguments_text(arguments_object(arguments))
    return Call(call_id, name, arguments, (index, "arguments"))


def _read_typed_call(index: int, entry: dict[str, Json], kind: str, where: str) -> Call:
    """Read a typed call, its command in a list so that nothing in it is folded: the server refuses a text there."""
    call_id = text_at(entry.get("call_id") or entry.get("id"), where, "call_id")
    asked = entry.get(TYPED_CALLS[kind], entry.get("actions"))
    return Call(call_id, kind.removesuffix("_call"), dump([asked]), (index, TYPED_CALLS[kind]))


def _write_part(role: str, part: Part) -> list[Json]:
    if isinstance(part, Text):
        return [{"role": part.by or role, "content": part.text}]
    if item := _original_item(part):
        return [item]
    return [{"role": role, "content": [block_of(part)]}]


def _original_item(part: Opaque) -> Json:
    """Return the item that an opaque part was, if it was one of this dialect."""
    if part.kind == "image_generation_call":
        return {"type": part.kind, "id": part.hint, "status": "completed", "result": part.data}
    item = _decode(part.data)
    kind = "reasoning" if part.kind == "thought" else part.kind
    return item if kind in KEPT_ITEMS and item.get("type") == kind else None


def block_of(part: Part) -> Json:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if (block := _decode(part.data)).get("type") in ("input_image", "input_file"):
        return block
    match part.kind, part.form:
        case "image" | "computer_screenshot", "base64" | "url":
            detail = {"detail": part.hint} if part.hint else {}
            return {"type": "input_image", "image_url": media_url(part), **detail}
        case "document", "base64":
            return {"type": "input_file", "filename": "document", "file_data": media_url(part)}
        case "document", "url":
            return {"type": "input_file", "file_url": part.data}
        case "audio", "base64":
            audio = {"data": part.data, "format": part.mime.partition("/")[2]}
            return {"type": "input_audio", "input_audio": audio}
    return {"type": "input_text", "text": f"[{part.kind}]"}


def _write_step(step: Step) -> list[Json]:
    items: list[Json] = []
    for item in step.items:
        match item:
            case Text():
                items += _write_part("assistant", item)
            case Opaque():
                items += [carried] if (carried := _original_item(item)) else []
            case ToolUse():
                items.append(_write_call(item))
    return [*items, *(_write_output(use) for use in step.uses)]


def _write_call(use: ToolUse) -> Json:
    call = use.call
    if _search_output(use):
        asked = json.loads(call.arguments)[0]
        return {"type": "tool_search_call", "execution": "client", "call_id": call.id, "arguments": asked}
    arguments = arguments_object(call.arguments)
    written = dump(arguments) if RAW in arguments else call.arguments
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": written}


def _write_output(use: ToolUse) -> Json:
    parts = use.result.parts
    if searched := _search_output(use):
        return {**_decode(searched.data), "call_id": use.call.id}
    plain = len(parts) <= 1 and all(isinstance(part, Text) for part in parts)
    output = use.result.text if plain else [block_of(part) for part in parts]
    return {"type": "function_call_output", "call_id": use.call.id, "output": output}


def _search_output(use: ToolUse) -> Opaque | None:
    match use.result.parts:
        case (Opaque("tool_search_output") as found,):
            return found
    return None


def _convert_definition(tool: Tool) -> Json:
    """Write a tool's definition; None for a tool that only another provider can run."""
    own = _decode(tool.definition)
    if own.get("type") in TOOL_TYPES and not any(key in own for key in ("function", "custom", "input_schema")):
        return own
    said = signature(tool.definition)
    if said.hosted:
        return None
    described = {"description": said.description} if said.description else {}
    return {"type": "function", "name": said.name, **described, "parameters": said.parameters}


def _decode(text: str) -> dict[str, Json]:
    """Decode a text that holds an object; an empty one for any other."""
    try:
        return object_or_empty(json.loads(text))
    except (ValueError, RecursionError):
        return {}
