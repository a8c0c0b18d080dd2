"""OpenAI Responses: a reply is a run of items, calls and their outputs are items found by call_id."""

from __future__ import annotations

from yohaku.dialects.openai_responses import LASTING, TYPED
from yohaku.doctor.kit import (
    NO_RESULT,
    Ask,
    Json,
    Kit,
    Unit,
    name_of,
    nearest,
    object_text,
    orphan_text,
    role_for,
    text_of,
)
from yohaku.doctor.kits.openai_chat import with_lawful_tools
from yohaku.doctor.notes import Notes

CALLS = ("function_call", "custom_tool_call", *TYPED)
ANSWERS = {
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
    **{kind: f"{kind}_output" for kind in ("function_call", *TYPED) if kind != "tool_search_call"},
}
"""The item that answers each kind of call."""
OUTPUTS = tuple(ANSWERS.values())
SERVED = (
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools", "mcp_approval_request", "compaction",
)  # fmt: skip
OTHER = ("item_reference", "mcp_approval_response", "additional_tools", "compaction_trigger", "compaction_summary")
KNOWN = ("message", "reasoning", *CALLS, *OUTPUTS, *SERVED, *OTHER)
ROLES = ("user", "assistant", "system", "developer")
MEDIA = ("input_image", "input_file", "input_audio")
PARTS = {"assistant": ("output_text", "refusal")}
GIVEN = ("input_text", *MEDIA)


