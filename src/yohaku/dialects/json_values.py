"""Decoded JSON from the wire: reading it without trust, and changing one place of it.

JSON values are untyped, and stay inside `dialects/` and `client/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from yohaku.core.errors import Malformed
from yohaku.core.model import Opaque, Path

Json: TypeAlias = Any
"""A decoded JSON value."""

TOO_DEEP = "this is nested too deeply"
NOT_JSON = "this holds something that is not JSON"

RAW = "_raw_arguments"
"""Holds arguments that are not a JSON object, on a wire that requires one."""


def kind_of(value: Json) -> str:
    """Name the type of a value, for error messages."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    names |= {int: "a number", float: "a number"}
    hint = "; give its model_dump()" if hasattr(value, "model_dump") else ""
    return names.get(type(value), f"a Python {type(value).__name__}{hint}")


def unknown_role(role: Json, where: str) -> Malformed:
    return Malformed(
        f"unknown role {role[:80]!r}" if isinstance(role, str) else f"a role cannot be {kind_of(role)}", where
    )


def text_at(value: Json, where: str, what: str) -> str:
    """Return a text from the wire, or raise `Malformed`."""
    if not isinstance(value, str):
        raise Malformed(f"{what} must be a text, not {kind_of(value)}", where)
    return value


def objects(value: Json, where: str, what: str) -> list[dict[str, Json]]:
    """Return a list of objects from the wire, an empty one for null, or raise `Malformed`."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Malformed(f"{what} must be a list of objects", where)
    return value


def object_or_empty(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def text_or_empty(value: Json) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: Json) -> int:
    """Return a count from the wire; 0 for anything that is not a whole number."""
    return max(0, value) if type(value) is int else 0


def dump(value: Json) -> str:
    """Write a value as JSON, or raise `Malformed` if it is none: programs hand in objects of Python."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise Malformed(TOO_DEEP) from None
    except TypeError:
        raise Malformed(NOT_JSON) from None
    except ValueError:  # more digits than Python writes, or an object that holds itself
        raise Malformed("this holds a number that is too long, or itself") from None


def dig(value: Json, path: Path) -> Json:
    """Return the value at `path`."""
    for key in path:
        value = value[key]
    return value


def put_all(value: Json, changes: Mapping[Path, Json]) -> Json:
    """Return `value` with the values at these paths replaced; only the containers on the way are copied, each once."""
    if () in changes:
        return changes[()]
    inner: dict[int | str, dict[Path, Json]] = {}
    for (key, *rest), new in changes.items():
        inner.setdefault(key, {})[tuple(rest)] = new
    copy = value.copy()
    for key, deeper in inner.items():
        copy[key] = put_all(value[key], deeper)
    return copy


def drop(value: Json, path: Path) -> Json:
    """Return `value` without the field or item at `path`."""
    holder = dig(value, path[:-1]).copy()
    del holder[path[-1]]
    return put_all(value, {path[:-1]: holder})


def merge(body: Mapping[str, Json], more: Mapping[str, Json]) -> dict[str, Json]:
    """Add fields to a body; an object in both is merged one level deep, so that options stand side by side."""
    both = {
        key: {**body[key], **value}
        for key, value in more.items()
        if isinstance(value, dict) and isinstance(body.get(key), dict)
    }
    return {**body, **more, **both}


def arguments_object(arguments: str) -> dict[str, Json]:
    """Return arguments as an object. Other JSON, or broken JSON, is wrapped; `arguments_text` unwraps it."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {RAW: arguments}


def arguments_text(value: Json) -> str:
    if isinstance(value, dict) and isinstance(raw := value.get(RAW), str) and value == arguments_object(raw):
        return raw
    return dump(value)


def media_from_url(kind: str, url: str, at: Path, hint: str = "") -> Opaque:
    """Read an image or document from a link, which may carry its bytes (`data:image/png;base64,…`)."""
    if url.startswith("data:") and ";base64," in url:
        mime, _, data = url[5:].partition(";base64,")
        return Opaque(kind, data, "base64", mime, hint, at)
    return Opaque(kind, url, "url", "", hint, at)


def media_url(part: Opaque) -> str:
    return f"data:{part.mime};base64,{part.data}" if part.form == "base64" else part.data
