"""Tests for Japanese: which letters are Japanese, and when a user writes Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_HIRAGANA = re.compile(r"[ぁ-ん]")
_KANA = re.compile(r"[ぁ-んァ-ヶ]")
_KANA_OR_MARK = re.compile(r"[ぁ-ヿ]")
_LETTER = re.compile(r"[ぁ-んァ-ヶ一-龯]")
_WORD_OR_LETTER = re.compile(r"[A-Za-z]+|[ぁ-んァ-ヶ一-龯]")

SAMPLE_CHARS = 2_000
"""Characters at the beginning of a text that decide its language."""


def has_japanese(text: str) -> bool:
    """Test for any kana or Chinese character."""
    return _LETTER.search(text) is not None


def count_japanese(text: str) -> int:
    """Count the kana and Chinese characters."""
    return len(_LETTER.findall(text))


def count_kana(text: str) -> int:
    return len(_KANA.findall(text))


def is_japanese(texts: Iterable[str]) -> bool:
    """Test whether a user writes Japanese: more than a tenth of all words and characters together is hiragana."""
    text = "\n".join(text[:SAMPLE_CHARS] for text in texts)
    return 10 * len(_HIRAGANA.findall(text)) > len(_WORD_OR_LETTER.findall(text))


def are_mostly_japanese(texts: Sequence[str]) -> bool:
    """Test whether most of the texts are Japanese: in each, more than a tenth of the characters is kana.

    The language of a gist's titles. A pasted log counts as one text here, and by its words in `is_japanese`.
    """
    samples = [text[:SAMPLE_CHARS] for text in texts]
    japanese = sum(len(_KANA_OR_MARK.findall(text)) * 10 > len(text) for text in samples)
    return 2 * japanese > len(samples)
