"""Anthropic Messages.

Roles take turns, the user first: the results of a step come back in the next user message, before anything the user
says in it. Cache marks move between requests, so they are left on the wire and never taken down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Opaque, Part, Path, Result, Step, Text, Tool, ToolUse
from yohaku.core.originals import ref_of
from yohaku.dialects.answer import Answer, StreamReader, Usage
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import (
    Json,
    arguments_object,
    arguments_text,
    count_of,
    dump,
    objects,
    text_at,
    unknown_role,
)
from yohaku.dialects.replies import anthropic as replies
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter, RequestOptions
from yohaku.dialects.role_rules import Speaker, content_text
from yohaku.dialects.server_api import signature

OPENING = "(The assistant speaks first.)"
"""First user message in a composed body where the model spoke first; skipped when read."""

MAX_TOKENS = 4096
"""Required by the API; the client replaces it by the model's own limit."""

THOUGHT_BLOCKS = ("thinking", "redacted_thinking")
OWN_BLOCKS = re.compile(
    r"thinking|redacted_thinking|image|document|server_tool_use|mcp_tool_use|.*_tool_result|container_upload"
    r"|search_result|tool_reference|tool_addition|tool_removal|compaction|fallback|mid_conv_system"
)
"""Blocks that may be written again as they were read; one of another dialect would be refused."""
SYSTEM_BLOCKS = ("tool_addition", "tool_removal")
HOSTED_TOOLS = re.compile(r".*_\d{8}|mcp_toolset")
LAWFUL_ID = re.compile(r"[a-zA-Z0-9_-]+")

CONTINUE_PREFILL = re.compile(r"claude-(?:[23]|instant)|claude-[a-z]+-4(?:[-.@](?:[0-5]|20\d{6})\b|$)")
"""Models that continue a reply begun for them; later ones refuse a request that ends in one."""

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
"""Types of errors by status, which clients decide by whether to log in, to wait or to give up."""

CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
MARKABLE = ("text", "image", "document", "tool_use", "tool_result")
MARKED_ENTRIES = 2
"""The newest user entries: one finds what the last request kept, one keeps what is new."""


