"""Ollama: contents are texts, arguments are objects, ids are optional and results may go by the name of their call."""

from __future__ import annotations

from yohaku.doctor.kit import NO_RESULT, Ask, Json, Unit, name_of, object_of, orphan_text, text_of
from yohaku.doctor.kits.openai_chat import OpenAIChatKit
from yohaku.doctor.notes import Notes


class OllamaKit(OpenAIChatKit):
    roles = ("system", "user", "assistant", "tool")
    needs_ids = False

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        if isinstance(entry, dict) and entry.get("role") in ("developer", "function"):
            role = {"developer": "system", "function": "tool"}[entry["role"]]
            notes.add("role", entry["role"], role)
            entry = {**entry, "role": role}
        made = [self.plain(each, notes) for each in super().shaped(entry, notes)]
        return [each for each in made if each is not None]

    def plain(self, entry: dict[str, Json], notes: Notes) -> Json:
        shaped = dict(entry)
        if entry["role"] == "tool" and not entry.get("tool_call_id"):
            shaped.pop("tool_call_id", None)
        for field in ("tool_name", "name"):
            if not isinstance(entry.get(field, ""), str):
                notes.add("shape", field)
                del shaped[field]
        content = entry.get("content")
        if not isinstance(content, str) and not (content is None and entry.get("tool_calls")):
            shaped["content"] = text_of(content)
        images = entry.get("images")
        if images is not None and not (isinstance(images, list) and all(isinstance(i, str) and i for i in images)):
            notes.add("shape", "images")
            kept = [image for image in images if isinstance(image, str) and image] if isinstance(images, list) else []
            shaped["images"] = kept
        if entry.get("thinking") and not isinstance(entry["thinking"], str):
            notes.add("shape", "thinking")
            shaped["thinking"] = text_of(entry["thinking"])
        return entry if shaped == entry else shaped

    def content(self, entry: dict[str, Json], notes: Notes) -> Json:
        content = entry.get("content")
        if isinstance(content, str):
            return content
        if content is None:
            return "" if entry.get("images") or entry.get("thinking") else None
        notes.add("shape", "content")
        blocks = content if isinstance(content, list) else [content]
        texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
        words = [text if isinstance(text, str) else text_of(block) for text, block in zip(texts, blocks, strict=True)]
        return "\n".join(filter(None, words)) or None

    def with_function_call(self, entry: dict[str, Json], notes: Notes) -> dict[str, Json]:
        return entry

    def call(self, call: Json, notes: Notes) -> Json:
        if not isinstance(call, dict):
            notes.add("shape", "tool_calls")
            return None
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name = name_of(function.get("name"), notes)
        made = {**call, "function": {**function, "name": name}}
        made["function"]["arguments"] = object_of(function.get("arguments", {}), notes, name)
        if "id" in call and not isinstance(call["id"], str):
            made["id"] = text_of(call["id"])
        if made != call:
            notes.add("shape", "tool_calls")
        return call if made == call else made

    def units(self, entry: Json, home: int) -> list[Unit]:
        if entry["role"] != "tool":
            return super().units(entry, home)
        name = entry.get("tool_name") or entry.get("name") or ""
        return [Unit("answer", entry, home, id=entry.get("tool_call_id") or "", name=name)]

    def asks(self, entry: Json) -> list[Ask]:
        calls = entry.get("tool_calls") or ()
        return [Ask(call.get("id") or "", call["function"]["name"], place) for place, call in enumerate(calls)]

    def fitted(self, answer: Json, ask: Ask) -> Json:
        made = dict(answer)
        for field in ("tool_name", "name"):
            if made.get(field) and made[field] != ask.name:
                made[field] = ask.name
        if made.get("tool_call_id") and made["tool_call_id"] != ask.id:
            del made["tool_call_id"]
            made |= {"tool_call_id": ask.id} if ask.id else {}
        return answer if made == answer else made

    def answer(self, ask: Ask) -> Json:
        named = {"tool_call_id": ask.id} if ask.id else {}
        return {"role": "tool", "tool_name": ask.name, **named, "content": NO_RESULT}

    def told(self, unit: Unit) -> Json:
        rest = {"images": unit.entry["images"]} if unit.entry.get("images") else {}
        return {"role": "user", "content": orphan_text(unit.name or unit.id, unit.entry["content"] or ""), **rest}


KIT = OllamaKit
