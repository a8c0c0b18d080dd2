"""Find the dialect of a decoded JSON value, by the signs each wire format leaves.

Law: a sign inside the conversation outweighs a field beside it, and a field outweighs the name of the model. A value
without any sign reads the same in every dialect that has `messages`, and counts as OpenAI chat.
"""

from __future__ import annotations

from collections.abc import Iterator

from yohaku import plugins
from yohaku.core.errors import Unreadable
from yohaku.dialects import dialect_named
from yohaku.dialects.json_values import Json, kind_of

BLOCKS = {
    **dict.fromkeys(("image_url", "input_audio", "refusal", "file", "document_url", "video_url"), "openai_chat"),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file"), "openai_responses"),
    **dict.fromkeys(("tool_use", "tool_result", "redacted_thinking", "server_tool_use", "search_result"), "anthropic"),
}
"""Types of content blocks that only one dialect has."""

FIELDS = {
    **dict.fromkeys(("options", "keep_alive", "think"), "ollama"),
    **dict.fromkeys(("system", "stop_sequences", "anthropic_version", "mcp_servers", "output_config"), "anthropic"),
    **dict.fromkeys(
        ("stop", "n", "stream_options", "response_format", "max_completion_tokens", "parallel_tool_calls",
         "reasoning_effort", "frequency_penalty", "presence_penalty", "logprobs", "seed", "provider", "functions"),
        "openai_chat",
    ),
}  # fmt: skip
"""Fields beside `messages` that only one dialect has."""


def detect(value: Json) -> str:
    """Return the name of the dialect; those of plugins are tried where no built-in one fits."""
    try:
        return _detect_built_in(value)
    except Unreadable:
        for name in plugins.names("dialects"):
            if dialect_named(name).recognise(value):
                return name
        raise


def _detect_built_in(value: Json) -> str:
    match value:
        case {"contents": _}:
            return "gemini"
        case {"messages": list(messages)}:
            return _by_messages(messages) or _by_tools(value) or _by_fields(value) or _by_model(value) or "openai_chat"
        case {"messages": other}:
            raise Unreadable(f"messages must be a list, not {kind_of(other)}")
        case {"input": _}:
            return "openai_responses"
        case []:
            raise Unreadable("this list of messages is empty")
        case list() if any(isinstance(item, dict) and _is_entry(item) for item in value):
            return _by_items(value) or _by_messages(value) or "openai_chat"
        case list():
            raise Unreadable("nothing in this list looks like a message")
        case dict():
            raise Unreadable("this is not a request: it has neither messages, nor input, nor contents")
    raise Unreadable(f"this is {kind_of(value)}, not a conversation: give a request body or a list of messages")


def _is_entry(item: dict[str, Json]) -> bool:
    return "role" in item or isinstance(item.get("parts"), list) or _is_response_item(item)


def _is_response_item(item: dict[str, Json]) -> bool:
    """Tell whether this is an item of the Responses API, where messages have a type and calls are their own items."""
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith(("message", "_call", "_output", "reasoning", "item_reference"))


def _by_items(items: list[Json]) -> str:
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("parts"), list):
            return "gemini"
        if isinstance(item, dict) and _is_response_item(item):
            return "openai_responses"
    return ""


def _by_messages(messages: list[Json]) -> str:
    """Find the first sign in the conversation itself."""
    for message in messages:
        if isinstance(message, dict) and (found := _by_calls(message) or _by_blocks(message)):
            return found
    return ""


def _by_calls(message: dict[str, Json]) -> str:
    match message:
        case {"tool_calls": [{"function": {"arguments": dict()}}, *_]}:
            return "ollama"
        case {"tool_calls": [_, *_]} | {"tool_call_id": str()} | {"function_call": dict()}:
            return "openai_chat"
        case {"images": [str(), *_]} | {"tool_name": str()} | {"thinking": str()} | {"role": "tool"}:
            return "ollama"
        case {"role": "developer" | "function"}:
            return "openai_chat"
    return ""


def _by_blocks(message: dict[str, Json]) -> str:
    for block in _blocks(message):
        match block:
            # Mistral, which speaks OpenAI chat, also has a block "thinking": with a list in it.
            case {"type": "image" | "document", "source": dict()} | {"type": "thinking", "thinking": str()}:
                return "anthropic"
            case {"type": str(kind)} if kind in BLOCKS:
                return BLOCKS[kind]
    return ""


def _blocks(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    content = message.get("content")
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _by_tools(body: dict[str, Json]) -> str:
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and "input_schema" in tool:
            return "anthropic"
        if isinstance(tool, dict) and "function" in tool:
            # Ollama wraps tools as OpenAI does.
            return "ollama" if _by_fields(body) == "ollama" else "openai_chat"
    return ""


def _by_fields(body: dict[str, Json]) -> str:
    """Find a field of one dialect. Anthropic has system messages, too, but not as the first."""
    system = body["messages"][:1] and _role(body["messages"][0]) == "system"
    for field, dialect in FIELDS.items():
        if field in body and not (system and dialect == "anthropic"):
            return dialect
    return "openai_chat" if system else ""


def _role(message: Json) -> Json:
    return message.get("role") if isinstance(message, dict) else None


def _by_model(body: dict[str, Json]) -> str:
    """Recognise a plain conversation with Claude. Routers that use OpenAI chat name it `anthropic/claude-…`."""
    model = body.get("model")
    named = isinstance(model, str) and "claude" in model.lower() and "/" not in model
    return "anthropic" if named and "max_tokens" in body else ""