class OpenAIResponsesKit(Kit):
    joined = True
    unique = True

    def beside(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        body = with_lawful_tools(body, notes)
        if body.get("instructions") and not isinstance(body["instructions"], str):
            notes.add("shape", "instructions")
            body = {**body, "instructions": text_of(body["instructions"])}
        self.partial = bool(body.get("previous_response_id") or body.get("conversation"))
        return body

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        if isinstance(entry, str) and entry.strip():
            notes.add("shape", "text")
            return [{"role": "user", "content": entry}]
        if not isinstance(entry, dict):
            notes.add("no_entry", text_of(entry))
            return []
        kind = entry.get("type") or "message"
        if not (isinstance(kind, str) and kind in KNOWN):
            kind = nearest(kind, KNOWN) or ("message" if "role" in entry else _by_fields(entry))
            notes.add("block", text_of(entry.get("type")), kind or "text")
            if not kind:
                return [{"role": "assistant", "content": text_of(entry)}]
            entry = {**entry, "type": kind}
        return self.item(entry, kind, notes)

    def item(self, entry: dict[str, Json], kind: str, notes: Notes) -> list[Json]:
        self.partial = self.partial or kind == "item_reference"
        if kind == "message":
            return self.message(entry, notes)
        if kind == "reasoning":
            good = isinstance(entry.get("summary"), list)
            if not good:
                notes.add("shape", "reasoning")
            return [entry if good else {**entry, "summary": []}]
        if kind in ("tool_search_call", "tool_search_output"):
            return self.search(entry, kind, notes)
        if kind in CALLS:
            return [self.call(entry, kind, notes)]
        if kind in OUTPUTS:
            return [self.output(entry, kind, notes)]
        return [entry]

    def message(self, entry: dict[str, Json], notes: Notes) -> list[Json]:
        role = role_for(entry, ROLES, notes)
        shaped = entry if entry.get("role") == role else {**entry, "role": role}
        content = entry.get("content")
        if isinstance(content, str):
            return [shaped]
        old = content if isinstance(content, list) else [] if content is None else [content]
        parts = [made for part in old for made in self.part(part, PARTS.get(role, GIVEN), notes)]
        if not parts:
            notes.add("empty")
            return []
        return [shaped if parts == content else {**shaped, "content": parts}]

    def part(self, part: Json, known: tuple[str, ...], notes: Notes) -> list[Json]:
        if not isinstance(part, dict):
            notes.add("shape", "content")
            return [{"type": known[0], "text": text_of(part)}] if part not in (None, "", [], {}) else []
        kind = part.get("type")
        lawful = isinstance(kind, str) and kind in known
        if lawful and (not str(kind).endswith("_text") or isinstance(part.get("text"), str)):
            return [part]
        if isinstance(part.get("text"), str):
            notes.add("block", text_of(kind), known[0])
            return [{**part, "type": known[0]}]
        meant = "" if lawful else nearest(kind, [name for name in known if not name.endswith("_text")])
        notes.add("block", text_of(kind), meant or known[0])
        return [{**part, "type": meant}] if meant else [{"type": known[0], "text": text_of(part)}]

    def search(self, entry: dict[str, Json], kind: str, notes: Notes) -> list[Json]:
        made = dict(entry)
        if entry.get("execution") not in ("client", "server"):
            notes.add("shape", kind)
            made["execution"] = "server"
        if made["execution"] == "client" and not isinstance(_call_id(made), str):
            made["call_id"] = text_of(made.get("call_id"))
        if kind == "tool_search_output" and not isinstance(made.get("tools"), list):
            notes.add("shape", kind)
            made["tools"] = []
        return [entry if made == entry else made]

    def call(self, entry: dict[str, Json], kind: str, notes: Notes) -> dict[str, Json]:
        made = dict(entry)
        if kind in TYPED:
            if not isinstance(_call_id(entry), str):
                made["call_id"] = text_of(_call_id(entry))
            return entry if made == entry else made
        made["name"] = name_of(entry.get("name"), notes)
        made["call_id"] = text_of(entry.get("call_id"))
        if kind == "function_call":
            made["arguments"] = object_text(entry.get("arguments", ""), notes, made["name"])
        else:
            made["input"] = text_of(entry.get("input"))
        if made != entry:
            notes.add("shape", kind)
        return entry if made == entry else made

    def output(self, entry: dict[str, Json], kind: str, notes: Notes) -> dict[str, Json]:
        made = dict(entry)
        if not isinstance(_call_id(entry), str):
            made["call_id"] = text_of(_call_id(entry))
        if kind not in ("function_call_output", "custom_tool_call_output"):
            return self.typed_output(made, kind, notes)
        made["call_id"] = text_of(entry.get("call_id"))
        output = entry.get("output")
        if isinstance(output, list):
            parts = [each for part in output for each in self.part(part, GIVEN, notes)]
            made["output"] = output if parts == output else parts
        elif not isinstance(output, str):
            notes.add("shape", kind)
            made["output"] = text_of(output)
        return entry if made == entry else made

    def typed_output(self, entry: dict[str, Json], kind: str, notes: Notes) -> dict[str, Json]:
        output = entry.get("output")
        if output is None or isinstance(output, str):
            return entry
        if (kind == "shell_call_output" and isinstance(output, list)) or kind == "computer_call_output":
            return entry
        if isinstance(output, list) and all(isinstance(part, dict) for part in output):
            return entry
        notes.add("shape", kind)
        return {**entry, "output": text_of(output)}

    def units(self, entry: Json, home: int) -> list[Unit]:
        kind = entry.get("type") or "message"
        served = kind in ("tool_search_call", "tool_search_output") and entry.get("execution") == "server"
        if kind == "message":
            by = {"assistant": "reply", "user": "other"}.get(entry["role"], "note")
            return [Unit(by, entry, home)]  # type: ignore[arg-type]
        if kind in CALLS and not served:
            name = entry["name"] if kind not in TYPED else kind
            return [Unit("reply", entry, home, (Ask(_call_id(entry) or "", name, 0, kind),))]
        if kind in OUTPUTS and not served:
            return [Unit("answer", entry, home, id=_call_id(entry) or "")]
        if kind in LASTING:
            return [Unit("note", entry, home)]
        by_model = kind != "compaction_trigger" and entry.get("role", "assistant") == "assistant"
        return [Unit("reply" if by_model else "other", entry, home)]

    def renamed(self, entry: Json, ask: Ask, new: str) -> Json:
        return {**entry, "call_id": new}

    def fitted(self, answer: Json, ask: Ask) -> Json:
        kind = ANSWERS[ask.kind]
        if answer["type"] == kind and _call_id(answer) == ask.id:
            return answer
        if kind == "tool_search_output" != answer["type"]:
            return self.answer(ask)
        made = {**answer, "type": kind, "call_id": ask.id}
        if kind in ("function_call_output", "custom_tool_call_output") and not isinstance(
            answer.get("output"), str | list
        ):
            made["output"] = text_of(answer.get("output"))
        return made

    def answer(self, ask: Ask) -> Json:
        if ask.kind == "tool_search_call":
            return {"type": "tool_search_output", "execution": "client", "call_id": ask.id, "tools": []}
        return {"type": ANSWERS[ask.kind], "call_id": ask.id, "output": NO_RESULT}

    def told(self, unit: Unit) -> Json:
        output = unit.entry.get("output", unit.entry.get("tools"))
        if isinstance(output, list) and all(isinstance(p, dict) and p.get("type") in GIVEN for p in output):
            return {"role": "user", "content": [{"type": "input_text", "text": orphan_text(unit.id, "")}, *output]}
        return {"role": "user", "content": orphan_text(unit.id, text_of(output))}

    def finished(self, entries: list[tuple[Json, int | None]], notes: Notes) -> list[tuple[Json, int | None]]:
        searched = False
        kept: list[tuple[Json, int | None]] = []
        for entry, home in entries:
            served = entry.get("execution") == "server"
            searched = searched or (served and entry.get("type") == "tool_search_call")
            if served and entry.get("type") == "tool_search_output" and not searched:
                notes.add("orphan", "tool_search_output")
                entry = {"role": "assistant", "content": text_of(entry)}
            kept.append((entry, home))
        return _without_lone_thoughts(kept, notes)


def _without_lone_thoughts(entries: list[tuple[Json, int | None]], notes: Notes) -> list[tuple[Json, int | None]]:
    """A thought must be followed by what it led to."""
    kept: list[tuple[Json, int | None]] = []
    led = False
    for entry, home in reversed(entries):
        kind = entry.get("type") or "message"
        if kind == "reasoning" and not led:
            notes.add("thought")
            continue
        led = kind in ("reasoning", *CALLS, *SERVED) or (kind == "message" and entry.get("role") == "assistant")
        kept.append((entry, home))
    return kept[::-1]


def _call_id(entry: dict[str, Json]) -> Json:
    return entry.get("call_id") or entry.get("id")


def _by_fields(entry: dict[str, Json]) -> str:
    if "call_id" in entry:
        return "function_call_output" if "output" in entry else "function_call" if "arguments" in entry else ""
    return "message" if "content" in entry else ""


KIT = OpenAIResponsesKit
