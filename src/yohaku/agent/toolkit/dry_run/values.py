"""Values of words: strings in which a few private characters mark wildcards, and what is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

ANY = "\ue000"
"""Unknown text, perhaps none."""
SOME = "\ue001"
"""Unknown text: at least one character, no slash, such as a number or a date."""
SOMEWHERE = "\ue002"
"""An unknown folder."""
STAR, QUESTION, OPEN, CLOSE = "\ue010", "\ue011", "\ue012", "\ue013"
"""Wildcards that are not quoted."""
BRACE, END_BRACE, COMMA, TILDE = "\ue014", "\ue015", "\ue016", "\ue017"
FIRST_EXPANSION = 0xF0000
"""Characters from here on stand for the expansions of a word until these are replaced."""

MAX_VALUES = 64
"""Values of one word; of more only these are looked at, and one unknown."""

_ACTIVE = {"*": STAR, "?": QUESTION, "[": OPEN, "]": CLOSE}
_ACTIVE_TEXT = str.maketrans({**_ACTIVE, "{": BRACE, "}": END_BRACE, ",": COMMA, "~": TILDE})
_WILDCARDS = str.maketrans(_ACTIVE)
_LITERAL = str.maketrans(
    {STAR: "*", QUESTION: "?", OPEN: "[", CLOSE: "]", BRACE: "{", END_BRACE: "}", COMMA: ",", TILDE: "~"}
)
_READABLE = str.maketrans({ANY: "…", SOME: "…", SOMEWHERE: "…"})
_RESERVED = re.compile("[\ue000-\ue01f\U000f0000-\U000fffff]")
_INNER_BRACE = re.compile(f"{BRACE}([^{BRACE}{END_BRACE}]*){END_BRACE}")
_RANGE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.-?\d{1,9})?$")


def drop_marks(text: str) -> str:
    """Replace characters of a command that would be taken for marks."""
    return _RESERVED.sub("\ufffd", text)


def mark_unquoted(text: str) -> str:
    return text.translate(_ACTIVE_TEXT)


def mark_wildcards(text: str) -> str:
    """Mark the wildcards in the value of a variable that is not quoted; braces and `~` mean nothing there."""
    return text.translate(_WILDCARDS)


def unmark(text: str) -> str:
    """Return a value in which wildcards are ordinary characters; what is not known stays marked."""
    return text.translate(_LITERAL)


def show_value(text: str) -> str:
    """Return a value without marks."""
    return text.translate(_LITERAL).translate(_READABLE)


def is_unknown(text: str) -> bool:
    return ANY in text or SOMEWHERE in text


def has_wildcard(text: str) -> bool:
    return STAR in text or QUESTION in text or OPEN in text


def limit(values: Iterable[str]) -> list[str]:
    """Return values once each, and not too many."""
    found = list(dict.fromkeys(values))
    return found if len(found) <= MAX_VALUES else [*found[: MAX_VALUES - 1], ANY]


def expand_braces(text: str) -> list[str]:
    """Return the words `a{b,c}` stands for."""
    done: list[str] = []
    waiting = [text]
    while waiting and len(done) + len(waiting) <= MAX_VALUES:
        word = waiting.pop(0)
        found = _INNER_BRACE.search(word)
        if not found:
            done.append(_unmark_braces(word))
            continue
        choices = found[1].split(COMMA) if COMMA in found[1] else _expand_range(found[1])
        if not choices:
            choices = ["{" + found[1] + "}"]
        waiting += [word[: found.start()] + choice + word[found.end() :] for choice in choices]
    return limit([*done, *map(_unmark_braces, waiting)])


def _unmark_braces(text: str) -> str:
    return text.replace(BRACE, "{").replace(END_BRACE, "}").replace(COMMA, ",")


def _expand_range(text: str) -> list[str]:
    found = _RANGE.match(text)
    if not found:
        return []
    first, last = found[1], found[2]
    if first.isalpha() and last.isalpha():
        ends = sorted((ord(first), ord(last)))
        return [chr(at) for at in range(ends[0], min(ends[1], ends[0] + MAX_VALUES) + 1)]
    return [SOME]


def remove_affix(value: str, pattern: str, operator: str) -> str:
    """Apply `${name#pattern}`, `##`, `%` or `%%`."""
    if is_unknown(value) or SOME in value or is_unknown(pattern):
        return ANY
    matches = re.compile(translate(unmark(pattern))).match
    lengths = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for length in lengths:
        if operator.startswith("#") and matches(value[:length]):
            return value[length:]
        if operator.startswith("%") and matches(value[len(value) - length :]):
            return value[: len(value) - length]
    return value
