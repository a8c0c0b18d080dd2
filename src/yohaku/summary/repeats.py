"""Test for repetition: small models repeat a sentence, then go on repeating it with another verb."""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

Seen: TypeAlias = dict[str, None]
"""Lines and sentences in order."""

LOOKBACK_SENTENCES = 12
MIN_ALIKE_BYTES = 60
"""Shorter sentences are often alike and mean something else."""
MIN_ALIKE_SHARE = 0.75
"""Share of a sentence that is the same in sentences that are alike."""
_NAME_LETTER = re.compile(r"[A-Za-z0-9_./`'\"-]")
_NAME_OR_DENIAL = re.compile(r"[0-9_/`'\"A-Z]|\.\w|\b(?:not|no|none|never|n't)\b|[ァ-ヶ一-龯]{3,}|ない|せん")
"""Signs of another name or number, or of the contrary."""


def is_repeated(sentence: str, seen: Seen) -> bool:
    """Test whether a sentence came before, or two alike did: twice may be meant, a third time is a loop."""
    return (
        sentence in seen or sum(are_alike(sentence, other) for other in islice(reversed(seen), LOOKBACK_SENTENCES)) >= 2
    )


def are_alike(one: str, other: str) -> bool:
    """Test whether two sentences differ in a few plain words only. Law: not in a name, a number or a denial."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) > 1.5 * len(shorter) or len(shorter.encode("utf-8", "replace")) < MIN_ALIKE_BYTES:
        return False
    head = _common_prefix(one, other)
    tail = _common_prefix(one[head:][::-1], other[head:][::-1])
    if head + tail < MIN_ALIKE_SHARE * len(longer):
        return False
    return not any(_holds_name(text, head, len(text) - tail) for text in (one, other))


def _common_prefix(one: str, other: str) -> int:
    both = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in both if a != b), min(len(one), len(other)))


def _holds_name(text: str, start: int, end: int) -> bool:
    """Test for a name, or a part of one, between two positions."""
    while start and _NAME_LETTER.match(text[start - 1]):
        start -= 1
    while end < len(text) and _NAME_LETTER.match(text[end]):
        end += 1
    return bool(_NAME_OR_DENIAL.search(text[start:end]))
