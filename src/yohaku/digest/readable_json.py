"""Text of a JSON result as a person would read it: an object in a line, texts in it line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

MIN_CHARS, MAX_CHARS = 300, 200_000
"""A shorter text is read as it is; a longer one would take too long."""
MAX_VALUE_CHARS = 120
"""A longer value, or one of several lines, has lines of its own."""
MAX_ROW_CHARS = 240
MAX_DEPTH = 12

_NOISE = re.compile(r"_|node_id$|gravatar_id$|etag$|diff_hunk$|(?:.*_)?(?:url|href)$", re.IGNORECASE)
"""Names of fields that only a program needs."""


def read_json_text(text: str) -> str:
    """Return the fields of a JSON text in lines; any other text as it is.

    Each line holds values as they were, behind their names. Addresses and empty values are left out.
    """
    if not MIN_CHARS <= len(text) <= MAX_CHARS or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        values = list(_decode(text))
        return "\n".join(row for value in values for row in _rows(value, 0)) or text
    except (ValueError, RecursionError):
        return text


def _decode(text: str) -> Iterator[Any]:
    """Yield the value of a text, or of each of its lines."""
    try:
        yield msgspec.json.decode(text)
    except ValueError:
        for line in text.splitlines():
            if line.strip():
                yield msgspec.json.decode(line)


def _rows(value: Any, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _rows(item, depth)
        return
    if not isinstance(value, dict):
        yield from str(value).splitlines()
        return
    short: list[str] = []
    long: list[tuple[str, Any]] = []
    for name, field in _fields(value, ""):
        shown = _show(field)
        if shown is None:
            long.append((name, field))
        elif shown:
            short.append(f"{name}: {shown}")
    yield from _join(short)
    for name, field in long:
        if isinstance(field, str):
            first, *rest = [line for line in field.splitlines() if line.strip()]
            yield f"{name}: {first}"
            yield from rest
        else:
            yield f"{name}:"
            yield from _rows(field, depth + 1)


def _fields(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object, and those of objects in it that have only a few, by their whole names."""
    for name, field in value.items():
        if _NOISE.match(name):
            continue
        if isinstance(field, dict) and not prefix:
            yield from _fields(field, f"{name}.")
        else:
            yield f"{prefix}{name}", field


def _show(value: Any) -> str | None:
    """Return a short value in one line, "" for an empty one; None for what needs lines of its own."""
    if value is None or value == "" or value == [] or value == {}:
        return ""
    if isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE_CHARS and "\n" not in value else None
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        joined = ", ".join(map(str, value))
        return joined if len(joined) <= MAX_VALUE_CHARS and "\n" not in joined else None
    return None


def _join(parts: list[str]) -> Iterator[str]:
    row = ""
    for part in parts:
        if row and len(row) + len(part) > MAX_ROW_CHARS:
            yield row
            row = ""
        row = f"{row}, {part}" if row else part
    if row:
        yield row