class Anthropic(Dialect):
    name = "anthropic"
    entries = "messages"
    path = "/v1/messages"
    proxied_paths = ("/v1/messages",)
    proxied_count_paths = ("/v1/messages/count_tokens",)
    key_header = "x-api-key"
    fixed_headers: ClassVar = {"anthropic-version": "2023-06-01"}
    cut_off_stops = ("max_tokens", "model_context_window_exceeded")
    images_in_results = True

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        builder.system += _read_content(body.get("system"), ("system",), "system")
        choice = body.get("tool_choice")
        builder.forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
        for number, tool in enumerate(objects(body.get("tools"), "tools", "tools")):
            builder.tools.append(Tool(str(tool.get("name", "")), dump(_unmark(tool)), ("tools", number)))

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        content = entry.get("content")
        match entry.get("role"):
            case "user" if index == 0 and content == OPENING:
                return
            case "user":
                for block, at in _iterate_blocks(content, (index, "content"), builder.where):
                    match block:
                        case {"type": "tool_result"}:
                            builder.answer(*_read_result(block, at, builder.where))
                        case _:
                            for part in _read_part(block, at, builder.where):
                                builder.prompt(part)
            case "assistant":
                _read_assistant(builder, index, content)
            case "system":
                began = builder.began
                for part in _read_content(content, (index, "content"), builder.where):
                    if not began:
                        builder.system.append(part)
                    else:
                        builder.prompt(replace(part, by="system"))
            case role:
                raise unknown_role(role, builder.where)

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        messages: list[Json] = []
        for turn in history.turns:
            for block in filter(None, map(block_of, turn.prompt)):
                _add(messages, "system" if block["type"] in SYSTEM_BLOCKS else "user", [block])
            for step in turn.steps:
                _add(messages, "assistant", _write_reply(step))
                _add(messages, "user", [_write_result(use) for use in step.uses])
        if messages and messages[0]["role"] == "assistant":
            messages.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
        if messages and messages[-1]["role"] == "assistant":
            _trim(messages[-1]["content"])
        body: dict[str, Json] = {"model": model} if model else {}
        body["max_tokens"] = MAX_TOKENS
        if system := list(filter(None, map(block_of, history.system))):
            body["system"] = _shorten(system)
        body["messages"] = [{**message, "content": _shorten(message["content"])} for message in messages]
        if tools := list(filter(None, map(_convert_definition, history.tools))):
            body["tools"] = tools
        return body

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"role": "user", "content": text}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"role": "assistant", "content": text}

    def text_block(self, text: str, instead: Json) -> Json:
        mark = {"cache_control": instead["cache_control"]} if "cache_control" in instead else {}
        return {"type": "text", "text": text, **mark}

    def speaker(self, entry: Json) -> Speaker:
        return "tool" if any(map(_is_result, _block_list(entry))) else super().speaker(entry)

    def split_entry(self, entry: dict[str, Json]) -> list[dict[str, Json]]:
        blocks = _block_list(entry)
        results = [block for block in blocks if _is_result(block)]
        if not results or len(results) == len(blocks):
            return [entry]
        words = [block for block in blocks if not _is_result(block)]
        return [{**entry, "content": results}, {**entry, "content": words}]

    def take_system(self, body: Json) -> tuple[str, Json]:
        if not isinstance(body, dict) or not body.get("system"):
            return "", body
        text = content_text({"content": body["system"]})
        return text, {name: value for name, value in body.items() if name != "system"}

    def url(self, base: str, model: str) -> str:
        return super().url(base.rstrip("/").removesuffix("/v1"), model)

    def error_body(self, message: str, status: int) -> Json:
        return {"type": "error", "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message}}

    def too_long_body(self, message: str, needs: int, limit: int) -> Json:
        text = f"prompt is too long: {needs} tokens > {limit} maximum ({message})"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}

    def stop_fields(self, texts: tuple[str, ...], model: str) -> dict[str, Json]:
        return {"stop_sequences": list(texts)}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}

    def continues_prefill(self, model: str) -> bool:
        return bool(CONTINUE_PREFILL.search(model))

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        return {"name": name, "description": about, "input_schema": schema}

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        return {**body, "tool_choice": {"type": "none"}}

    def mark_cache(self, body: dict[str, Json]) -> dict[str, Json]:
        """Mark the system prompt, which the tools precede, and the newest entries of the user."""
        messages = list(body["messages"])
        by_user = [index for index, message in enumerate(messages) if message["role"] == "user"]
        for index in by_user[-MARKED_ENTRIES:]:
            messages[index] = {**messages[index], "content": _mark(messages[index]["content"])}
        system = {"system": _mark(body["system"])} if body.get("system") else {}
        return {**body, **system, "messages": messages}

    def read_reply(self, body: dict[str, Json]) -> Answer:
        builder = HistoryBuilder()
        builder.where = "reply"
        _read_assistant(builder, 0, body.get("content"))
        return Answer(builder.open_reply(), usage_of(body.get("usage")), str(body.get("stop_reason") or ""))

    def read_options(self, body: dict[str, Json], path: str) -> RequestOptions:
        return replies.read_options(body)

    def reply_writer(self, facts: ReplyFacts) -> ReplyWriter:
        return replies.MessageReplyWriter(facts)

    def stream_reader(self) -> StreamReader:
        return _Stream(self)


class _Stream(StreamReader):
    def __init__(self, dialect: Anthropic) -> None:
        super().__init__()
        self._dialect = dialect
        self._blocks: dict[int, dict[str, Json]] = {}
        self._usage: dict[str, Json] = {}
        self._stop: Json = None

    def add(self, event: dict[str, Json]) -> None:
        match event:
            case {"type": "message_start", "message": {"usage": dict(billed)}}:
                self._usage = billed
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._blocks[count_of(event.get("index"))] = block
                self.say(block.get("text") if block.get("type") == "text" else None)
                self.think(block.get("thinking") if block.get("type") == "thinking" else None)
            case {"type": "content_block_delta", "delta": dict(delta)}:
                self.say(delta.get("text"))
                self.think(delta.get("thinking"))
                _add_delta(self._blocks.setdefault(count_of(event.get("index")), {"type": "text"}), delta)
            case {"type": "message_delta", "delta": dict(delta), "usage": dict(billed)}:
                self._stop = delta.get("stop_reason") or self._stop
                self._usage = {**self._usage, **{key: value for key, value in billed.items() if value is not None}}

    def finish(self) -> Answer:
        content = [_join_input(self._blocks[index]) for index in sorted(self._blocks)]
        return self._dialect.read_reply({"content": content, "usage": self._usage or None, "stop_reason": self._stop})


