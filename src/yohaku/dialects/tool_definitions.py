"""Tool definitions, which every dialect wraps differently: read from any of them, written by each in its own form.

Law: a tool that its provider runs (web search, code execution) is `hosted`; no other provider can be offered it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from yohaku.core.errors import Malformed

SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema")


class Signature(NamedTuple):
    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of the arguments; that of an empty object where the definition has none."""
    hosted: bool = False


def signature(definition: str) -> Signature:
    """What a definition, the JSON text a `Tool` carries, says in any dialect."""
    try:
        tool = json.loads(definition)
    except ValueError:
        tool = None
    if not isinstance(tool, dict):
        return Signature("", "", {}, hosted=True)
    inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
    name, description = inner.get("name"), inner.get("description")
    schema: dict[str, Any] = next((inner[key] for key in SCHEMAS if isinstance(inner.get(key), dict)), {})
    return Signature(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else "",
        {"type": "object", "properties": {}, **_lowered(schema)},
        hosted=not name or tool.get("type", "function") not in ("function", "custom"),
    )


def objects(value: Any, where: str, what: str) -> list[dict[str, Any]]:
    """A list of objects from the wire; what is absent is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{what} must be a list of objects", where)
    return value


def _lowered(schema: Any) -> Any:
    """The schema with type names in lower case: Gemini's older form writes them in capitals."""
    if isinstance(schema, list):
        return [_lowered(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    lowered = {key: _lowered(value) for key, value in schema.items()}
    if isinstance(lowered.get("type"), str):
        lowered["type"] = lowered["type"].lower()
    return lowered
