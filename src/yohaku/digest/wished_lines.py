"""Lines that the user's words ask for, chosen without a model: those that hold most of the words, rare words first.

Law: lines are shown as they were. The same words and texts give the same choice.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from yohaku.digest.excerpts import Excerpt
from yohaku.digest.gist_text import cut_to_tokens
from yohaku.digest.spans import Span, split_ends

MAX_SCANNED_CHARS = 400_000
"""Characters that are scanned, the newest texts first."""
MAX_WORDS_SHARE = 0.03
"""Share of the limit that the user's words take in a gist at most."""
MAX_TERMS = 24
"""Words of the user that are looked for."""
TITLE_TOKENS, NUMBER_TOKENS = 10, 3
"""Tokens of the title over the lines of one text, and of a line's number."""
AGE_POWER = 0.1
"""A line is worth less with its age in steps, by this power."""

_TERM = re.compile(r"[A-Za-z0-9_][\w./-]*[A-Za-z0-9_]|[一-龯々]{2,}|[ァ-ヶー]{2,}", re.ASCII)
_COMMON = frozenset(
    "about all also and any are as at be but by can concerning concerns do does don't each every everything focus for "
    "forget from had has have how in into is it its just keep kept keeping list me more most much my names no not note "
    "of on only or our please preserve related remember retain save say says should so still summarise summarize "
    "summary than that the their them then there these they thing things this to too up use was we were what when "
    "where which who why will with word words you your".split()
)
_VERBS_JA = "残覚忘消"
"""Beginnings of verbs, which stand directly behind a noun: `全部残して`."""
_COMMON_JA = frozenset("内容 全部 全体 要約 圧縮 保持 情報 部分 重要 必要 関係 関連 場合 以外 以上 以下 今回".split())


def shorten_words(words: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the user's words as a gist shows them, at most a share of the limit."""
    return cut_to_tokens(words, int(limit * MAX_WORDS_SHARE), count)


def wished_terms(words: str) -> tuple[str, ...]:
    """Return what to look for, in lower case: words without the common ones, and without the `s` of a plural."""
    found = (term.lower().rstrip(_VERBS_JA) for term in _TERM.findall(words))
    named = [term for term in found if len(term) > 1 and term not in _COMMON and term not in _COMMON_JA]
    return tuple(dict.fromkeys(_singular(term) for term in named))[:MAX_TERMS]


def _singular(term: str) -> str:
    return term[:-1] if re.fullmatch(r"[a-z]{3,}[^s\W]s", term) else term


class _Match(NamedTuple):
    excerpt: int
    span: Span
    terms: frozenset[str]


def choose_wished(
    excerpts: Sequence[Excerpt], words: str, tokens: float, count: Callable[[str], int]
) -> tuple[list[list[Span]], float]:
    """Return the spans of each text to show for these words, and the tokens that they take, about `tokens` at most."""
    chosen: list[list[Span]] = [[] for _ in excerpts]
    terms = wished_terms(words)
    if not terms or tokens <= TITLE_TOKENS:
        return chosen, 0
    matches = list(_find_matches(excerpts, terms))
    lines_with = Counter(term for match in matches for term in match.terms)
    worth = {term: 1 + math.log(len(matches) / lines) for term, lines in lines_with.items()}

    def rank(match: _Match) -> float:
        age = math.pow(excerpts[match.excerpt].age + 1, -AGE_POWER)
        return -math.fsum(worth[term] for term in sorted(match.terms)) * age

    left, seen = tokens, set[str]()
    for match in sorted(matches, key=rank):
        text = excerpts[match.excerpt].text[match.span.start : match.span.end]
        cost = count(text) + NUMBER_TOKENS + (0 if chosen[match.excerpt] else TITLE_TOKENS)
        if cost <= left and text.strip() not in seen:
            left -= cost
            seen.add(text.strip())
            chosen[match.excerpt].append(match.span)
    return [sorted(spans) for spans in chosen], tokens - left


def _find_matches(excerpts: Sequence[Excerpt], terms: Sequence[str]) -> Iterator[_Match]:
    pattern = re.compile("|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True)), re.IGNORECASE)
    left = MAX_SCANNED_CHARS
    for number in reversed(range(len(excerpts))):
        if left <= 0:
            return
        text = excerpts[number].text
        for span in split_ends(text, left):
            if found := frozenset(term.lower() for term in pattern.findall(text, span.start, span.end)):
                yield _Match(number, span, found)
        left -= len(text)


def merge_spans(wished: Sequence[list[Span]], others: Sequence[list[Span]]) -> list[list[Span]]:
    """Return the spans of both, in order."""
    return [sorted({*first, *second}) for first, second in zip(wished, others, strict=True)]
