"""Finder of sentences in which a user withdraws a rule, and test for the rules that they mean."""

from __future__ import annotations

from yohaku.analysis.rule_patterns import (
    BANNED_BEFORE,
    COMMON_WORDS,
    CONTENT_WORD,
    STOP_WORDS,
    WITHDRAWAL,
    WITHDRAWAL_HINT,
)
from yohaku.analysis.sentences import SENTENCE_END, lower_in_place, strip_pasted

MAX_WITHDRAWAL_TEXT_CHARS = 4_000
"""In a longer prompt no withdrawal is looked for: it is mostly pasted."""

MAX_WITHDRAWAL_CHARS = 400
"""A longer sentence is not a withdrawal."""


def find_withdrawals(text: str) -> tuple[frozenset[str], ...]:
    """Return the words of each sentence of a prompt that withdraws rules."""
    if len(text) > MAX_WITHDRAWAL_TEXT_CHARS:
        return ()
    lower = lower_in_place(text)
    if not WITHDRAWAL_HINT.search(lower):
        return ()
    sentences = (sentence for line in strip_pasted(lower).split("\n") for sentence in SENTENCE_END.split(line))
    found = (content_words(one) for one in sentences if len(one) < MAX_WITHDRAWAL_CHARS and is_withdrawal(one))
    return tuple(words - COMMON_WORDS or words for words in found if words)


def is_withdrawal(sentence: str) -> bool:
    """Test a sentence in lower case."""
    found = WITHDRAWAL.search(sentence) if WITHDRAWAL_HINT.search(sentence) else None
    return found is not None and not BANNED_BEFORE.search(sentence[: found.start()])


def count_needed(words: frozenset[str]) -> int:
    """Return how many words of a withdrawal a rule must share to be meant by it."""
    return (len(words) + 1) // 2


def content_words(text: str) -> frozenset[str]:
    found = (word.casefold() for word in CONTENT_WORD.findall(text))
    return frozenset(_strip_ending(word) for word in found if word not in STOP_WORDS)


def _strip_ending(word: str) -> str:
    """Strip English endings, roughly: `touching the tests` and `touch a test` have the same stems."""
    if word[0] > "\x7f":
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
