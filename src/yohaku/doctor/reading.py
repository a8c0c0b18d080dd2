"""Entries of a damaged conversation, read as far as they go.

An entry that its provider would take is read by its dialect. Any other one is taken apart: its sound blocks are read by
the dialect, the rest by the fields they have, whatever the format.
Law: no words are lost. A block that is neither a call nor a result becomes a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, Opaque, Part, Result, Text
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json, dump
from yohaku.doctor.lawful import CHAT_MEDIA, ROLES, camel, gemini_data, is_lawful, is_list, is_object_text
from yohaku.doctor.notes import Notes

UNNAMED = "unknown_tool"
WRAPPED = "arguments"
"""Name under which arguments that are not an object stand in one."""

FORMS = {"codex": "openai_responses", "trajectory": "openai_chat"}
"""Dialects whose entries, as their `plain` gives them, are those of another one."""
SYNONYMS = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant", "tool_result": "tool"}
TYPES = (
    "text", "message", "tool_use", "tool_result", "function_call", "function_call_output", "custom_tool_call",
    "custom_tool_call_output", "reasoning", "input_text", "output_text", "input_image", "image", "image_url",
    "function",
)  # fmt: skip
FIELDS = (
    "role", "content", "parts", "text", "type", "id", "name", "tool_calls", "tool_call_id", "function", "arguments",
    "input", "tool_use_id", "call_id", "output", "functionCall", "functionResponse", "args", "response", "source",
)  # fmt: skip
WRAPPERS = ("function", "custom", "functionCall", "functionResponse")
ARGUMENTS = ("arguments", "input", "args")
ANSWERS = ("tool_use_id", "tool_call_id", "functionResponse")
"""Fields that only results have."""
MISPLACED = ("content", "parts", "tool_calls", "tool_call_id")
"""Fields of entries; in a block they show that a lost bracket put the next entry inside it."""
CONTENTS = ("content", "output", "response")
WORDS = ("text", "thinking", "refusal", "content", "output", "input_text", "output_text")


@dataclass(slots=True, eq=False)
class ReadItem:
    kind: Literal["system", "prompt", "said", "result", "silent"]
    """"silent" is an entry without words that may stay."""
    value: Part | Call | Result | None
    home: int
    """Index of its entry."""
    id: str = ""
    """Of the call that a result answers."""
    name: str = ""
    """Of the tool, where a result gives it."""
    form: str = ""
    """The type of the entry, in dialects that have several kinds of calls."""
    starts: bool = False
    """True where a new reply may begin."""


class ItemCollector(HistoryBuilder):
    """Builder that refuses nothing, and keeps the items in the order they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[ReadItem] = []
        self.home = 0
        self.entry: Json = None
        self.elsewhere = False
        """The provider holds a part of the conversation: results may answer calls that are not here."""
        self._starts = False

    @property
    def partial(self) -> bool:
        return False

    @partial.setter
    def partial(self, value: bool) -> None:
        self.elsewhere = value or getattr(self, "elsewhere", False)

    @property
    def began(self) -> bool:
        return any(item.kind not in ("system", "silent") for item in self.items)

    def prompt(self, part: Part) -> None:
        self._begin_reply()
        self.items.append(ReadItem("prompt", part, self.home))

    def reply(self) -> None:
        self._starts = True
        if self._results or self._open:
            self._begin_reply()

    def say(self, item: Part | Call) -> None:
        if self._results and not self._open:
            self._begin_reply()
        if isinstance(item, Call):
            self._open[item.id] = self.where
        self._reply.append(item)
        self.items.append(ReadItem("said", item, self.home, form=_form(self.entry), starts=self._starts))
        self._starts = False

    def answer(self, call_id: str, result: Result) -> None:
        if self._open.pop(call_id, None) is not None:
            self._results[call_id] = result
        name = _tool_name(self.entry, result.at)
        self.items.append(ReadItem("result", result, self.home, call_id, name, _form(self.entry)))

    def _begin_reply(self) -> None:
        self._reply, self._open, self._results = [], {}, {}


def _form(entry: Json) -> str:
    if not isinstance(entry, dict):
        return ""
    older = entry.get("role") == "function" or entry.get("function_call")
    return "function" if older else text_of(entry.get("type"))


def _tool_name(entry: Json, at: tuple[int | str, ...]) -> str:
    found = entry if isinstance(entry, dict) else {}
    if len(at) > 2 and is_list(found.get("parts")):
        found = found["parts"][at[2]]
        found = found.get("functionResponse") or found.get("function_response") or {}
    name = found.get("tool_name") or found.get("name")
    return name if isinstance(name, str) else ""


