"""JSON as small models write it: single quotes, trailing commas, doubled braces, Python's True and None, raw newlines.

Law: what is torn is not mended. A value is read whole or not at all, and reading stops at the first sign that fits
nothing, so reading a text takes time in proportion to what was read of it.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, NamedTuple

MAX_DEPTH = 32
"""Objects and lists in one another."""

_BLANK = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"' + r"|'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_QUOTED = re.compile(r'\\(.)|"', re.DOTALL)
_WORD = re.compile(r"true|false|null|True|False|None")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,99})(?:\.\d{1,99})?(?:[eE][+-]?\d{1,3})?(?![\w.])")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


class NotJson(Exception):
    """What stands at `at` fits nothing."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class LenientValue(NamedTuple):
    value: Any
    end: int


def read_value(text: str, at: int, depth: int = 0) -> LenientValue:
    """The value that begins at `at`; raises `NotJson`."""
    if depth > MAX_DEPTH:
        raise NotJson(at)
    sign = text[at : at + 1]
    if sign == "{":
        return _braces(text, at, depth)
    if sign == "[":
        return _list(text, at, depth)
    if sign and sign in "\"'":
        return _string(text, at)
    if found := _WORD.match(text, at):
        return LenientValue(_WORDS[found[0]], found.end())
    if found := _NUMBER.match(text, at):
        number = int(found[0]) if found[0].lstrip("-").isdigit() else float(found[0])
        if isfinite(number):
            return LenientValue(number, found.end())
    raise NotJson(at)


def _braces(text: str, at: int, depth: int) -> LenientValue:
    inside = _over(text, at + 1)
    if text[inside : inside + 1] != "{":
        return _object(text, at, depth)
    inner = read_value(text, inside, depth + 1)  # braces are doubled by models that learned from templates
    end = _over(text, inner.end)
    if text[end : end + 1] != "}":
        raise NotJson(end)
    return LenientValue(inner.value, end + 1)


def _object(text: str, at: int, depth: int) -> LenientValue:
    found: dict[str, Any] = {}
    at = _over(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] not in ('"', "'"):
            raise NotJson(at)
        key = _string(text, at)
        at = _over(text, key.end)
        if text[at : at + 1] != ":":
            raise NotJson(at)
        value = read_value(text, _over(text, at + 1), depth + 1)
        found[key.value] = value.value
        at = _past_comma(text, value.end, "}")
    return LenientValue(found, at + 1)


def _list(text: str, at: int, depth: int) -> LenientValue:
    found: list[Any] = []
    at = _over(text, at + 1)
    while text[at : at + 1] != "]":
        item = read_value(text, at, depth + 1)
        found.append(item.value)
        at = _past_comma(text, item.end, "]")
    return LenientValue(found, at + 1)


def _past_comma(text: str, at: int, end: str) -> int:
    at = _over(text, at)
    if text[at : at + 1] == ",":
        return _over(text, at + 1)
    if text[at : at + 1] != end:
        raise NotJson(at)
    return at


def _string(text: str, at: int) -> LenientValue:
    found = _STRING.match(text, at)
    if not found:
        raise NotJson(len(text))  # it never ends: all of the rest was looked at
    inside = found[1]
    if "\\" not in found[0]:
        return LenientValue(found[2] if inside is None else inside, found.end())
    if inside is None:  # between single quotes, a double one needs no backslash, and a single one has one
        inside = _QUOTED.sub(_requoted, found[2])
    try:
        return LenientValue(json.loads(f'"{inside}"', strict=False), found.end())
    except ValueError:
        raise NotJson(found.end()) from None


def _requoted(sign: re.Match[str]) -> str:
    return '\\"' if sign[0] == '"' else "'" if sign[1] == "'" else sign[0]


def _over(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
