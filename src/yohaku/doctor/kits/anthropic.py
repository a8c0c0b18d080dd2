"""Anthropic: contents of blocks; the user's entry after a reply with calls begins with their results."""

from __future__ import annotations

from collections.abc import Iterator

from yohaku.core.folds import ref_of
from yohaku.dialects.anthropic import LAWFUL_ID, OPENING, THOUGHTS
from yohaku.doctor.kit import (
    NO_RESULT,
    Ask,
    Json,
    Kit,
    Unit,
    name_of,
    nearest,
    object_of,
    orphan_text,
    role_for,
    text_of,
)
from yohaku.doctor.kits.anthropic_rules import (
    SERVED,
    SERVED_RESULT,
    as_text,
    marks,
    thoughtless,
    unmarked,
    with_notes_in_place,
    with_served_calls,
    with_trimmed_end,
    without_late_thoughts,
)
from yohaku.doctor.kits.openai_chat import with_lawful_tools
from yohaku.doctor.notes import Notes

MEDIA = ("image", "document", "search_result", "container_upload")
KNOWN = {
    "user": ("text", "tool_result", "mid_conv_system", *MEDIA),
    "assistant": ("text", "tool_use", "compaction", "fallback", *SERVED, *THOUGHTS),
    "system": ("text", "tool_addition", "tool_removal"),
}
IN_RESULT = ("text", "tool_reference", *MEDIA)
MARKS = 4
"""Cache marks a request may have."""