def usage_of(usage: Json) -> Usage | None:
    """Add up the rounds of the server in `iterations`: the fields beside it leave some of them out."""
    if not isinstance(usage, dict):
        return None
    rounds = objects(usage.get("iterations"), "usage", "iterations") or [usage]

    def total(field: str) -> int:
        return sum(each[field] for each in rounds if isinstance(each.get(field), int))

    return Usage(
        total("input_tokens"),
        total("cache_read_input_tokens"),
        total("cache_creation_input_tokens"),
        total("output_tokens"),
    )


def _read_assistant(builder: HistoryBuilder, index: int, content: Json) -> None:
    # Neighbouring messages of the model's are one reply to the API, as long as no result stands between them.
    if len(builder.open_calls) < len(builder.open_reply().calls):
        builder.reply()
    for block, at in _iterate_blocks(content, (index, "content"), builder.where):
        match block:
            case {"type": "tool_use"}:
                builder.say(_read_call(block, at, builder.where))
            case _:
                for part in _read_part(block, at, builder.where):
                    builder.say(part)


def _iterate_blocks(content: Json, at: Path, where: str) -> Iterator[tuple[Json, Path]]:
    """Yield the blocks of a content, each with its place; a text is one block."""
    if isinstance(content, str):
        yield content, at
    else:
        for number, block in enumerate(objects(content, where, "content, where it is not a text,")):
            yield block, (*at, number)


def _read_content(content: Json, at: Path, where: str) -> tuple[Part, ...]:
    return tuple(
        part for block, place in _iterate_blocks(content, at, where) for part in _read_part(block, place, where)
    )


def _read_part(block: Json, at: Path, where: str) -> tuple[Part, ...]:
    match block:
        case "" | {"type": "text", "text": ""}:
            return ()
        case str():
            return (Text(block, at=at),)
        case {"type": "text"}:
            return (Text(text_at(block.get("text"), where, "text"), at=(*at, "text")),)
        case {"type": "image" | "document" as kind, "source": {"type": "base64", "data": str(data), **rest}}:
            return (Opaque(kind, data, "base64", str(rest.get("media_type", "")), at=at),)
        case {"type": "image" | "document" as kind, "source": {"type": "url", "url": str(url)}}:
            return (Opaque(kind, url, "url", at=at),)
        case {"type": "document", "source": {"type": "text"}}:
            return (Opaque("document", dump(_unmark(block)), mime="text/plain", at=at),)
        case {"type": str(kind)}:
            return (Opaque("thought" if kind in THOUGHT_BLOCKS else kind, dump(_unmark(block)), at=at),)
    raise Malformed("a block of content needs a type", where)


def _read_call(block: dict[str, Json], at: Path, where: str) -> Call:
    call_id = text_at(block.get("id"), where, "the id of a tool_use")
    name = text_at(block.get("name"), where, "the name of a tool_use")
    if not isinstance(block.get("input"), dict):
        raise Malformed("the input of a tool_use must be an object", where)
    return Call(call_id, name, arguments_text(block["input"]), (*at, "input"))


def _read_result(block: dict[str, Json], at: Path, where: str) -> tuple[str, Result]:
    call_id = text_at(block.get("tool_use_id"), where, "tool_use_id")
    parts = _read_content(block.get("content"), (*at, "content"), where)
    return call_id, Result(parts, error=block.get("is_error") is True, at=at)


def _block_list(entry: dict[str, Json]) -> list[Json]:
    content = entry.get("content")
    return content if isinstance(content, list) else []


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _mark(content: Json) -> list[Json]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if blocks and blocks[-1].get("type") in MARKABLE:
        blocks[-1] = {**blocks[-1], **CACHE_MARK}
    return blocks


