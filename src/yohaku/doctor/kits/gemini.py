"""Gemini: contents of parts, each with one kind of data; all results of a reply stand in the content after it."""

from __future__ import annotations

from collections.abc import Iterator

from yohaku.dialects.gemini import OPENING
from yohaku.doctor.kit import NO_RESULT, Ask, Json, Kit, Unit, name_of, nearest, object_of, orphan_text, text_of
from yohaku.doctor.notes import Notes

DATA = (
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
)  # fmt: skip
SNAKES = {
    "inline_data": "inlineData",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
}
MIMES = ("mimeType", "mime_type")
BESIDE = ("thought", "thoughtSignature", "thought_signature")


class GeminiKit(Kit):
    joined = True
    blocks = True
    together = True
    needs_ids = False

    def beside(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        for key in ("systemInstruction", "system_instruction"):
            if key in body:
                body = self._with_system(body, key, notes)
        tools = body.get("tools")
        if tools is None or (isinstance(tools, dict) and _declares(tools)):
            return body
        kept = (
            [group for group in tools if isinstance(group, dict) and _declares(group)]
            if isinstance(tools, list)
            else []
        )
        if kept == tools:
            return body
        notes.add("tools")
        rest = {key: value for key, value in body.items() if key != "tools"}
        return {**rest, "tools": kept} if kept else rest

    def _with_system(self, body: dict[str, Json], key: str, notes: Notes) -> dict[str, Json]:
        system = body[key]
        parts = self.parts(system if isinstance(system, dict) else {"parts": [system]}, "system", notes)
        if isinstance(system, dict) and parts == system.get("parts") and parts:
            return body
        if not isinstance(system, dict):
            notes.add("shape", key)
        rest = {name: value for name, value in body.items() if name != key}
        return {**rest, key: {**(system if isinstance(system, dict) else {}), "parts": parts}} if parts else rest

    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        if isinstance(entry, str):
            notes.add("shape", "text")
            entry = {"parts": [{"text": entry}]} if entry.strip() else None
        if not isinstance(entry, dict):
            notes.add("no_entry", text_of(entry))
            return []
        role = entry.get("role")
        if not (role is None or (isinstance(role, str) and role in ("user", "model", "function"))):
            meant = nearest(role, ("user", "model", "function")) or {"assistant": "model"}.get(str(role), "user")
            notes.add("role", text_of(role), meant)
            role, entry = meant, {**entry, "role": meant}
        parts = self.parts(entry, "model" if role == "model" else "user", notes)
        if not parts:
            notes.add("empty")
            return []
        old = entry.get("parts")
        same = isinstance(old, list) and len(parts) == len(old)
        same = same and all(new is was for new, was in zip(parts, old or (), strict=True))
        return [entry if same else {**entry, "parts": parts}]

    def parts(self, entry: dict[str, Json], role: str, notes: Notes) -> list[Json]:
        parts = entry.get("parts")
        if not isinstance(parts, list):
            notes.add("shape", "parts")
            parts = [] if parts is None else [parts]
            parts = parts or ([entry["content"]] if isinstance(entry.get("content"), str) else [])
        return [made for part in parts for made in self.part(part, role, notes)]

    def part(self, part: Json, role: str, notes: Notes) -> list[Json]:
        if not isinstance(part, dict):
            notes.add("shape", "parts")
            return [{"text": text_of(part)}] if part not in (None, "", [], {}) else []
        held = [key for key, value in part.items() if SNAKES.get(key, key) in DATA and value is not None]
        if len(held) == 1:
            made = self.lawful(part, held[0], role, notes)
            if made is not None:
                return [made]
            notes.add("block", held[0], "text")
            return [{"text": text_of(part[held[0]])}]
        if not held and any(part.get(key) for key in BESIDE[1:]):
            notes.add("shape", "parts")
            return [{**part, "text": ""}]
        if not part:
            notes.add("shape", "parts")
            return []
        notes.add("block", ", ".join(held) or ", ".join(map(str, part)), "text" if len(held) < 2 else "parts")
        if len(held) > 1:
            return [made for key in held for made in self.part({key: part[key]}, role, notes)]
        meant = {key: nearest(key, DATA) for key in part if isinstance(part[key], dict | str)}
        found = [key for key in meant if meant[key]]
        return self.part({meant[found[0]]: part[found[0]]}, role, notes) if found else [{"text": text_of(part)}]

    def lawful(self, part: dict[str, Json], key: str, role: str, notes: Notes) -> dict[str, Json] | None:
        value = part[key]
        match SNAKES.get(key, key):
            case "text":
                return part if isinstance(value, str) else None
            case _ if not isinstance(value, dict):
                return None
            case "functionCall":
                return self._call(part, key, notes) if role == "model" else None
            case "functionResponse":
                return self._response(part, key, notes) if role == "user" else None
            case "inlineData":
                typed = any(isinstance(value.get(name), str) for name in MIMES)
                good = typed and isinstance(value.get("data"), str) and value["data"]
                return part if good else None
            case "fileData":
                return part if any(isinstance(value.get(u), str) for u in ("fileUri", "file_uri")) else None
        return part

    def _call(self, part: dict[str, Json], key: str, notes: Notes) -> dict[str, Json]:
        call = part[key]
        made = {**call, "name": name_of(call.get("name"), notes)}
        if call.get("args") is not None:
            made["args"] = object_of(call["args"], notes, made["name"])
        if call.get("id") is not None and not isinstance(call["id"], str):
            made["id"] = text_of(call["id"])
        return part if made == call else {**part, key: made}

    def _response(self, part: dict[str, Json], key: str, notes: Notes) -> dict[str, Json]:
        given = part[key]
        made = dict(given)
        if not (isinstance(given.get("name"), str) and given["name"]):
            made["name"] = ""  # that of the call it answers
        if not isinstance(given.get("response"), dict):
            made["response"] = {} if given.get("response") is None else {"output": text_of(given["response"])}
        if given.get("id") is not None and not isinstance(given["id"], str):
            made["id"] = text_of(given["id"])
        if given.get("parts") is not None:
            media = given["parts"] if isinstance(given["parts"], list) else [given["parts"]]
            made["parts"] = [each for old in media for each in self.part(old, "media", notes)]
        if made != given:
            notes.add("shape", key)
        return part if made == given else {**part, key: made}

    def units(self, entry: Json, home: int) -> list[Unit]:
        if entry.get("role") == "model":
            return [Unit("reply", entry, home, tuple(_asks(entry["parts"])))]
        answers = [part for part in entry["parts"] if response_of(part)]
        units = [
            Unit("answer", part, home, id=_id(response_of(part)), name=response_of(part)["name"]) for part in answers
        ]
        rest = [part for part in entry["parts"] if not response_of(part)]
        return [*units, Unit("other", {**entry, "parts": rest} if answers else entry, home)] if rest else units

    def renamed(self, entry: Json, ask: Ask, new: str) -> Json:
        parts = list(entry["parts"])
        parts[ask.place] = {**parts[ask.place], ask.kind: {**parts[ask.place][ask.kind], "id": new}}
        return {**entry, "parts": parts}

    def fitted(self, answer: Json, ask: Ask) -> Json:
        key, given = _response(answer)
        made = {**given, "name": ask.name}
        if _id(given) != ask.id:
            made.pop("id", None)
            made |= {"id": ask.id} if ask.id else {}
        return answer if made == given else {**answer, key: made}

    def answer(self, ask: Ask) -> Json:
        named = {"id": ask.id} if ask.id else {}
        return {"functionResponse": {**named, "name": ask.name, "response": {"error": NO_RESULT}}}

    def gathered(self, answers: list[Json]) -> Json:
        return {"role": "user", "parts": answers}

    def told(self, unit: Unit) -> Json:
        return {"role": "user", "parts": orphan_parts(response_of(unit.entry))}

    def finished(self, entries: list[tuple[Json, int | None]], notes: Notes) -> list[tuple[Json, int | None]]:
        if entries and entries[0][0].get("role") not in (None, "", "user"):
            notes.add("opening")
            return [({"role": "user", "parts": [{"text": OPENING}]}, None), *entries]
        return entries


def _declares(group: dict[str, Json]) -> bool:
    """Whether the functions of a group of tools can be read."""
    for key in ("functionDeclarations", "function_declarations"):
        declared = group.get(key)
        if declared is not None and not (
            isinstance(declared, list)
            and all(isinstance(each, dict) and isinstance(each.get("name"), str) and each["name"] for each in declared)
        ):
            return False
    return True


def _response(part: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    for key in ("functionResponse", "function_response"):
        if part.get(key) is not None:
            return key, part[key]
    return "", {}


def response_of(part: dict[str, Json]) -> dict[str, Json]:
    return _response(part)[1]


def _id(value: dict[str, Json]) -> str:
    return value.get("id") or ""


def _asks(parts: list[Json]) -> Iterator[Ask]:
    for place, part in enumerate(parts):
        for key in ("functionCall", "function_call"):
            if part.get(key) is not None:
                yield Ask(_id(part[key]), part[key]["name"], place, key)


def orphan_parts(given: dict[str, Json]) -> list[Json]:
    answer = given.get("response") or {}
    words = next((answer[key] for key in ("output", "error", "result") if isinstance(answer.get(key), str)), None)
    said = text_of(answer) if words is None else words
    return [{"text": orphan_text(given.get("name") or _id(given), said)}, *(given.get("parts") or ())]


KIT = GeminiKit