class LenientReader:
    """Reads entry after entry into `items`."""

    def __init__(self, dialect: Dialect, notes: Notes) -> None:
        self.dialect, self.notes = dialect, notes
        self.form = FORMS.get(dialect.name, dialect.name)
        self.collector = ItemCollector()
        self.damaged: set[int] = set()
        """Entries that cannot stay as they are."""

    @property
    def items(self) -> list[ReadItem]:
        return self.collector.items

    def read(self, index: int, entry: Json) -> None:
        count = len(self.items)
        if self._by_dialect(index, entry):
            if len(self.items) == count:
                self.items.append(ReadItem("silent", None, index))
            return
        self.damaged.add(index)
        noted = len(self.notes.found)
        self._by_fields(index, entry)
        if len(self.items) == count:
            self.notes.add("empty" if isinstance(entry, dict) else "no_entry", text_of(entry))
        elif len(self.notes.found) == noted:
            self.notes.add("shape", "entry")

    def _by_dialect(self, index: int, entry: Json) -> bool:
        collector = self.collector
        plain = getattr(self.dialect, "plain", None)
        if not isinstance(entry, dict) or not is_lawful(self.form, plain(entry) if plain else entry):
            return False
        items, systems = len(collector.items), len(collector.system)
        collector.home, collector.entry = index, entry
        try:
            self.dialect.read_entry(collector, index, entry)
        except Malformed:
            del collector.items[items:], collector.system[systems:]
            return False
        collector.items[items:items] = [ReadItem("system", part, index) for part in collector.system[systems:]]
        return True

    def _by_fields(self, index: int, entry: Json) -> None:
        self.collector.home, self.collector.entry = index, None
        if isinstance(entry, str):
            self.notes.add("shape", "text")
            entry = {"role": "user", "content": entry}
        if not isinstance(entry, dict):
            return
        entry = _respell(entry)
        role = self._role(entry)
        if role == "assistant":
            self.collector.reply()
        for number, (whole, block) in enumerate(self._pieces(entry, role)):
            if not (whole and self._by_dialect(index, _with_id(whole, f"call-{index}-{number}"))):
                self.collector.entry = None
                self._guess(block, role)
            self._speak(_misplaced(block) if block is not entry else "", role)

    def _role(self, entry: dict[str, Json]) -> str:
        """The role that was meant, in the words of OpenAI chat."""
        role, known = entry.get("role"), ROLES.get(self.form, ROLES["openai_chat"])
        if self.form == "openai_responses" and entry.get("type") not in (None, "message"):
            return str(role) if role in ("user", "system", "developer") else "assistant"
        if not (isinstance(role, str) and role in known) and not (role is None and self.form == "gemini"):
            meant = SYNONYMS.get(role, "") if isinstance(role, str) else ""
            meant = meant if meant in known else nearest(role, known)
            if not meant:
                meant = "tool" if "tool_call_id" in entry else "assistant" if "tool_calls" in entry else "user"
            self.notes.add("role", text_of(role), meant)
            role = meant
        return {"model": "assistant", "function": "tool"}.get(role or "", role or "user")

    def _pieces(self, entry: dict[str, Json], role: str) -> Iterator[tuple[Json, Json]]:
        """The blocks of an entry, each with an entry of its own that holds nothing else."""
        if self.form == "gemini":
            named = {"role": "model" if role == "assistant" else "user"}
            for part in _as_list(entry.get("parts", entry.get("content"))):
                part = _respell(part) if isinstance(part, dict) else part
                several = gemini_data(part) if isinstance(part, dict) else []
                for block in [part] if len(several) < 2 else [{key: part[key]} for key in several]:
                    yield {**named, "parts": [block]}, block
            return
        if role == "tool" or (self.form == "openai_responses" and entry.get("type") not in (None, "message")):
            yield None, entry
            return
        for block in _as_list(entry.get("content")):
            yield {"role": role, "content": [block]}, block
        for image in _as_list(entry.get("images")):
            yield {"role": role, "content": "", "images": [image]}, image
        for call in _as_list(entry.get("tool_calls")):
            yield {"role": role, "content": None, "tool_calls": [call]}, call
        if entry.get("function_call"):
            yield None, entry["function_call"]

    def _guess(self, block: Json, role: str) -> None:
        """A block that the dialect refuses, by the fields it has."""
        if not isinstance(block, dict):
            self._speak(text_of(block) if block not in ([], {}) else "", role)
            return
        kind = text_of(block.get("type"))
        block = _respell(block)
        inner = {**block, **_respell(next((block[key] for key in WRAPPERS if isinstance(block.get(key), dict)), {}))}
        output = text_of(block.get("type")).endswith(("_output", "tool_result"))
        if role == "tool" or output or any(key in block for key in ANSWERS):
            self._answer(inner)
        elif any(key in inner for key in ARGUMENTS) or ("name" in inner and block.get("type") in TYPES[2:]):
            self._call(inner)
        else:
            words = next((block[key] for key in WORDS if isinstance(block.get(key), str)), None)
            self.notes.add("block", kind or next(iter(block), ""), "text")
            self._speak(dump(block) if words is None and block else words or "", role)

    def _speak(self, text: str, role: str) -> None:
        if not text.strip():
            return
        if role == "assistant":
            self.collector.say(Text(text))
        elif role in ("system", "developer") and not self.collector.began:
            self.items.append(ReadItem("system", Text(text, "system"), self.collector.home))
        else:
            self.collector.prompt(Text(text, "system" if role in ("system", "developer") else ""))

    def _call(self, call: dict[str, Json]) -> None:
        name = call.get("name")
        if not (isinstance(name, str) and name.strip()):
            self.notes.add("name", UNNAMED)
            name = UNNAMED
        arguments = next((call[key] for key in ARGUMENTS if key in call), "")
        call_id = text_of(call.get("call_id") or call.get("id"))
        at = (self.collector.home, "", "", "", "")  # as long as the places that readers look into
        self.collector.say(Call(call_id, name, self._arguments(arguments, name), at))

    def _arguments(self, arguments: Json, name: str) -> str:
        if isinstance(arguments, str) and is_object_text(arguments):
            return arguments or "{}"
        if isinstance(arguments, dict):
            return dump(arguments)
        self.notes.add("arguments", name)
        return dump({WRAPPED: text_of(arguments)} if arguments not in (None, "", []) else {})

    def _answer(self, block: dict[str, Json]) -> None:
        call_id = next((block[key] for key in (*ANSWERS[:2], "call_id", "id") if block.get(key)), "")
        content = next((block[key] for key in CONTENTS if key in block), block.get("text"))
        parts: list[Part] = []
        if isinstance(content, dict):
            content = next((content[key] for key in ("output", "error") if isinstance(content.get(key), str)), content)
        for part in _as_list(content):
            parts += self._result_parts(part)
        for media in _as_list(block.get("parts")):
            parts += self._result_parts(media)
        for image in _as_list(block.get("images")):
            parts += [Opaque("image", image, "base64", "image/png")] if image and isinstance(image, str) else []
        result = Result(tuple(parts), error=block.get("is_error") is True)
        self.collector.answer(text_of(call_id), result)
        name = block.get("tool_name") or block.get("name")
        self.items[-1].name = name if isinstance(name, str) else ""

    def _result_parts(self, part: Json) -> Iterable[Part]:
        """A part of a result, read as if the user had sent it."""
        whole = {"role": "user", "parts" if self.form == "gemini" else "content": [part]}
        alone = LenientReader(self.dialect, Notes())
        if isinstance(part, dict) and alone._by_dialect(1, whole):
            return [item.value for item in alone.items if isinstance(item.value, Text | Opaque)]
        words = part.get("text") if isinstance(part, dict) and isinstance(part.get("text"), str) else part
        return [Text(text_of(words))] if words not in (None, "", [], {}) else []


