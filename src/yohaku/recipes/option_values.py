"""Values of settings and recipe options, from plain data: a config file, a variable, a flag or Python.

Law: a value of the wrong kind raises `ValueError`; a text means what the value itself would mean in a config file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_INTEGER_DIGITS = 12
NOTHING = frozenset({"", "none", "null", "off", "false", "-"})


@dataclass(frozen=True, slots=True)
class ValueKind:
    """Parser of a kind of value, and what it must be. `code` names that sentence in other languages."""

    code: str
    expected: str
    parse: Callable[[object], Any]


def parse_integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isdecimal() and len(text) <= MAX_INTEGER_DIGITS):  # also full-width digits, as Japanese keyboards do
        raise ValueError(text)
    return int(text)


def parse_positive(value: object) -> int:
    if (number := parse_integer(value)) < 1:
        raise ValueError(number)
    return number


def parse_natural(value: object) -> int:
    if (number := parse_integer(value)) < 0:
        raise ValueError(number)
    return number


def parse_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    return float(value)


def parse_share(value: object) -> float:
    """Parse 0.8, or "80%" as people write it."""
    percent = isinstance(value, str) and value.strip().endswith("%")
    number = parse_number(str(value).strip().removesuffix("%")) / 100 if percent else parse_number(value)
    if not 0 < number <= 1:
        raise ValueError(value)
    return number


def parse_seconds(value: object) -> float:
    if not 0 <= (number := parse_number(value)) < 10**6:
        raise ValueError(value)
    return number


def parse_text(value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(value)
    return value.strip()


def parse_bool(value: object) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    word = str(value).strip().lower()
    if word not in words:
        raise ValueError(word)
    return words[word]


def parse_texts(value: object) -> tuple[str, ...]:
    """Parse a list of texts, JSON such as ["a", "b"], or lines."""
    if isinstance(value, str):
        text = value.strip()
        value = _parse_json(text) if text.startswith("[") else [line for line in text.splitlines() if line.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError(value)
    return tuple(parse_text(item) for item in value)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(text[:80]) from None


def parse_names(value: object) -> tuple[str, ...]:
    """Parse a list of names, or names with commas or spaces between them."""
    if isinstance(value, str) and not value.strip().startswith("["):
        value = re.split(r"[,\s]+", value.strip().strip(","))
    return parse_texts(value)


def parse_pairs(value: object) -> dict[str, str]:
    """Parse a table of texts, or `a=b, c=d`."""
    if isinstance(value, str):
        value = dict(pair.split("=", 1) for pair in re.split(r"[,\n]+", value) if pair.strip())
    if not isinstance(value, dict):
        raise ValueError(value)
    return {parse_text(name): parse_text(text) for name, text in value.items()}


def one_of(*words: str) -> ValueKind:
    def parse(value: object) -> str:
        if (word := parse_text(value).lower().replace("_", "-")) not in words:
            raise ValueError(word)
        return word

    expected = f"{', '.join(words[:-1])} or {words[-1]}"
    return ValueKind("one_of", expected, parse)


def or_nothing(kind: ValueKind) -> ValueKind:
    """Make a kind that also takes `false`, "none" or "off" for None."""

    def parse(value: object) -> Any:
        nothing = value is None or value is False or (isinstance(value, str) and value.strip().lower() in NOTHING)
        return None if nothing else kind.parse(value)

    return ValueKind(f"{kind.code}_or_none", f'{kind.expected}, or "none"', parse)


BOOL = ValueKind("bool", "true or false", parse_bool)
TOKENS = ValueKind("tokens", "a positive whole number of tokens", parse_positive)
RESERVE = ValueKind("natural_tokens", "a whole number of tokens", parse_natural)
COUNT = ValueKind("count", "a whole number", parse_natural)
POSITIVE = ValueKind("positive", "a positive whole number", parse_positive)
SHARE = ValueKind("share", "a share, more than 0 and at most 1", parse_share)
SECONDS = ValueKind("seconds", "a number of seconds", parse_seconds)
TEXT = ValueKind("text", "a text", parse_text)
TEXTS = ValueKind("texts", "a list of texts", parse_texts)
NAMES = ValueKind("names", "a list of names", parse_names)
MODEL = ValueKind("model", "the name of a model", parse_text)
