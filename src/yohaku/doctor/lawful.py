"""Entries that a provider takes, by dialect.

The readers of the dialects take more than a provider does. What they take and a provider refuses is found here, looking
at one entry alone; rules that look at neighbours are in `pairing`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeGuard

from yohaku.dialects.anthropic import LAWFUL_ID
from yohaku.dialects.json_values import Json
from yohaku.dialects.openai_chat import EMPTY_FUNCTION
from yohaku.dialects.openai_responses import KEPT_ITEMS, OUTPUT_ITEMS, TYPED_CALLS

ROLES = {
    "anthropic": ("user", "assistant", "system"),
    "openai_chat": ("system", "developer", "user", "assistant", "tool", "function"),
    "ollama": ("system", "user", "assistant", "tool"),
    "openai_responses": ("user", "assistant", "system", "developer"),
    "gemini": ("user", "model", "function"),
}

MEDIA = ("search_result", "container_upload")
ANTHROPIC_CARRIED = {
    "user": ("mid_conv_system", *MEDIA),
    "assistant": ("compaction", "fallback"),
    "system": ("tool_addition", "tool_removal"),
}
"""Blocks whose fields are the provider's own business."""

CHAT_MEDIA = ("image_url", "input_audio", "file", "document_url", "video_url")
CHAT_PARTS = {"user": CHAT_MEDIA, "assistant": ("refusal", "thinking", "reference"), "tool": ("image_url",)}
WORDLESS = ("tool_calls", "function_call", "refusal", "audio")
"""Fields that let a message of the model have no content."""

RESPONSES_CARRIED = {*KEPT_ITEMS, "compaction_trigger", "compaction_summary"} - {"reasoning"}
RESPONSES_MEDIA = ("input_image", "input_file", "input_audio")

GEMINI_DATA = (
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
)  # fmt: skip


def is_lawful(dialect: str, entry: Json) -> bool:
    """True for an entry that a provider takes; of a dialect that is not known here, whatever its reader takes."""
    if not isinstance(entry, dict) or dialect not in CHECKS:
        return isinstance(entry, dict)
    role = entry.get("role")
    known = isinstance(role, str) and role in ROLES[dialect]
    optional = dialect == "openai_responses" or (dialect == "gemini" and role is None)
    return (known or optional) and CHECKS[dialect](entry)


def is_object_text(arguments: Json) -> bool:
    """True for the text of a JSON object, and for "", which models write for a call without arguments."""
    try:
        return isinstance(arguments, str) and (not arguments or isinstance(json.loads(arguments), dict))
    except (ValueError, RecursionError):
        return False


def _anthropic(entry: dict[str, Json]) -> bool:
    content = entry.get("content")
    if isinstance(content, str):
        return bool(content.strip())
    return is_list(content) and bool(content) and all(_anthropic_block(block, entry["role"]) for block in content)


def _anthropic_block(block: Json, role: str) -> bool:
    match block:
        case {"type": "text", "text": str(text)}:
            return bool(text.strip())
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "id": str(call_id), "name": str(name)}:
            named = bool(name.strip() and LAWFUL_ID.fullmatch(call_id))
            return role == "assistant" and named and isinstance(block.get("input"), dict)
        case {"type": "tool_result", "tool_use_id": str()}:
            content = block.get("content", "")
            return role == "user" and (isinstance(content, str) or (is_list(content) and all(map(_inner, content))))
        case {"type": "thinking", "thinking": str(), "signature": str(signature)}:
            return role == "assistant" and bool(signature) and "cache_control" not in block
        case {"type": "redacted_thinking"}:
            return role == "assistant" and bool(block.get("data"))
        case {"type": "image" | "document"}:
            return role == "user" and isinstance(block.get("source"), dict)
        case {"type": str(kind)}:
            return kind in ANTHROPIC_CARRIED[role] or (role == "assistant" and kind.endswith("_tool_result"))
    return False


def _inner(part: Json) -> bool:
    """A block inside a tool_result of Anthropic's."""
    match part:
        case {"type": "text"}:
            return isinstance(part.get("text"), str) and bool(part["text"])
        case {"type": "image" | "document"}:
            return isinstance(part.get("source"), dict)
        case {"type": str(kind)}:
            return kind in ("tool_reference", *MEDIA)
    return False


def _chat(entry: dict[str, Json]) -> bool:
    role, content, calls = entry["role"], entry.get("content"), entry.get("tool_calls")
    by_model = role == "assistant"
    if is_list(content):
        good = all(_chat_part(part, role) for part in content) and bool(content or (by_model and calls))
    else:
        good = isinstance(content, str) or (
            content is None and by_model and any(entry.get(field) for field in WORDLESS)
        )
    if role == "tool":
        good = good and isinstance(entry.get("tool_call_id"), str)
    if calls is not None:
        called = is_list(calls) and (all(map(_chat_call, calls)) if calls else "prefix" in entry)
        good = good and by_model and called
    older = entry.get("function_call")
    return good and (older is None or older == EMPTY_FUNCTION or (by_model and not calls and _function(older)))


