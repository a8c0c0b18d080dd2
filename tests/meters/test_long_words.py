from __future__ import annotations

import base64
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters import for_model, long_words
from yohaku.meters.bpe import counter
from yohaku.meters.long_words import MAX_WORD_CHARS, count_in_pieces, cut, has_long_word

CHANCE = Random(5)
LETTERS = "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=300_000))
ROWS = json.dumps([{"id": n, "name": f"row{n}"} for n in range(12_000)], separators=(",", ":"))


@given(st.lists(st.sampled_from(["a", "1", " b", "\n", "日本", '"', "= ", "\ud800"]), max_size=80))
def test_the_pieces_are_the_text(parts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_words, "PIECE_CHARS", 12)
        patch.setattr(long_words, "PROBE_CHARS", 5)
        pieces = cut("".join(parts))
        assert "".join(pieces) == "".join(parts)
        assert all(0 < len(piece) <= 12 for piece in pieces[:-1])


@pytest.mark.parametrize("word", ["x", "=", "\n", " ", "会話の文脈"])
def test_a_word_is_long_wherever_it_stands(word: str) -> None:
    run = word * (2 * MAX_WORD_CHARS // len(word))
    for text in (run, "some words before " * 500 + run, run + " and after" * 500):
        assert has_long_word(text)
    assert not has_long_word(f"{word * 100}. {word} b " * 2000)


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base", "llama3", "qwen3"])
def test_what_is_cut_between_words_counts_the_same(vocabulary: str) -> None:
    encoded = base64.b64encode(CHANCE.randbytes(200_000)).decode()
    for text in (ROWS, encoded):
        assert has_long_word(text)
        assert count_in_pieces(text, counter(vocabulary)) == counter(vocabulary)(text)


def test_a_word_without_a_seam_counts_a_token_more_for_each_cut_at_most() -> None:
    for text in (LETTERS, "x" * 300_000, "=" * 300_000, "会話の文脈" * 60_000):
        count = counter("o200k_base")
        assert count(text) <= count_in_pieces(text, count) <= count(text) + len(cut(text))


@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-4-8", "gemini-2.5-pro", "gemma-3-27b", "unknown"])
def test_every_meter_counts_each_different_piece_once(model: str) -> None:
    """Fifty megabytes took most of a minute and gigabytes of memory; a test this long would not end."""
    tokens = for_model(model).count("x" * 50_000_000)
    assert 1_000_000 < tokens <= 50_000_000
