"""Texts with words too long to be tokenized whole, in pieces.

Law: pieces joined are the text, and a text without such a word is one piece. A tokenizer takes time and seventy bytes a
character for a word of megabytes; cut, a word counts at most a token more for each piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

MAX_WORD_CHARS = 65_536
"""Longer words are cut."""
PIECE_CHARS = 16_384
PROBE_CHARS = 64

_SPACE = re.compile(r"\s")
_SOLID = re.compile(r"\S")
_BOUNDARY = re.compile(r"(?<=[A-Za-z])(?=[0-9\"(\[{,:;=+<])|(?<=[A-Za-z])(?= [A-Za-z])", re.ASCII)
"""Places where the vocabularies split a text before they look for tokens, so that a cut there changes no count."""


def count_in_pieces(text: str, count: Callable[[str], int]) -> int:
    """Return the sum over the pieces of a text, each different one counted once."""
    if not has_long_word(text):
        return count(text)
    return sum(times * count(piece) for piece, times in Counter(cut(text)).items())


def has_long_word(text: str) -> bool:
    """Test for a run of MAX_WORD_CHARS characters without a space, or of spaces; looks at a few places only."""
    half = MAX_WORD_CHARS // 2
    # A run of two halves covers one of these stretches whole.
    for start in range(0, len(text) - half + 1, half) if len(text) >= MAX_WORD_CHARS else ():
        probe = text[start : start + PROBE_CHARS]
        other = _SOLID if probe.isspace() else _SPACE
        if not other.search(probe) and not other.search(text, start, start + half):
            return True
    return False


def cut(text: str) -> list[str]:
    pieces = []
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = start + PIECE_CHARS
        for found in _BOUNDARY.finditer(text, end - PROBE_CHARS, end):
            end = found.start()
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]
