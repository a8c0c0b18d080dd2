"""Search for the passages that hold most of some words, for questions to which no single line is the answer.

Law: it ends in time, and what it shows is short: a few lines of a few originals, the best first.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.recall.blocks import blocks, find_lines
from yohaku.recall.lines import read
from yohaku.recall.patterns import compile_pattern
from yohaku.stores import Store

MAX_WORDS, MAX_WORD_CHARS = 16, 50
MIN_WORD_CHARS = 3
"""A shorter word of Latin letters stands in nearly every line."""
MAX_HITS_A_REF = 4_000
"""Lines with any of the words that are looked at in one original; of one that has more they say little."""
PASSAGE_LINES = 8
"""Lines within which words count as together."""
LINES_AROUND = 2
MAX_LINE_CHARS = 240
MAX_PASSAGES = 5
MIN_SHARE = 0.35
"""Share of the worth of all words that a passage holds at least."""

_WORD = re.compile(r"[A-Za-z0-9_][\w./:@-]*[A-Za-z0-9_]|[ァ-ヿー]{2,}|[一-鿿]{2,}", re.ASCII)
_COMMON = frozenset(
    "the and for was were are what which why how who when where did does that this with from into not has have had its"
    " after before about there their then than been being can could should would all any some only".split()
)
"""Words that say nothing about what is looked for."""


class _Hit(NamedTuple):
    line: int
    words: frozenset[str]


class FoundPassage(NamedTuple):
    ref: str
    first: int
    """Number of its first line, counted from 1."""
    lines: tuple[str, ...]
    words: tuple[str, ...]
    """Words it holds."""

    def __str__(self) -> str:
        last = self.first + len(self.lines) - 1
        head = f"ref={self.ref}:{self.first}-{last} ({', '.join(self.words)})"
        return "\n".join([head, *(f"{number:>6}: {line}" for number, line in enumerate(self.lines, self.first))])


@dataclass(frozen=True, slots=True)
class PassageSearch:
    passages: tuple[FoundPassage, ...]
    late: bool


def split_question(text: str) -> list[str]:
    """Return the words of a question that may stand in an answer: names, numbers and rare words, in lower case."""
    words = dict.fromkeys(word.lower()[:MAX_WORD_CHARS] for word in _WORD.findall(text))
    telling = [word for word in words if word not in _COMMON and (len(word) >= MIN_WORD_CHARS or not word.isascii())]
    return sorted(telling or words, key=len, reverse=True)[:MAX_WORDS]


def find_passages(store: Store, question: str, refs: Iterable[str], end: float) -> PassageSearch:
    """Return the passages that hold most of the words of a question, the best first."""
    words = split_question(question)
    if not words:
        return PassageSearch((), late=False)
    found: dict[str, list[_Hit]] = {}
    late = False
    for ref in refs:
        hits = list(_find_hits(store, ref, words, end))
        if hits:
            found[ref] = hits
        if late := time.monotonic() > end:
            break
    worth = _weigh(words, found.values())
    enough = MIN_SHARE * math.fsum(worth.values())
    ranked = sorted(
        (-value, at, line, ref)
        for at, (ref, hits) in enumerate(found.items())
        for value, line in _rank(hits, worth)
        if value >= enough
    )
    passages: list[FoundPassage] = []
    for _, _, line, ref in ranked:
        passage = _open(store, ref, line, words)
        if passage and not any(passage.lines == other.lines for other in passages):
            passages.append(passage)
        if len(passages) == MAX_PASSAGES:
            break
    return PassageSearch(tuple(passages), late)


def _find_hits(store: Store, ref: str, words: list[str], end: float) -> Iterator[_Hit]:
    """Yield the lines that hold any of the words."""
    find = compile_pattern("(?i)" + "|".join(map(re.escape, words)))
    try:
        original, pieces = store.open(ref, 0)
    except UnknownRef:
        return  # removed meanwhile
    if original.binary:
        return
    for number, line in enumerate(find_lines(blocks(pieces), find, 0, 1 << 14, end)):
        if not line.hit or number >= MAX_HITS_A_REF:
            return
        text = line.text.lower()
        yield _Hit(line.number, frozenset([word for word in words if word in text]))


def _weigh(words: list[str], found: Iterable[list[_Hit]]) -> dict[str, float]:
    """Return the worth of each word: a rare one says more. A word that stands nowhere is worth nothing."""
    lines, total = Counter[str](), 0
    for hits in found:
        total += len(hits)
        for hit in hits:
            lines.update(hit.words)
    return {word: math.log(1 + total / lines[word]) for word in words if lines[word]}


def _rank(hits: list[_Hit], worth: dict[str, float]) -> Iterator[tuple[float, int]]:
    """Yield worth and first line of passages that do not overlap, the best of an original first."""
    values: list[tuple[float, int]] = []
    for at, first in enumerate(hits):
        held: set[str] = set()
        for hit in hits[at : at + PASSAGE_LINES]:
            if hit.line >= first.line + PASSAGE_LINES:
                break
            held |= hit.words
        values.append((math.fsum(worth[word] for word in sorted(held)), first.line))
    taken: list[int] = []
    for value, line in sorted(values, key=lambda each: (-each[0], each[1])):
        if all(abs(line - other) >= PASSAGE_LINES for other in taken):
            taken.append(line)
            yield value, line
        if len(taken) == MAX_PASSAGES:
            return


def _open(store: Store, ref: str, line: int, words: list[str]) -> FoundPassage | None:
    first = max(1, line - LINES_AROUND)
    try:
        opened = read(store, ref, first, line - first + PASSAGE_LINES + LINES_AROUND, width=1 << 14)
    except UnknownRef:
        return None
    texts = [each.text for each in opened.lines]
    joined = "\n".join(texts).lower()
    held = tuple(word for word in words if word in joined)
    return FoundPassage(ref, first, tuple(_clip(text, words) for text in texts), held)


def _clip(text: str, words: list[str]) -> str:
    """Return a line, or the part of a long one that holds the most words."""
    if len(text) <= MAX_LINE_CHARS:
        return text
    lower = text.lower()
    starts = [max(0, at - MAX_LINE_CHARS // 4) for word in words if (at := lower.find(word)) >= 0] or [0]
    best = max(starts, key=lambda start: sum(word in lower[start : start + MAX_LINE_CHARS] for word in words))
    end = best + MAX_LINE_CHARS
    return f"{'…' if best else ''}{text[best:end]}{'…' if end < len(text) else ''}"