def _chat_part(part: Json, role: str) -> bool:
    match part:
        case {"type": "text"}:
            return isinstance(part.get("text"), str)
        case {"type": str(kind)}:
            return kind in CHAT_PARTS.get(role, ()) and (kind not in CHAT_MEDIA or bool(part.get(kind)))
    return False


def _chat_call(call: Json) -> bool:
    match call:
        case {"id": str(), "type": "custom", "custom": {"name": str(name), "input": str()}}:
            return bool(name)
        case {"id": str(), "type": "function", "function": function} if not isinstance(call.get("custom"), dict):
            return _function(function)
    return False


def _function(function: Json) -> bool:
    match function:
        case {"name": str(name)}:
            return bool(name.strip()) and is_object_text(function.get("arguments"))
    return False


def _ollama(entry: dict[str, Json]) -> bool:
    content, calls, images = entry.get("content"), entry.get("tool_calls"), entry.get("images")
    good = isinstance(content, str) or (content is None and bool(calls))
    good = good and (images is None or (is_list(images) and all(isinstance(i, str) and i for i in images)))
    good = good and all(isinstance(entry.get(name) or "", str) for name in ("thinking", "tool_name", "name"))
    if entry["role"] == "tool":
        good = good and isinstance(entry.get("tool_call_id", ""), str)
    if calls is not None:
        good = good and entry["role"] == "assistant" and is_list(calls) and all(map(_ollama_call, calls))
    return good


def _ollama_call(call: Json) -> bool:
    match call:
        case {"function": {"name": str(name), "arguments": dict()}}:
            return bool(name.strip()) and isinstance(call.get("id", ""), str)
    return False


def _responses(item: dict[str, Json]) -> bool:
    kind = item.get("type") or "message"
    call_id = item.get("call_id")
    match kind:
        case "message":
            role, content = item.get("role"), item.get("content")
            good = isinstance(role, str) and role in ROLES["openai_responses"]
            return good and (isinstance(content, str) or (bool(content) and _responses_parts(content, role)))
        case "function_call":
            return isinstance(call_id, str) and _function(item)
        case "custom_tool_call":
            named = isinstance(item.get("name"), str) and bool(item["name"].strip())
            return isinstance(call_id, str) and named and isinstance(item.get("input"), str)
        case "function_call_output" | "custom_tool_call_output":
            output = item.get("output")
            return isinstance(call_id, str) and (isinstance(output, str) or _responses_parts(output, "user"))
        case "tool_search_call" | "tool_search_output":
            client = item.get("execution") == "client" and isinstance(call_id or item.get("id"), str)
            good = client or item.get("execution") == "server"
            return good and (kind == "tool_search_call" or is_list(item.get("tools")))
        case "reasoning":
            return is_list(item.get("summary"))
        case str() if kind in TYPED_CALLS or kind in OUTPUT_ITEMS:
            return isinstance(call_id or item.get("id"), str)
    return isinstance(kind, str) and kind in RESPONSES_CARRIED


def _responses_parts(parts: Json, role: Json) -> bool:
    return is_list(parts) and all(_responses_part(part, role) for part in parts)


def _responses_part(part: Json, role: Json) -> bool:
    match part:
        case {"type": "output_text" | "input_text" as kind, "text": str()}:
            return (kind == "output_text") is (role == "assistant")
        case {"type": str(kind)}:
            return kind == "refusal" if role == "assistant" else kind in RESPONSES_MEDIA
    return False


def _gemini(content: dict[str, Json]) -> bool:
    parts = content.get("parts")
    return is_list(parts) and bool(parts) and all(_gemini_part(part, content.get("role") == "model") for part in parts)


def gemini_data(part: dict[str, Json]) -> list[str]:
    """The fields of a part that hold data; a lawful part has one."""
    return [key for key, value in part.items() if camel(key) in GEMINI_DATA and value is not None]


def _gemini_part(part: Json, by_model: bool) -> bool:
    held = gemini_data(part) if isinstance(part, dict) else []
    if len(held) != 1:
        return False
    kind, value = camel(held[0]), part[held[0]]
    if kind == "text" or not isinstance(value, dict):
        return kind == "text" and isinstance(value, str)
    fields = {camel(key): inner for key, inner in value.items()}
    named = isinstance(fields.get("name"), str) and bool(fields["name"].strip()) and _id_or_none(fields)
    match kind:
        case "functionCall":
            return by_model and named and isinstance(fields.get("args") or {}, dict)
        case "functionResponse":
            media = fields.get("parts") or []
            good = is_list(media) and all(_gemini_part(each, by_model=False) for each in media)
            return not by_model and named and good and isinstance(fields.get("response"), dict)
        case "inlineData":
            return isinstance(fields.get("mimeType"), str) and isinstance(fields.get("data"), str)
        case "fileData":
            return isinstance(fields.get("fileUri"), str)
    return True


def _id_or_none(fields: dict[str, Json]) -> bool:
    return isinstance(fields.get("id") or "", str)


def camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


CHECKS: dict[str, Callable[[dict[str, Json]], bool]] = {
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "ollama": _ollama,
    "openai_responses": _responses,
    "gemini": _gemini,
}
