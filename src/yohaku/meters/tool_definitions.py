"""Tool definitions as the model sees them: each provider rewrites the JSON before it counts.

Law: a definition that cannot be read is weighed as it was sent; none is written longer than `MAX_NODES` allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Schema = dict[str, Any]

MAX_NODES = 20_000
"""Values of a schema that are written out at most: each `$ref` may double what the one before it did."""
MAX_DEPTH = 8
"""Levels to which Gemini expands a schema inside itself."""
SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema")
NOTE = "\n".join(["-"] * 40)
"""Stands for what Claude is told where a tool waits: with its name 95 tokens. Measured for one; more may share it."""
SAID = frozenset({
    "type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "description", "title",
    "default", "additionalProperties", "strict", "$defs", "definitions", "$schema", "$id",
})  # fmt: skip
"""Fields of a schema that TypeScript has a form for, or that are left out of it."""

EXPLAINED = frozenset({"examples", "nullable"})
"""Those that Harmony has a form for beside them."""
INNER = re.compile(r"\n(?!}\Z)")

UNREAD = frozenset({"minLength", "maxLength", "pattern", "uniqueItems", "$schema", "$id"})
"""Fields of a JSON schema that Gemini has no field for."""


def typescript(definition: str) -> str:
    """OpenAI: a type in a namespace, behind the end of the one before it."""
    return written(definition, in_typescript)


def harmony(definition: str) -> str:
    """gpt-oss: the same as Harmony writes it. Some hosts indent, some mark an empty description: the longer form."""
    return written(definition, in_harmony)


def tagged(definition: str) -> str:
    """Claude: a line of JSON with its tag. A tool that is loaded on demand is not there until then."""
    return written(definition, in_tags)


def noted(definition: str) -> str:
    """Claude from 4.8 on: the same, but for a tool that is loaded on demand there is a note."""
    return written(definition, in_tags_or_note)


def inlined(definition: str) -> str:
    """Gemini: JSON with every `$ref` written out, and without what its schemas have no field for."""
    return written(definition, in_full)


def spaced(definition: str) -> str:
    """Mistral: the JSON, with a space behind each comma and colon."""
    return written(definition, in_spaced)


def words(definition: str) -> str:
    """Gemini up to 2.0: names and descriptions alone, and of a schema only what is in Gemini's own form."""
    return written(definition, in_words)


DEFINITIONS: dict[str, Callable[[str], str]] = {
    "typescript": typescript, "harmony": harmony, "tagged": tagged, "noted": noted, "inlined": inlined,
    "spaced": spaced, "words": words,
}  # fmt: skip


@lru_cache(maxsize=512)
def written(definition: str, write: Callable[[Schema, str, str, Schema], str]) -> str:
    try:
        tool = json.loads(definition)
        if not isinstance(tool, dict):
            return definition
        inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
        schema: Schema = next((inner[key] for key in SCHEMAS if isinstance(inner.get(key), dict)), {})
        name = inner.get("name")
        return write(tool, name, text_of(inner, "description"), schema) if isinstance(name, str) else definition
    except (ValueError, RecursionError):
        return definition


def text_of(schema: Schema, key: str) -> str:
    said = schema.get(key)
    return said if isinstance(said, str) else "" if said is None else dump(said)


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def in_tags(tool: Schema, name: str, description: str, schema: Schema) -> str:
    if tool.get("defer_loading") is True:
        return ""
    said = json.dumps({"description": description, "name": name, "parameters": schema}, ensure_ascii=False)
    return f"<function>{said}</function>\n"


def in_tags_or_note(tool: Schema, name: str, description: str, schema: Schema) -> str:
    return in_tags(tool, name, description, schema) or f"<function>{name}</function>\n{NOTE}"


def in_full(tool: Schema, name: str, description: str, schema: Schema) -> str:
    full = known(Inliner(schema, MAX_DEPTH).value(schema))
    return dump({"description": description, "name": name, "parameters": full}) + remarks(full)


def known(schema: Any) -> Any:
    """A schema without the fields that Gemini leaves out; what stands under `properties` is named by the user."""
    if isinstance(schema, list):
        return [known(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: known(inner) for name, inner in value.items()}
        if key == "properties" and isinstance(value, dict)
        else known(value)
        for key, value in schema.items()
        if key not in UNREAD and not (key == "additionalProperties" and value is False)
    }


def remarks(schema: Any) -> str:
    """Return the tokens of a schema beside its JSON: 5 for a description, 8 for a default, 28 for an object's."""
    if isinstance(schema, list):
        return "".join(map(remarks, schema))
    if not isinstance(schema, dict):
        return ""
    here = "\n\t" * 2 + "\n" if isinstance(schema.get("description"), str) else ""
    there = "\n\t" * (14 if "properties" in schema else 4) if "default" in schema else ""
    return here + there + "".join(map(remarks, schema.values()))