def _unmark(block: dict[str, Json]) -> dict[str, Json]:
    """Remove cache marks, also from blocks inside."""
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    for key in ("content", "source"):
        inside = plain.get(key)
        if isinstance(inside, dict):
            plain[key] = _unmark(inside)
        elif isinstance(inside, list):
            plain[key] = [_unmark(item) if isinstance(item, dict) else item for item in inside]
    return plain


def _add(messages: list[Json], role: str, blocks: list[Json]) -> None:
    if blocks and messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    elif blocks:
        messages.append({"role": role, "content": blocks})


def _trim(blocks: list[Json]) -> None:
    """Remove blanks at the end: a reply that ends a body is continued, and the API refuses one that ends in blanks."""
    if blocks[-1]["type"] == "text":
        blocks[-1] = {"type": "text", "text": blocks[-1]["text"].rstrip()}


def _shorten(blocks: list[Json]) -> Json:
    """Write a single text as a plain string."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def block_of(part: Part) -> Json:
    """Write a block; None for what the API would refuse: a blank text, another dialect's thought."""
    match part:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Opaque("image" | "document", data, "base64"):
            return {"type": part.kind, "source": {"type": "base64", "media_type": part.mime, "data": data}}
        case Opaque("image" | "document", data, "url"):
            return {"type": part.kind, "source": {"type": "url", "url": data}}
        case Opaque(kind, data, "json"):
            block = arguments_object(data)
            if isinstance(block.get("type"), str) and OWN_BLOCKS.fullmatch(block["type"]):
                return block
            return None if kind == "thought" else {"type": "text", "text": f"[{kind}]"}
    return {"type": "text", "text": f"[{part.kind}]"}


def _write_reply(step: Step) -> list[Json]:
    blocks: list[Json] = []
    for item in step.items:
        if isinstance(item, ToolUse):
            arguments = arguments_object(item.call.arguments)
            blocks.append({"type": "tool_use", "id": _lawful_id(item), "name": item.call.name, "input": arguments})
        elif isinstance(item, Opaque) and item.form != "json":
            blocks.append({"type": "text", "text": f"[{item.kind}]"})  # the model's own media cannot be sent back
        elif block := block_of(item):
            blocks.append(block)
    while blocks and blocks[-1]["type"] in THOUGHT_BLOCKS:
        blocks.pop()
    return blocks


def _write_result(use: ToolUse) -> Json:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": _lawful_id(use)}
    if content := list(filter(None, map(block_of, use.result.parts))):
        block["content"] = _shorten(content)
    return {**block, "is_error": True} if use.result.error else block


def _lawful_id(use: ToolUse) -> str:
    """Return the call's id, or one made from it where it holds characters that the API refuses."""
    return use.call.id if LAWFUL_ID.fullmatch(use.call.id) else f"call_{ref_of(use.call.id)}"


def _convert_definition(tool: Tool) -> Json:
    """Write a tool's definition; None for a tool that another provider runs."""
    says = signature(tool.definition)
    definition = arguments_object(tool.definition)
    if "input_schema" in definition or (says.hosted and HOSTED_TOOLS.fullmatch(str(definition.get("type")))):
        return definition
    if says.hosted:
        return None
    return {"name": says.name, "description": says.description, "input_schema": says.parameters}


def _add_delta(block: dict[str, Json], delta: dict[str, Json]) -> None:
    for field in ("text", "thinking", "signature", "partial_json", "content"):
        if isinstance(delta.get(field), str):
            so_far = block.get(field)
            block[field] = (so_far if isinstance(so_far, str) else "") + delta[field]
    if "citation" in delta:
        so_far = block.get("citations")
        block["citations"] = [*(so_far if isinstance(so_far, list) else ()), delta["citation"]]


def _join_input(block: dict[str, Json]) -> dict[str, Json]:
    """Return a streamed block as it would have come in one piece: its input arrives as pieces of JSON text."""
    whole = {key: value for key, value in block.items() if key != "partial_json"}
    partial = block.get("partial_json")
    return {**whole, "input": arguments_object(partial)} if partial else whole
