"""JSON as small models write it: single quotes, trailing commas, doubled braces, Python's True and None, raw newlines.

Law: torn JSON is not repaired. A value is read whole or not at all, and reading stops at the first character that does
not fit, so that the time is in proportion to what was read.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple

MAX_DEPTH = 32
"""Depth of nested objects and lists."""

_BLANK = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"' + r"|'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_QUOTED = re.compile(r'\\(.)|"', re.DOTALL)
_WORD = re.compile(r"true|false|null|True|False|None")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,99})(?:\.\d{1,99})?(?:[eE][+-]?\d{1,3})?(?![\w.])")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


class NotJson(Exception):
    """The text is not JSON from `at` on."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class LenientValue(NamedTuple):
    value: Any
    end: int


def parse(text: str) -> Any:
    """Read a text that is one value and nothing else; raises `NotJson`."""
    try:
        return json.loads(text, strict=False, parse_constant=_reject)
    except (ValueError, RecursionError):
        text = text.strip()
    value, end = read_value(text, 0)
    if end < len(text):
        raise NotJson(end)
    return value


def _reject(constant: str) -> Any:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def read_value(text: str, at: int, depth: int = 0) -> LenientValue:
    """Read the value that begins at `at`; raises `NotJson`."""
    if depth > MAX_DEPTH:
        raise NotJson(at)
    first = text[at : at + 1]
    if first == "{":
        return _read_braces(text, at, depth)
    if first == "[":
        return _read_list(text, at, depth)
    if first and first in "\"'":
        return _read_string(text, at)
    if found := _WORD.match(text, at):
        return LenientValue(_WORDS[found[0]], found.end())
    if found := _NUMBER.match(text, at):
        number = int(found[0]) if found[0].lstrip("-").isdigit() else float(found[0])
        if isfinite(number):
            return LenientValue(number, found.end())
    raise NotJson(at)


def _read_braces(text: str, at: int, depth: int) -> LenientValue:
    inside = _skip_blanks(text, at + 1)
    if text[inside : inside + 1] != "{":
        return _read_object(text, at, depth)
    inner = read_value(text, inside, depth + 1)  # models that learned from templates double their braces
    end = _skip_blanks(text, inner.end)
    if text[end : end + 1] != "}":
        raise NotJson(end)
    return LenientValue(inner.value, end + 1)


def _read_object(text: str, at: int, depth: int) -> LenientValue:
    found: dict[str, Any] = {}
    at = _skip_blanks(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] not in ('"', "'"):
            raise NotJson(at)
        key = _read_string(text, at)
        at = _skip_blanks(text, key.end)
        if text[at : at + 1] != ":":
            raise NotJson(at)
        value = read_value(text, _skip_blanks(text, at + 1), depth + 1)
        found[key.value] = value.value
        at = _skip_comma(text, value.end, "}")
    return LenientValue(found, at + 1)


def _read_list(text: str, at: int, depth: int) -> LenientValue:
    found: list[Any] = []
    at = _skip_blanks(text, at + 1)
    while text[at : at + 1] != "]":
        item = read_value(text, at, depth + 1)
        found.append(item.value)
        at = _skip_comma(text, item.end, "]")
    return LenientValue(found, at + 1)


def _skip_comma(text: str, at: int, end: str) -> int:
    at = _skip_blanks(text, at)
    if text[at : at + 1] == ",":
        return _skip_blanks(text, at + 1)
    if text[at : at + 1] != end:
        raise NotJson(at)
    return at


def _read_string(text: str, at: int) -> LenientValue:
    found = _STRING.match(text, at)
    if not found:
        raise NotJson(len(text))  # it never ends: all of the rest was read
    inside = found[1]
    if "\\" not in found[0]:
        return LenientValue(found[2] if inside is None else inside, found.end())
    if inside is None:  # between single quotes a double quote needs no backslash, and a single one has one
        inside = _QUOTED.sub(_requote, found[2])
    try:
        return LenientValue(json.loads(f'"{inside}"', strict=False), found.end())
    except ValueError:
        raise NotJson(found.end()) from None


def _requote(quoted: re.Match[str]) -> str:
    return '\\"' if quoted[0] == '"' else "'" if quoted[1] == "'" else quoted[0]


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