def _respell(block: dict[str, Json]) -> dict[str, Json]:
    """The block with the names of its fields and its type as they were meant."""
    missing = [field for field in FIELDS if field not in block]
    known = {*FIELDS, *CHAT_MEDIA}
    made = {}
    for key, value in block.items():
        key = camel(key) if camel(key) in WRAPPERS else key
        made[key if key in known else nearest(key, missing, 0.8) or key] = value
    if isinstance(made.get("type"), str) and made["type"] not in TYPES:
        made["type"] = nearest(made["type"], TYPES, 0.8) or made["type"]
    return made


def _misplaced(block: Json) -> str:
    """Entries that a lost bracket put inside a block, as a text."""
    if not isinstance(block, dict):
        return ""
    held = {key: block[key] for key in ("role", *MISPLACED) if key in block}
    inner = [
        _misplaced(item) for key in block.keys() - {*held, *ARGUMENTS, "response"} for item in _as_list(block[key])
    ]
    own = dump(held) if "role" in held or ("name" in block and held and "response" not in block) else ""
    return "\n".join(filter(None, [own, *inner]))


def _with_id(whole: dict[str, Json], call_id: str) -> dict[str, Json]:
    """An entry with one call in it, which has an id: that of its place would be another one here."""
    match whole:
        case {"tool_calls": [dict(call)]} if not call.get("id"):
            return {**whole, "tool_calls": [{**call, "id": call_id}]}
        case {"parts": [{"functionCall": dict(call)} as part]} if not call.get("id"):
            return {**whole, "parts": [{**part, "functionCall": {**call, "id": call_id}}]}
    return whole


def nearest(word: Json, known: Iterable[str], cutoff: float = 0.75) -> str:
    found = get_close_matches(word[:40], list(known), n=1, cutoff=cutoff) if isinstance(word, str) else []
    return found[0] if found else ""


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else dump(value)