def in_spaced(tool: Schema, name: str, description: str, schema: Schema) -> str:
    return json.dumps(tool, ensure_ascii=False)


def in_words(tool: Schema, name: str, description: str, schema: Schema) -> str:
    return " ".join([name, description, *words_of(tool.get("parameters"))])


def words_of(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [word for each in schema for word in words_of(each)]
    if not isinstance(schema, dict):
        return []
    properties = schema.get("properties")
    said = [text_of(schema, "description"), *(properties if isinstance(properties, dict) else ())]
    return [*filter(None, said), *(word for each in schema.values() for word in words_of(each))]


def in_typescript(tool: Schema, name: str, description: str, schema: Schema) -> str:
    full: Schema = Inliner(schema, 1).value(schema)
    body = f"{remark(text_of(full, 'description'))}_: {kind(full)}" if full.get("properties") else ""
    return f";\n\n{remark(description)}type {name} = ({body}) => any"


def in_harmony(tool: Schema, name: str, description: str, schema: Schema) -> str:
    full: Schema = explained(Inliner(schema, 1).value(schema))
    said = "".join(f"// {line}\n" for line in description.splitlines() or [""])
    body = f"{remark(text_of(full, 'description'))}_: {kind(full)}" if full.get("properties") else ""
    indented = INNER.sub("\n  ", body)
    return f";\n\n{said}type {name} = ({indented}) => any"


def explained(schema: Any) -> Any:
    """A schema with what Harmony has a form for alone, its remarks as they are there: a default is JSON, for one."""
    if isinstance(schema, list):
        return [explained(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: explanation(key, value) for key, value in schema.items() if key in SAID or key in EXPLAINED}


def explanation(key: str, value: Any) -> Any:
    match key, value:
        case "default", _:
            return dump(value)
        case "title", str():
            return f"{value}\n//"
        case "examples", list():
            return "".join(f"\n// - {dump(each)}" for each in value)
        case "properties", dict():
            return {name: explained(inner) for name, inner in value.items()}
        case (("enum" | "const"), _):
            return value
    return explained(value)


def remark(text: str) -> str:
    return f"// {text.strip()}\n" if text.strip() else ""


def kind(schema: Any) -> str:
    """The type a schema describes."""
    if not isinstance(schema, dict):
        return "any"
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            return (" & " if key == "allOf" else " | ").join(map(kind, schema[key])) or "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(map(dump, schema["enum"])) or "any"
    if "const" in schema:
        return dump(schema["const"])
    match schema.get("type"):
        case "array":
            return f"{kind(schema.get('items'))}[]"
        case list() as several:
            return " | ".join(map(str, several)) or "any"
        case "object" | None if isinstance(schema.get("properties"), dict) and schema["properties"]:
            return "{\n" + fields(schema) + "}"
        case str() as name:
            return name
    return "any"


def fields(schema: Schema) -> str:
    asked = schema.get("required")
    needed = asked if isinstance(asked, list) else []
    lines = []
    for name, inner in schema["properties"].items():
        said: Schema = inner if isinstance(inner, dict) else {}
        default = f" // default: {text_of(said, 'default')}" if "default" in said else ""
        rest = "".join(f"// {key}: {text_of(said, key)}\n" for key in said if key not in SAID)
        notes = remark(text_of(said, "title")) + remark(text_of(said, "description")) + rest
        lines.append(f"{notes}{name}{'' if name in needed else '?'}: {kind(inner)},{default}\n")
    return "".join(lines)


@dataclass(slots=True)
class Inliner:
    """Writes out the references inside a schema, a schema inside itself at most `times` times."""

    root: Schema
    times: int
    left: int = MAX_NODES
    inside: list[str] = field(default_factory=list)

    def value(self, value: Any) -> Any:
        self.left -= 1
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = value.get("$ref")
        if not isinstance(name, str):
            return {key: self.value(each) for key, each in value.items() if key not in ("$defs", "definitions")}
        found = self.find(name)
        if found is None or self.left < 0 or self.inside.count(name) >= self.times:
            return {"type": "object"}
        self.inside.append(name)
        full = self.value({**found, **{key: each for key, each in value.items() if key != "$ref"}})
        self.inside.pop()
        return full

    def find(self, name: str) -> Schema | None:
        at: Any = self.root
        for key in name.removeprefix("#").strip("/").split("/"):
            at = at.get(key) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else None
