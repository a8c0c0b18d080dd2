"""Arguments of a call, repaired: models send numbers in quotes, names from other agents' tools, lists as JSON text.

Law: an argument with only one possible meaning is accepted; any other raises `BadArguments` with what to give instead.
"""

from __future__ import annotations

import json
from typing import Any

from yohaku.agent.toolkit.lenient_json import NotJson, parse
from yohaku.agent.toolkit.tool import AgentTool, Arguments

ALIASES = {
    "path": ("file_path", "filepath", "filename", "file", "notebook_path", "target_file", "directory", "dir", "folder"),
    "command": ("cmd", "script", "code", "bash"),
    "pattern": ("query", "regex", "regexp", "search", "pat"),
    "old_string": ("old_str", "old", "old_text", "search", "find", "original"),
    "new_string": ("new_str", "new", "new_text", "replace", "replacement"),
    "content": ("contents", "text", "data", "file_text", "body"),
    "offset": ("start", "start_line", "line", "from"),
    "limit": ("lines", "count", "num_lines", "max_lines"),
    "glob": ("include", "filter", "file_pattern", "glob_pattern"),
    "url": ("uri", "link", "address"),
    "task": ("prompt", "description", "instructions"),
    "question": ("text", "prompt", "message"),
    "source": ("new_source", "content", "text"),
    "items": ("todos", "tasks", "list"),
    "ref_id": ("ref", "id", "cache_id"),
}
"""Names other agents use for the same argument."""


class BadArguments(Exception):
    """Raised with a sentence for the model, which may try again."""


def object_schema(required: str = "", **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object; `required` lists names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


def string(about: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": about} if about else {}), **more}


def integer(about: str = "") -> dict[str, Any]:
    return {"type": "integer", **({"description": about} if about else {})}


def boolean(about: str = "") -> dict[str, Any]:
    return {"type": "boolean", **({"description": about} if about else {})}


def repair_arguments(tool: AgentTool, given: Arguments | str) -> Arguments:
    """Return the arguments as the tool's schema wants them."""
    if isinstance(given, str):
        given = _parse(tool, given)
    properties = tool.parameters["properties"]
    named = {_match_name(name, properties, given): value for name, value in given.items() if value is not None}
    for name in tool.parameters.get("required", ()):
        if name not in named:
            has = ", ".join(properties)
            raise BadArguments(f"{tool.name} needs {name!r}. Its arguments: {has}.")
    return {name: _convert(tool, name, value, properties[name]) for name, value in named.items() if name in properties}


def _parse(tool: AgentTool, text: str) -> Arguments:
    try:
        given = parse(text or "{}")
    except NotJson:
        given = text
    needed = tool.parameters.get("required", ())
    if isinstance(given, dict):
        return given
    if isinstance(given, str) and len(needed) == 1 and given.strip() and given.lstrip()[:1] not in "{[":
        return {needed[0]: given}
    raise BadArguments(f"The arguments of {tool.name} are not a JSON object. Its arguments: {', '.join(needed)}.")


def _match_name(name: str, properties: dict[str, Any], given: Arguments) -> str:
    if name in properties:
        return name
    plain = name.strip().replace("-", "_").lower()
    known = [each for each in properties if each not in given and (plain == each or plain in ALIASES.get(each, ()))]
    return known[0] if known else name


def _convert(tool: AgentTool, name: str, value: Any, schema: dict[str, Any]) -> Any:
    found: Any = value
    match schema.get("type"):
        case "integer":
            found = _to_int(value)
        case "boolean":
            found = {"true": True, "false": False, "1": True, "0": False, "": False}.get(str(value).lower())
        case "array":
            found = _to_list(value)
        case "string":
            found = json.dumps(value) if isinstance(value, dict | list) else str(value)
    if found is None:
        raise BadArguments(f"{tool.name}: {name!r} is {str(value)[:40]!r}; give a {schema['type']}.")
    if "enum" in schema and found not in schema["enum"]:
        raise BadArguments(f"{tool.name}: {name!r} is {str(value)[:40]!r}; give one of {', '.join(schema['enum'])}.")
    return found


def _to_int(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 and not isinstance(value, bool) else None


def _to_list(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        try:
            value = parse(value)
        except NotJson:
            return [value] if value.strip() else []
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else None
