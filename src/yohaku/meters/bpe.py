"""Exact counts with the vocabularies that splintr ships.

Law: the count is that of ordinary text. A marker such as `<|im_end|>` spelled out in a text is text, never a marker.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.long_words import count_in_pieces
from yohaku.meters.media import MediaRule, weigh

if TYPE_CHECKING:
    from yohaku.meters.families import MeterFamily

GUESS_FACTOR = 1.03
"""Factor on the count of a model that is only taken for one of the family."""

RUN = re.compile(r"[^\n\t]+|\n{1,31}|\t{1,31}")
"""Runs that never form one token with their neighbour in Gemma; the longest run it knows has 31."""
PIECE_CHARS = 4000
"""Characters."""

Encode = Callable[[str], "list[int]"]


@dataclass(frozen=True, slots=True)
class Bpe:
    name: str
    vocabulary: str
    """As splintr calls it."""
    frame: Overhead = field(default_factory=Overhead)
    rule: MediaRule = field(default_factory=MediaRule)
    near: float = 1.0
    """Factor on the count; over 1 where this is the nearest vocabulary, not the model's own."""

    @property
    def exact(self) -> bool:
        return self.near == 1.0

    def count(self, text: str) -> int:
        tokens = tokens_in(text, self.vocabulary)
        return tokens if self.exact else ceil(tokens * self.near)

    def weigh(self, part: Opaque) -> int:
        return weigh(part, self.rule, self.count)


def build(vocabulary: str, family: MeterFamily) -> Bpe:
    near = family.near if family.sure else max(family.near, GUESS_FACTOR)
    name = vocabulary if near == 1.0 else f"{vocabulary} × {near:g} (estimate)"
    return Bpe(name, vocabulary, family.frame, family.rule, near)


@cache
def _tokenizer(vocabulary: str) -> Any:
    """Load a tokenizer once: each builds large tables."""
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(vocabulary)


@cache
def encoder(vocabulary: str) -> Encode:
    tokenizer = _tokenizer(vocabulary)
    if vocabulary.startswith("gemma"):
        return in_pieces(tokenizer.encode_raw)
    encode: Encode = tokenizer.encode_ordinary
    around = len(encode(""))  # ModernBERT puts a marker at each end of any text
    return (lambda text: encode(text)[around:]) if around else encode


def in_pieces(encode: Encode) -> Encode:
    """Encode long texts in pieces, for Gemma.

    Words such as `<table>` and runs of line breaks and tabs stand beside its vocabulary. Only the raw form knows them,
    and takes time by the square of their number in a text; at their edges a text may be cut.
    """

    def pieces(text: str) -> list[int]:
        if len(text) <= PIECE_CHARS:
            return encode(text)
        tokens: list[int] = []
        waiting: list[str] = []
        length = 0
        for run in RUN.findall(text):
            waiting.append(run)
            length += len(run)
            if length >= PIECE_CHARS:
                tokens += encode("".join(waiting))
                waiting, length = [], 0
        return tokens + encode("".join(waiting))

    return pieces


def tokens_in(text: str, vocabulary: str) -> int:
    count = counter(vocabulary)
    try:
        return count_in_pieces(text, count)
    except UnicodeEncodeError:
        return count_in_pieces(clean(text), count)


@cache
def counter(vocabulary: str) -> Callable[[str], int]:
    """Return a counter that builds no list of numbers where the result is sure to be the same (no special token)."""
    encode, tokenizer = encoder(vocabulary), _tokenizer(vocabulary)
    if vocabulary.startswith("gemma") or not all(name.startswith("<|") for name in tokenizer.special_tokens()):
        return lambda text: len(encode(text))
    flat = tokenizer.encode_flat  # four bytes a token
    return lambda text: len(flat(text)) // 4 if "<|" not in text else len(encode(text))


def tokens_of(text: str, encode: Encode) -> int:
    try:
        return count_in_pieces(text, lambda piece: len(encode(piece)))
    except UnicodeEncodeError:
        return count_in_pieces(clean(text), lambda piece: len(encode(piece)))


def clean(text: str) -> str:
    """Replace lone surrogates, which no provider can receive, by `?`, as on the wire."""
    return text.encode("utf-8", "replace").decode("utf-8")
