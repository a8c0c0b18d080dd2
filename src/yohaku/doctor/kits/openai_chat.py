"""OpenAI chat: a reply is one message, and its results follow at once, one message each."""

from __future__ import annotations

from typing import ClassVar

from yohaku.doctor.kit import (
    NO_RESULT,
    Ask,
    Json,
    Kit,
    Unit,
    list_of_objects,
    name_of,
    nearest,
    object_text,
    orphan_text,
    role_for,
    text_of,
)
from yohaku.doctor.notes import Notes

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
MEDIA = ("image_url", "input_audio", "file", "document_url", "video_url")
PARTS = {
    "user": ("text", *MEDIA),
    "assistant": ("text", "refusal", "thinking", "reference"),
    "tool": ("text", "image_url"),
}
BESIDE_WORDS = ("tool_calls", "function_call", "refusal", "audio")
"""What lets a message of the model's have no content."""


class OpenAIChatKit(Kit):
    roles: ClassVar[tuple[str, ...]] = ROLES

    def beside(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        return with_lawful_tools(body, notes)

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        if isinstance(entry, str) and entry.strip():
            notes.add("shape", "text")
            return [{"role": "user", "content": entry}]
        if not isinstance(entry, dict):
            notes.add("no_entry", text_of(entry))
            return []
        role = role_for(entry, self.roles, notes)
        shaped = entry if entry.get("role") == role else {**entry, "role": role}
        shaped = self.with_calls(shaped, notes)
        content = self.content(shaped, notes)
        if content is None and not (role == "assistant" and any(shaped.get(key) for key in BESIDE_WORDS)):
            if role not in ("tool", "function"):
                notes.add("empty")
                return []
            notes.add("empty_result")
            content = ""
        if content is not shaped.get("content") or ("content" not in shaped and content is not None):
            shaped = {**shaped, "content": content}
        if role == "tool" and not isinstance(shaped.get("tool_call_id"), str):
            shaped = {**shaped, "tool_call_id": text_of(shaped.get("tool_call_id"))}
        return [shaped]

    def content(self, entry: dict[str, Json], notes: Notes) -> Json:
        """The content in a lawful shape; None for nothing."""
        content, role = entry.get("content"), entry["role"]
        if isinstance(content, str) or content is None:
            return content
        if content == [] and role == "assistant" and entry.get("tool_calls"):
            return content
        if not isinstance(content, list):
            notes.add("shape", "content")
            content = [content] if isinstance(content, dict) and content else text_of(content)
            if isinstance(content, str):
                return content or None
        parts = [part for block in content for part in self.part(block, role, notes)]
        same = len(parts) == len(content) and all(new is old for new, old in zip(parts, content, strict=True))
        return content if same and content else parts or None

    def part(self, block: Json, role: str, notes: Notes) -> list[Json]:
        known = PARTS.get(role, ("text",))
        if not isinstance(block, dict):
            notes.add("shape", "content")
            return [{"type": "text", "text": text_of(block)}] if block not in (None, "", [], {}) else []
        kind = block.get("type")
        if not (isinstance(kind, str) and kind in known):
            kind = nearest(kind, known) or next((name for name in known if name in block), "")
            if kind:
                notes.add("block", text_of(block.get("type")), kind)
                block = {**block, "type": kind}
        if kind == "text" and isinstance(block.get("text"), str):
            return [block]
        if kind in ("thinking", "reference", "refusal") or (kind in MEDIA and block.get(kind)):
            return [block]
        notes.add("block", text_of(block.get("type")), "text")
        said = block.get("text")
        return [{"type": "text", "text": said if isinstance(said, str) else text_of(block)}]

    def with_calls(self, entry: dict[str, Json], notes: Notes) -> dict[str, Json]:
        entry = self.with_function_call(entry, notes)
        if "tool_calls" not in entry:
            return entry
        calls, rest = entry["tool_calls"], {key: value for key, value in entry.items() if key != "tool_calls"}
        if calls is None:
            return entry
        if entry["role"] != "assistant":
            notes.add("misplaced_calls")
            return rest
        if calls == [] and "prefix" in entry:
            return entry
        if not isinstance(calls, list):
            notes.add("shape", "tool_calls")
            calls = [calls]
        made = [call for old in calls if (call := self.call(old, notes)) is not None]
        if not made:
            notes.add("shape", "tool_calls")
            return rest
        same = made == entry["tool_calls"]
        return entry if same else {**rest, "tool_calls": made}

    def with_function_call(self, entry: dict[str, Json], notes: Notes) -> dict[str, Json]:
        """The older form of a call: one a message, without an id."""
        asked = entry.get("function_call")
        if "function_call" not in entry or asked is None:
            return entry
        good = isinstance(asked, dict) and isinstance(asked.get("name"), str) and entry["role"] == "assistant"
        if good and not asked["name"] and not asked.get("arguments"):
            return entry  # a field that some servers fill with nothing
        if not good or entry.get("tool_calls"):
            notes.add("shape", "function_call")
            return {key: value for key, value in entry.items() if key != "function_call"}
        arguments = object_text(asked.get("arguments", ""), notes, asked["name"])
        lawful = {**asked, "name": name_of(asked["name"], notes), "arguments": arguments}
        return entry if lawful == asked else {**entry, "function_call": lawful}

    def call(self, call: Json, notes: Notes) -> Json:
        if not isinstance(call, dict):
            notes.add("shape", "tool_calls")
            return None
        call_id = call.get("id") if isinstance(call.get("id"), str) else text_of(call.get("id"))
        custom = call.get("custom")
        if isinstance(custom, dict) and (custom.get("name") or not isinstance(call.get("function"), dict)):
            said = custom.get("input")
            custom = {**custom, "name": name_of(custom.get("name"), notes), "input": text_of(said)}
            made = {**call, "id": call_id, "type": "custom", "custom": custom}
            if isinstance(made.get("function"), dict):
                del made["function"]
        else:
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            name = name_of(function.get("name"), notes)
            arguments = object_text(function.get("arguments", ""), notes, name)
            made = {**call, "id": call_id, "type": "function"}
            made["function"] = {**function, "name": name, "arguments": arguments}
            if isinstance(made.get("custom"), dict):
                del made["custom"]
        if made != call:
            notes.add("shape", "tool_calls")
        return call if made == call else made

    def units(self, entry: Json, home: int) -> list[Unit]:
        match entry["role"]:
            case "assistant":
                return [Unit("reply", entry, home, tuple(self.asks(entry)))]
            case "tool":
                return [Unit("answer", entry, home, id=entry["tool_call_id"])]
            case "function":
                return [Unit("answer", entry, home, name=text_of(entry.get("name")))]
        return [Unit("other", entry, home)]

    def asks(self, entry: Json) -> list[Ask]:
        calls = entry.get("tool_calls") or ()
        asks = [
            Ask(call["id"], (call.get("function") or call.get("custom"))["name"], place)
            for place, call in enumerate(calls)
        ]
        asked = entry.get("function_call")
        return [*asks, Ask("", asked["name"], -1, "legacy")] if asked and asked["name"] else asks

    def renamed(self, entry: Json, ask: Ask, new: str) -> Json:
        calls = list(entry["tool_calls"])
        calls[ask.place] = {**calls[ask.place], "id": new}
        return {**entry, "tool_calls": calls}

    def fitted(self, answer: Json, ask: Ask) -> Json:
        if ask.kind == "legacy":
            named = isinstance(answer.get("name"), str)
            return answer if answer["role"] == "function" and named else {**self.answer(ask), **_content_of(answer)}
        if answer["role"] == "tool" and answer.get("tool_call_id") == ask.id:
            return answer
        rest = {key: value for key, value in answer.items() if key != "name"}
        return {**rest, "role": "tool", "tool_call_id": ask.id}

    def answer(self, ask: Ask) -> Json:
        if ask.kind == "legacy":
            return {"role": "function", "name": ask.name, "content": NO_RESULT}
        return {"role": "tool", "tool_call_id": ask.id, "content": NO_RESULT}

    def told(self, unit: Unit) -> Json:
        content = unit.entry["content"]
        if isinstance(content, str):
            return {"role": "user", "content": orphan_text(unit.name or unit.id, content)}
        return {"role": "user", "content": [{"type": "text", "text": orphan_text(unit.name or unit.id, "")}, *content]}


def _content_of(answer: Json) -> dict[str, Json]:
    return {"content": text_of(answer["content"])}


def with_lawful_tools(body: dict[str, Json], notes: Notes) -> dict[str, Json]:
    """Tool definitions that are none are left out: nothing can be made of them."""
    tools = body.get("tools")
    if tools is None or list_of_objects(tools):
        return body
    notes.add("tools")
    kept = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    rest = {key: value for key, value in body.items() if key != "tools"}
    return {**rest, "tools": kept} if kept else rest


KIT = OpenAIChatKit
