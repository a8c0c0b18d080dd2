"""Constants that an answer names where the prompt asks for their numbers.

Law: only values that stand once in a file the model has read, and that the answer does not give itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CONSTANTS = 8
_ASKS_FOR_NUMBERS = re.compile(
    r"\b(?:numbers?|figures?|values?|amounts?|how (?:many|much|long|old|often|far))\b"
    r"|数値|数字|値|いくつ|いくら|何日|何個|何件|何回",
    re.IGNORECASE,
)
_CONSTANT = re.compile(
    r"^[ \t]*(?:(?:export|static|final|public|private|const|let|var|val|int|long|double|float)[ \t]+)*"
    r"([A-Z][A-Z0-9_]{2,})(?:[ \t]*:[^=\n]{1,40})?[ \t]*=[ \t]*(-?\d[\d_]*(?:\.\d+)?)[ \t]*(?:;|#.*|//.*)?$",
    re.MULTILINE,
)


def find_missing_numbers(prompt: str, answer: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the constants an answer names without their numbers, with these; nothing unless numbers were asked for."""
    if not _ASKS_FOR_NUMBERS.search(prompt):
        return {}
    found: dict[str, list[str]] = {}
    for text in texts:
        for name, number in _CONSTANT.findall(text):
            found.setdefault(name, []).append(number)
    given = answer.replace(",", "").replace("_", "")
    named = {name: numbers[0] for name, numbers in found.items() if len(numbers) == 1 and _names(answer, name)}
    missing = {name: number for name, number in named.items() if number.replace("_", "") not in given}
    return dict(list(missing.items())[:MAX_CONSTANTS])


def _names(answer: str, name: str) -> bool:
    """Return whether an answer speaks of a constant: by its name, or by the words of it."""
    words, end = name.replace("_", "[ _-]"), "" if "_" in name else r"\b"  # PER_KILO is a fee per kilogram
    return bool(re.search(rf"\b{words}{end}", answer, re.IGNORECASE))
