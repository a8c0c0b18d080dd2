"""Estimate for models without a known vocabulary: a weighted sum of tokens in two others and of character classes.

Law: what `count` returns is on the safe side; `raw` is the middle. `scripts/fit_estimate.py` writes the weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import ceil
from operator import mul
from typing import TYPE_CHECKING

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.bpe import tokens_in
from yohaku.meters.long_words import count_in_pieces
from yohaku.meters.media import MediaRule, weigh

if TYPE_CHECKING:
    from yohaku.meters.families import MeterFamily

BASES = ("o200k_base", "modernbert")
"""A large vocabulary and a small one: where they part, words are rare, and a third one pays for rare words too."""
RARE = 1.0
"""Tokens added to a text on the safe side: a short one may hold a rare word, and has no others to make up for it."""


def class_table() -> bytes:
    """Map each UTF-8 byte to the letter of its class: a kind of ASCII, or the scripts that begin with it."""
    table = bytearray(b"p" * 256)
    spans = {
        "a": (0x61, 0x7A), "A": (0x41, 0x5A), "0": (0x30, 0x39), "x": (0x80, 0xBF),
        "L": (0xC2, 0xCD), "G": (0xCE, 0xCF), "C": (0xD0, 0xD3), "B": (0xD4, 0xDF), "I": (0xE0, 0xE1),
        "S": (0xE2, 0xE2), "K": (0xE3, 0xE3), "H": (0xE4, 0xE9), "R": (0xEA, 0xED), "F": (0xEE, 0xEF),
        "E": (0xF0, 0xFF),
    }  # fmt: skip
    for letter, (first, last) in spans.items():
        table[first : last + 1] = letter.encode() * (last + 1 - first)
    for letter, members in {"s": b" \t", "n": b"\n\r", "q": b"\"'`", "b": b"\\", "u": b"_", "d": b"./:"}.items():
        for byte in members:
            table[byte] = ord(letter)
    return bytes(table)


TABLE = class_table()
CLASSES = (
    "a", "A", "0", "p", "q", "b", "u", "d", "s", "n", "L", "G", "C", "B", "I", "S", "K", "H", "R", "F", "E",
    "aA", "Aa", "AA", "AAAA", "aaaaaaaa", "pa", "pA", "qa", "ua", "da", "sa", "sA", "na", "nA", "sp", "pp", "dd",
    "ss", "ssss", "sn", "nn", "00", "0a", "a0", "s0", "p0", "d0",
)  # fmt: skip
"""Single letters, and neighbours: `aA` is camelCase, `Aa` a capitalised word, `ss` an indentation."""


def features(text: str, bases: Iterable[str] = BASES, classes: Iterable[str] = CLASSES) -> list[int]:
    """Count the tokens of a text in each base, and the occurrences of each class, all in C."""
    marks = text.encode("utf-8", "replace").translate(TABLE)
    return [*(tokens_in(text, base) for base in bases), *(marks.count(name.encode()) for name in classes)]


@dataclass(frozen=True, slots=True)
class EstimateWeights:
    bases: tuple[str, ...]
    classes: tuple[str, ...]
    """Those that matter for the target."""
    each: tuple[float, ...]
    """Tokens for one of the bases' tokens, then for one occurrence of a class."""
    safety: float
    """Factor on the middle that no measured conversation exceeded."""


@cache
def weights(target: str) -> EstimateWeights:
    row = json.loads(files("yohaku.meters").joinpath("estimate.json").read_text("utf-8"))[target]
    said = row["weights"]
    bases, classes = tuple(filter(said.__contains__, BASES)), tuple(filter(said.__contains__, CLASSES))
    return EstimateWeights(bases, classes, tuple(said[name] for name in bases + classes), row["safety"])


@dataclass(frozen=True, slots=True)
class Estimate:
    name: str
    target: str
    """Row of estimate.json."""
    frame: Overhead = field(default_factory=Overhead)
    rule: MediaRule = field(default_factory=MediaRule)

    @property
    def exact(self) -> bool:
        return False

    def raw(self, text: str) -> float:
        """The middle: as often too low as too high."""
        known = weights(self.target)
        return float(sum(map(mul, known.each, features(text, known.bases, known.classes))))

    def count(self, text: str) -> int:
        return count_in_pieces(text, self._count)

    def _count(self, text: str) -> int:
        return ceil(self.raw(text) * weights(self.target).safety + RARE) if text else 0

    def weigh(self, part: Opaque) -> int:
        return weigh(part, self.rule, self.count)


def build(target: str, family: MeterFamily) -> Estimate:
    return Estimate(f"{family.name} (estimate)", target, family.frame, family.rule)
