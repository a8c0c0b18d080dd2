"""Constants of the files that a prompt is about, where it asks for numbers: small models name them in place of these.

Law: only values that stand once in a file the model has read.
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


def find_numbers(prompt: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the constants of these texts that are numbers; nothing unless numbers were asked for, or of many."""
    if not _ASKS_FOR_NUMBERS.search(prompt):
        return {}
    found: dict[str, list[str]] = {}
    for text in texts:
        for name, number in _CONSTANT.findall(text):
            found.setdefault(name, []).append(number)
    once = {name: numbers[0] for name, numbers in found.items() if len(numbers) == 1}
    return once if len(once) <= MAX_CONSTANTS else {}