class AnthropicKit(Kit):
    joined = True
    blocks = True

    def beside(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        body = with_lawful_tools(body, notes)
        if isinstance(body.get("tools"), list) and not all(_named(tool) for tool in body["tools"]):
            notes.add("tools")
            body = {**body, "tools": [tool for tool in body["tools"] if _named(tool)]}
        system = body.get("system")
        if system is not None and not isinstance(system, str):
            kept = [b for b in system if _is_text(b)] if isinstance(system, list) else []
            if kept != system:
                notes.add("shape", "system")
                words = [text_of(b) for b in system if b not in kept] if isinstance(system, list) else [text_of(system)]
                kept += [{"type": "text", "text": text} for text in words if text.strip()]
                body = {**body, "system": kept}
        if body.get("thinking") is not None and not isinstance(body["thinking"], dict):
            notes.add("shape", "thinking")
            body = {key: value for key, value in body.items() if key != "thinking"}
        return body

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        if isinstance(entry, str):
            entry = {"content": entry}
        if not isinstance(entry, dict):
            notes.add("no_entry", text_of(entry))
            return []
        role = role_for(entry, ("user", "assistant", "system"), notes)
        content = entry.get("content")
        if isinstance(content, str):
            if not content.strip():
                notes.add("empty")
                return []
            return [entry if entry.get("role") == role else {**entry, "role": role}]
        old = content if isinstance(content, list) else [] if content is None else [content]
        blocks = [made for block in old for made in self.block(block, role, notes)]
        if not blocks:
            notes.add("empty")
            return []
        ordered = sorted(blocks, key=lambda block: block["type"] != "tool_result") if role == "user" else blocks
        if ordered != blocks:
            notes.add("moved")
            blocks = ordered
        same = isinstance(content, list) and len(blocks) == len(old)
        same = same and all(new is was for new, was in zip(blocks, old, strict=True))
        return [entry if same and entry.get("role") == role else {**entry, "role": role, "content": blocks}]

    def block(self, block: Json, role: str, notes: Notes) -> list[Json]:
        if not isinstance(block, dict):
            notes.add("shape", "content")
            words = text_of(block)
            return [{"type": "text", "text": words}] if words.strip() else []
        kind, known = block.get("type"), KNOWN[role]
        if role == "assistant" and isinstance(kind, str) and SERVED_RESULT.fullmatch(kind):
            return [block]
        if not (isinstance(kind, str) and kind in known):
            kind = nearest(kind, known) or _by_fields(block, role)
            notes.add("block", text_of(block.get("type")), kind or "text")
            block = {**block, "type": kind} if kind else as_text(block)
        made = self.lawful(block, notes)
        if made is None:
            notes.add("block", block["type"], "text")
            made = as_text(block)
        return [made] if made.get("type") != "text" or made["text"].strip() else []

    def lawful(self, block: dict[str, Json], notes: Notes) -> dict[str, Json] | None:
        """The block as its kind wants it; None if it cannot be one of that kind."""
        match block["type"]:
            case "text":
                return block if isinstance(block.get("text"), str) else None
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                return _lawful_call(block, notes)
            case "tool_result":
                return self.result(block, notes)
            case "thinking":
                good = isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str)
                if not good or not block["signature"]:
                    return None
                marked = "cache_control" in block
                return {key: value for key, value in block.items() if key != "cache_control"} if marked else block
            case "redacted_thinking":
                return block if block.get("data") else None
            case "image" | "document":
                return block if isinstance(block.get("source"), dict) else None
        return block

    def result(self, block: dict[str, Json], notes: Notes) -> dict[str, Json]:
        made = dict(block)
        if not isinstance(block.get("tool_use_id"), str):
            made["tool_use_id"] = text_of(block.get("tool_use_id"))
        content = block.get("content", "")
        if not isinstance(content, str):
            old = content if isinstance(content, list) else [content] if content else []
            parts = [part for each in old for part in self.in_result(each)]
            if parts != content:
                notes.add("shape", "tool_result")
                made["content"] = parts or ""
        return block if made == block else made

    def in_result(self, part: Json) -> list[Json]:
        if isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in IN_RESULT:
            if part["type"] == "text":
                text = text_of(part.get("text"))
                return [part if part.get("text") == text else {**part, "text": text}] if text else []
            if part["type"] not in ("image", "document") or isinstance(part.get("source"), dict):
                return [part]
        words = text_of(part.get("text") if isinstance(part, dict) and isinstance(part.get("text"), str) else part)
        return [{"type": "text", "text": words}] if words else []

    def units(self, entry: Json, home: int) -> list[Unit]:
        content = entry["content"]
        if entry["role"] != "user" or isinstance(content, str):
            asks = () if isinstance(content, str) else tuple(_asks(content))
            return [Unit("reply" if entry["role"] == "assistant" else "other", entry, home, asks)]
        answers = [b for b in content if b["type"] == "tool_result"]
        units = [Unit("answer", block, home, id=block["tool_use_id"]) for block in answers]
        rest = [b for b in content if b["type"] != "tool_result"]
        if not rest:
            return units
        return [*units, Unit("other", {**entry, "content": rest} if answers else entry, home)]

    def renamed(self, entry: Json, ask: Ask, new: str) -> Json:
        content = list(entry["content"])
        content[ask.place] = {**content[ask.place], "id": new}
        return {**entry, "content": content}

    def fitted(self, answer: Json, ask: Ask) -> Json:
        return answer if answer.get("tool_use_id") == ask.id else {**answer, "tool_use_id": ask.id}

    def answer(self, ask: Ask) -> Json:
        return {"type": "tool_result", "tool_use_id": ask.id, "content": NO_RESULT, "is_error": True}

    def gathered(self, answers: list[Json]) -> Json:
        return {"role": "user", "content": answers}

    def told(self, unit: Unit) -> Json:
        return {"role": "user", "content": orphan_blocks(unit.entry)}

    def finished(self, entries: list[tuple[Json, int | None]], notes: Notes) -> list[tuple[Json, int | None]]:
        entries = [(without_late_thoughts(entry, notes), home) for entry, home in entries]
        entries = with_served_calls([pair for pair in entries if pair[0] is not None], notes)
        entries = with_notes_in_place(entries, notes)
        if entries and entries[0][0]["role"] != "user":
            notes.add("opening")
            entries = [({"role": "user", "content": OPENING}, None), *entries]
        return with_trimmed_end(entries, notes)

    def whole(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        if (body.get("thinking") or {}).get("type") == "enabled" and thoughtless(body["messages"]):
            notes.add("thinking")
            body = {key: value for key, value in body.items() if key != "thinking"}
        surplus = marks(body) - MARKS
        if surplus > 0:
            notes.add("marks")
            body, _ = unmarked(body, surplus)
        return body


def _named(tool: dict[str, Json]) -> bool:
    return isinstance(tool.get("name", ""), str)


def _is_text(block: Json) -> bool:
    good = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    return good and bool(block["text"].strip())


def _by_fields(block: dict[str, Json], role: str) -> str:
    """What kind of block has these fields."""
    if role == "assistant" and "input" in block and "name" in block:
        return "tool_use"
    if role == "user" and "tool_use_id" in block:
        return "tool_result"
    return "text" if isinstance(block.get("text"), str) else ""


def _lawful_call(block: dict[str, Json], notes: Notes) -> dict[str, Json] | None:
    call_id, name = block.get("id"), name_of(block.get("name"), notes)
    made = {**block, "name": name, "input": object_of(block.get("input", {}), notes, name)}
    if not isinstance(call_id, str) or (call_id and not LAWFUL_ID.fullmatch(call_id)):
        made["id"] = f"call_{ref_of(call_id)}" if isinstance(call_id, str) else ""
    if made["type"] != "tool_use" and not made["id"]:
        return None
    return block if made == block else made


def _asks(content: list[Json]) -> Iterator[Ask]:
    for place, block in enumerate(content):
        if block["type"] == "tool_use":
            yield Ask(block["id"], block["name"], place)


def orphan_blocks(block: dict[str, Json]) -> list[Json]:
    content = block.get("content") or ""
    if isinstance(content, str):
        return [{"type": "text", "text": orphan_text(block["tool_use_id"], content)}]
    blank = [part for part in content if part["type"] == "text" and not part["text"].strip()]
    kept = [part if part["type"] != "tool_reference" else as_text(part) for part in content if part not in blank]
    return [{"type": "text", "text": orphan_text(block["tool_use_id"], "")}, *kept]


KIT = AnthropicKit
