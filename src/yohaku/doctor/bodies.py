"""Request bodies: the fields beside the conversation, and the rules that look at both."""

from __future__ import annotations

from collections.abc import Iterator

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import HistoryBuilder
from yohaku.dialects.anthropic import THOUGHT_BLOCKS
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json
from yohaku.doctor.notes import Notes
from yohaku.doctor.reading import text_of
from yohaku.doctor.rewrite import repair_entries

SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction")
MAX_MARKS = 4
"""Cache marks that a request of Anthropic's may have."""
HOLDERS = ("tools", "system", "messages", "content")
"""Fields that hold what may carry cache marks, in the order in which the API reads them."""


def repair_body(dialect: Dialect, body: Json, notes: Notes) -> Json:
    """A request body, or a bare list of messages; the same object where nothing was changed."""
    if isinstance(body, dict):
        body = repair_fields(dialect, body, notes)
        if isinstance(body.get(dialect.entries), dict):
            body = {**body, dialect.entries: [body[dialect.entries]]}
    old = dialect.entries_of(body)
    places = [f"{dialect.entries}[{index}]" for index in range(len(old))]
    elsewhere = isinstance(body, dict) and bool(body.get("previous_response_id") or body.get("conversation"))
    written = [entry for entry, _ in repair_entries(dialect, old, places, notes, elsewhere)]
    if not written:
        raise Unreadable("nothing was said in this")
    if len(written) != len(old) or any(new is not was for new, was in zip(written, old, strict=True)):
        body = dialect.with_entries(body, written)
    return apply_body_rules(dialect, body, notes) if isinstance(body, dict) else body


def repair_fields(dialect: Dialect, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
    """The body with every field beside the conversation readable."""
    made: dict[str, Json] = {}
    notes.where = ""
    for key, value in body.items():
        if key in SYSTEMS:
            kept = value if _is_system(dialect, key, value) else _system_of(dialect, key, value)
        elif key == "tools":
            kept = value if _opens(dialect, {key: value}) else _tools_of(dialect, value)
        else:
            kept = value if key != "thinking" or value is None or isinstance(value, dict | bool | str) else None
            kept = None if key == "thinking" and dialect.name == "anthropic" and not isinstance(kept, dict) else kept
        if kept is not value:
            notes.add(*(("tools",) if key == "tools" else ("shape", key)))
        if kept is value or kept:
            made[key] = kept
    return body if made == body else made


def _opens(dialect: Dialect, fields: dict[str, Json]) -> bool:
    try:
        dialect.read_beside(HistoryBuilder(), fields)
    except Malformed:
        return False
    return True


def _is_system(dialect: Dialect, key: str, value: Json) -> bool:
    if value is None or not _opens(dialect, {key: value}):
        return value is None
    match value:
        case str():
            return dialect.name != "gemini"
        case list() if dialect.name == "anthropic":
            return all(block.get("type") == "text" and block["text"].strip() for block in value)
        case {"parts": [*parts]}:
            return bool(parts) and all(isinstance(part.get("text"), str) for part in parts)
    return dialect.name in ("openai_chat", "ollama")


def _system_of(dialect: Dialect, key: str, value: Json) -> Json:
    words = [word for word in _words(value) if word.strip()]
    if dialect.name == "gemini":
        return {"parts": [{"text": word} for word in words]} if words else None
    return "\n".join(words)


def _words(value: Json) -> Iterator[str]:
    """The texts of a system field that is out of shape."""
    if isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, dict) and ("text" in value or "parts" in value):
        yield from _words(value.get("text", value.get("parts")))
    else:
        yield text_of(value)


def _tools_of(dialect: Dialect, tools: Json) -> Json:
    return [tool for tool in tools if _opens(dialect, {"tools": [tool]})] if isinstance(tools, list) else None


def apply_body_rules(dialect: Dialect, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
    """Apply the rules of Anthropic that look at a body as a whole."""
    if dialect.name != "anthropic":
        return body
    notes.where = ""
    if (body.get("thinking") or {}).get("type") == "enabled" and _lacks_thought(body["messages"]):
        notes.add("thinking")
        body = {key: value for key, value in body.items() if key != "thinking"}
    surplus = _count_marks(body) - MAX_MARKS
    if surplus > 0:
        notes.add("marks")
        body, _ = _without_marks(body, surplus)
    return body


def _lacks_thought(messages: list[Json]) -> bool:
    """True where a reply whose calls were just answered lacks the thought that the API wants before them."""
    if messages[-1]["role"] == "assistant":
        return False
    replies: list[Json] = []
    for message in reversed(messages):
        content = message["content"]
        if message["role"] == "user" and (isinstance(content, str) or content[0]["type"] != "tool_result"):
            break
        replies += [message] if message["role"] == "assistant" else []
    first = (reply["content"][0] for reply in replies if not isinstance(reply["content"], str))
    return bool(replies) and not any(block["type"] in THOUGHT_BLOCKS for block in first)


def _count_marks(value: Json) -> int:
    if isinstance(value, list):
        return sum(map(_count_marks, value))
    if not isinstance(value, dict):
        return 0
    return bool(value.get("cache_control")) + sum(_count_marks(value.get(key)) for key in HOLDERS)


def _without_marks(value: Json, surplus: int) -> tuple[Json, int]:
    """Without its first marks: the newest are the ones that matter."""
    if isinstance(value, list):
        made = []
        for item in value:
            item, surplus = _without_marks(item, surplus) if surplus else (item, 0)
            made.append(item)
        return made, surplus
    if not isinstance(value, dict):
        return value, surplus
    for key in HOLDERS:
        if surplus and key in value:
            inner, surplus = _without_marks(value[key], surplus)
            value = {**value, key: inner}
    if surplus and value.get("cache_control"):
        return {key: item for key, item in value.items() if key != "cache_control"}, surplus - 1
    return value, surplus
