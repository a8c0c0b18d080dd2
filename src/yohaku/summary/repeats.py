"""What is said again: small models repeat a sentence, and then go on repeating it with another verb.

Law: what differs in a name, a number or a denial is not the same. Twice may be meant; a third time is not.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

Seen: TypeAlias = dict[str, None]
"""Lines and sentences, in the order they were said."""

LATELY = 12
"""Sentences back in which it is looked for."""
LEAST = 60
"""Bytes. Shorter sentences are often alike and say something else."""
ALIKE = 0.75
"""Share of a sentence that is the same."""

LETTER = re.compile(r"[A-Za-z0-9_./`'\"-]")
NAMES = re.compile(r"[0-9_/`'\"A-Z]|\.\w|\b(?:not|no|none|never|n't)\b|[ァ-ヶ一-龯]{3,}|ない|せん")
"""What is another name or number, or the contrary."""


def said_again(plain: str, seen: Seen) -> bool:
    """Whether it was said before, or twice before in all but the same words."""
    return plain in seen or sum(alike(plain, other) for other in islice(reversed(seen), LATELY)) >= 2


def alike(one: str, other: str) -> bool:
    """Whether two sentences differ in a few plain words only: what was asked, and then that it was decided, done."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) > 1.5 * len(shorter) or len(shorter.encode("utf-8", "replace")) < LEAST:
        return False
    head = _shared(one, other)
    tail = _shared(one[head:][::-1], other[head:][::-1])
    if head + tail < ALIKE * len(longer):
        return False
    return not any(_names_something(text, head, len(text) - tail) for text in (one, other))


def _shared(one: str, other: str) -> int:
    """How many letters both begin with."""
    both = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in both if a != b), min(len(one), len(other)))


def _names_something(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a name, or a part of one."""
    while start and LETTER.match(text[start - 1]):
        start -= 1
    while end < len(text) and LETTER.match(text[end]):
        end += 1
    return bool(NAMES.search(text[start:end]))
