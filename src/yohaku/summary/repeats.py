"""What is said again: small models repeat a sentence, and then go on repeating it with another verb.

Law: what differs in a name, a number or a denial is not the same. Twice may be meant; a third time is not.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

Seen: TypeAlias = dict[str, None]
"""Lines and sentences, in the order they were said."""

LOOKBACK_SENTENCES = 12
"""Sentences back in which it is looked for."""
MIN_ALIKE_BYTES = 60
"""Bytes. Shorter sentences are often alike and say something else."""
MIN_ALIKE_SHARE = 0.75
"""Share of a sentence that is the same."""

_NAME_LETTER = re.compile(r"[A-Za-z0-9_./`'\"-]")
_NAME_OR_DENIAL = re.compile(r"[0-9_/`'\"A-Z]|\.\w|\b(?:not|no|none|never|n't)\b|[ァ-ヶ一-龯]{3,}|ない|せん")
"""What is another name or number, or the contrary."""


def is_repeated(plain: str, seen: Seen) -> bool:
    """Whether it was said before, or twice before in all but the same words."""
    return plain in seen or sum(are_alike(plain, other) for other in islice(reversed(seen), LOOKBACK_SENTENCES)) >= 2


def are_alike(one: str, other: str) -> bool:
    """Whether two sentences differ in a few plain words only: what was asked, and then that it was decided, done."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) > 1.5 * len(shorter) or len(shorter.encode("utf-8", "replace")) < MIN_ALIKE_BYTES:
        return False
    head = _common_prefix(one, other)
    tail = _common_prefix(one[head:][::-1], other[head:][::-1])
    if head + tail < MIN_ALIKE_SHARE * len(longer):
        return False
    return not any(_holds_name(text, head, len(text) - tail) for text in (one, other))


def _common_prefix(one: str, other: str) -> int:
    """How many letters both begin with."""
    both = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in both if a != b), min(len(one), len(other)))


def _holds_name(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a name, or a part of one."""
    while start and _NAME_LETTER.match(text[start - 1]):
        start -= 1
    while end < len(text) and _NAME_LETTER.match(text[end]):
        end += 1
    return bool(_NAME_OR_DENIAL.search(text[start:end]))
