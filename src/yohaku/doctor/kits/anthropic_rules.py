"""The last rules of Anthropic's: those that look at neighbours, or at a body and its conversation together."""

from __future__ import annotations

import re

from yohaku.dialects.anthropic import THOUGHTS
from yohaku.doctor.kit import Json, text_of
from yohaku.doctor.notes import Notes

SERVED = ("server_tool_use", "mcp_tool_use")
SERVED_RESULT = re.compile(r".+_tool_result")

Entries = list[tuple[Json, int | None]]
"""Each with the index of where it came from."""


def as_text(block: dict[str, Json]) -> dict[str, Json]:
    said = next((block[key] for key in ("text", "thinking") if isinstance(block.get(key), str)), None)
    return {"type": "text", "text": text_of(block) if said is None else said}


def without_late_thoughts(entry: Json, notes: Notes) -> Json:
    """A reply cannot end with a thought: what it led to is lost, and a thought alone cannot be sent."""
    if entry["role"] != "assistant" or isinstance(entry["content"], str):
        return entry
    blocks = list(entry["content"])
    while blocks and blocks[-1]["type"] in THOUGHTS:
        notes.add("thought")
        blocks.pop()
    return entry if len(blocks) == len(entry["content"]) else {**entry, "content": blocks} if blocks else None


def with_served_calls(entries: Entries, notes: Notes) -> Entries:
    """The result of a tool the server ran needs its call before it."""
    served: set[str] = set()
    made: Entries = []
    for entry, home in entries:
        blocks: list[Json] = []
        for block in [] if isinstance(entry["content"], str) else entry["content"]:
            if block["type"] in SERVED:
                served.add(block["id"])
            orphan = block["type"] != "tool_result" and SERVED_RESULT.fullmatch(block["type"])
            known = isinstance(block.get("tool_use_id"), str) and block["tool_use_id"] in served
            if orphan and not known:
                notes.add("orphan", block["type"])
                block = as_text(block)
            blocks.append(block)
        changed = not isinstance(entry["content"], str) and blocks != entry["content"]
        made.append(({**entry, "content": blocks}, home) if changed else (entry, home))
    return made


def with_notes_in_place(entries: Entries, notes: Notes) -> Entries:
    """What the system says stands between the user's words and a reply; elsewhere it is said as the user's."""
    made: Entries = []
    for place, (entry, home) in enumerate(entries):
        if entry["role"] == "system":
            before = made[-1][0]["role"] if made else ""
            after = entries[place + 1][0]["role"] if place + 1 < len(entries) else "assistant"
            if before != "user" or after != "assistant":
                notes.add("note")
                content = entry["content"]
                if not isinstance(content, str):
                    content = [block if block["type"] == "text" else as_text(block) for block in content]
                entry = {**entry, "role": "user", "content": content}
        made.append((entry, home))
    return made


def with_trimmed_end(entries: Entries, notes: Notes) -> Entries:
    if not entries or entries[-1][0]["role"] != "assistant":
        return entries
    entry, home = entries[-1]
    content = entry["content"]
    text = content if isinstance(content, str) else content[-1].get("text", "")
    if not isinstance(text, str) or text == text.rstrip():
        return entries
    notes.add("blanks")
    made = text.rstrip() if isinstance(content, str) else [*content[:-1], {**content[-1], "text": text.rstrip()}]
    return [*entries[:-1], ({**entry, "content": made}, home)]


def thoughtless(messages: list[Json]) -> bool:
    """Whether a reply whose calls were just answered lacks the thought that the API wants before them."""
    if messages[-1]["role"] == "assistant":
        return False
    loop: list[Json] = []
    for message in reversed(messages):
        content = message["content"]
        if message["role"] == "user" and (isinstance(content, str) or content[0]["type"] != "tool_result"):
            break
        loop += [message] if message["role"] == "assistant" else []
    first = (m["content"][0] for m in loop if not isinstance(m["content"], str))
    return bool(loop) and not any(block["type"] in THOUGHTS for block in first)


HOLDERS = ("tools", "system", "messages", "content")
"""Where cache marks may stand, in the order in which the API reads them."""


def marks(value: Json) -> int:
    if isinstance(value, list):
        return sum(map(marks, value))
    if not isinstance(value, dict):
        return 0
    return bool(value.get("cache_control")) + sum(marks(value.get(key)) for key in HOLDERS)


def unmarked(value: Json, surplus: int) -> tuple[Json, int]:
    """Without its first marks: the newest are the ones that matter."""
    if isinstance(value, list):
        made = []
        for item in value:
            item, surplus = unmarked(item, surplus) if surplus else (item, 0)
            made.append(item)
        return made, surplus
    if not isinstance(value, dict):
        return value, surplus
    for key in HOLDERS:
        if surplus and key in value:
            inner, surplus = unmarked(value[key], surplus)
            value = {**value, key: inner}
    if surplus and value.get("cache_control"):
        return {key: item for key, item in value.items() if key != "cache_control"}, surplus - 1
    return value, surplus
