"""trajectory-v1 rows: OpenAI chat with its calls laid flat, and contents that are texts."""

from __future__ import annotations

from yohaku.doctor.kit import Ask, Json, name_of, object_text, text_of
from yohaku.doctor.kits.openai_chat import OpenAIChatKit
from yohaku.doctor.notes import Notes


class TrajectoryKit(OpenAIChatKit):
    roles = ("system", "user", "assistant", "tool")
    unique = True

    def content(self, entry: dict[str, Json], notes: Notes) -> Json:
        content = entry.get("content")
        if content is None or isinstance(content, str):
            return content
        notes.add("shape", "content")
        blocks = content if isinstance(content, list) else [content]
        texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
        words = [text if isinstance(text, str) else text_of(block) for text, block in zip(texts, blocks, strict=True)]
        return "\n".join(filter(None, words)) or None

    def with_function_call(self, entry: dict[str, Json], notes: Notes) -> dict[str, Json]:
        return entry

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        shaped = super().shaped(entry, notes)
        # What lets a message of another format have no content means nothing here.
        return [row for row in shaped if isinstance(row.get("content"), str) or row.get("tool_calls")]

    def call(self, call: Json, notes: Notes) -> Json:
        if not isinstance(call, dict):
            notes.add("shape", "tool_calls")
            return None
        inner = call.get("function")
        said = {**call, **inner} if isinstance(inner, dict) else call
        name = name_of(said.get("name"), notes)
        made = {key: value for key, value in said.items() if key != "function"}
        made |= {"id": text_of(call.get("id")), "name": name}
        made["arguments"] = object_text(said.get("arguments", ""), notes, name)
        if made != call:
            notes.add("shape", "tool_calls")
        return call if made == call else made

    def asks(self, entry: Json) -> list[Ask]:
        return [Ask(call["id"], call["name"], place) for place, call in enumerate(entry.get("tool_calls") or ())]


KIT = TrajectoryKit
