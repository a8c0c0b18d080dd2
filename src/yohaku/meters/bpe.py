"""Exact counts with the vocabularies that splintr has on board.

Law: the count is that of ordinary text. A marker such as `<|im_end|>` spelled out in a text is text, never a marker.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import Any

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.media import MediaRule, weigh

GUESSED = 1.03
"""Times the count, where a model is only taken for one of the family."""

RUN = re.compile(r"[^\n\t]+|\n{1,31}|\t{1,31}")
"""What is never one token with its neighbour in Gemma: the longest run it knows has 31."""
PIECE = 4000
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
    """Over 1 when this is not the model's own vocabulary but the nearest one: the count is that many times it."""

    @property
    def exact(self) -> bool:
        return self.near == 1.0

    def count(self, text: str) -> int:
        tokens = tokens_in(text, self.vocabulary)
        return tokens if self.exact else ceil(tokens * self.near)

    def weigh(self, part: Opaque) -> int:
        return weigh(part, self.rule, self.count)


@cache
def _tokenizer(vocabulary: str) -> Any:
    """One for all uses: each would build its tables anew."""
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
    """For Gemma. Words such as `<table>` and runs of line breaks and tabs stand beside its vocabulary, which only the
    raw form knows; its time grows with the square of how many a text has, and at their edges a text may be cut."""

    def pieces(text: str) -> list[int]:
        if len(text) <= PIECE:
            return encode(text)
        tokens: list[int] = []
        waiting: list[str] = []
        length = 0
        for run in RUN.findall(text):
            waiting.append(run)
            length += len(run)
            if length >= PIECE:
                tokens += encode("".join(waiting))
                waiting, length = [], 0
        return tokens + encode("".join(waiting))

    return pieces


def tokens_in(text: str, vocabulary: str) -> int:
    count = counter(vocabulary)
    try:
        return count(text)
    except UnicodeEncodeError:
        return count(clean(text))


@cache
def counter(vocabulary: str) -> Callable[[str], int]:
    """Counts without making a list of numbers, where that is sure to be the same: no special token is in sight."""
    encode, tokenizer = encoder(vocabulary), _tokenizer(vocabulary)
    if vocabulary.startswith("gemma") or not all(name.startswith("<|") for name in tokenizer.special_tokens()):
        return lambda text: len(encode(text))
    flat = tokenizer.encode_flat  # four bytes a token
    return lambda text: len(flat(text)) // 4 if "<|" not in text else len(encode(text))


def tokens_of(text: str, encode: Encode) -> int:
    try:
        return len(encode(text))
    except UnicodeEncodeError:
        return len(encode(clean(text)))


def clean(text: str) -> str:
    """Without lone surrogates, which no provider can receive: each becomes one `?`, as on the wire."""
    return text.encode("utf-8", "replace").decode("utf-8")
