"""The counts of `bpe` against tiktoken, an independent program with the same public rank files."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.model import Opaque
from yohaku.meters.bpe import Bpe, clean

WORDS = r"[^\r\n\p{L}\p{N}]?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
PATTERNS = {
    "o200k_base": rf"{WORDS}{UPPER}*{LOWER}+{ENDING}?|{WORDS}{UPPER}+{LOWER}*{ENDING}?|\p{{N}}{{1,3}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}
WIDE = st.text(
    st.one_of(st.sampled_from(" \n\t\r/=-_<|>'\"aZ09.é漢かアｶ😀،אя🇯🇵\u200d\u3000"), st.characters()), max_size=300
)


@cache
def oracle(vocabulary: str) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the oracle here")
    found = find_spec("bpe_openai")
    if found is None or not found.submodule_search_locations:
        pytest.skip("bpe-openai brings the rank files, and is not installed")
    (path,) = Path(found.submodule_search_locations[0]).rglob(f"{vocabulary}.tiktoken.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    return tiktoken.Encoding(vocabulary, pat_str=PATTERNS[vocabulary], mergeable_ranks=ranks, special_tokens={})


@pytest.mark.parametrize("vocabulary", PATTERNS)
@given(text=WIDE)
def test_a_count_is_that_of_tiktoken(vocabulary: str, text: str) -> None:
    assert Bpe("x", vocabulary).count(text) == len(oracle(vocabulary).encode_ordinary(clean(text)))


@pytest.mark.shared
@pytest.mark.parametrize("vocabulary", PATTERNS)
def test_japanese_documents_are_counted_as_by_tiktoken(vocabulary: str, shared: Path) -> None:
    texts = [path.read_text("utf-8") for path in sorted((shared / "seeds").glob("*.txt"))]
    exact = [len(oracle(vocabulary).encode_ordinary(text)) for text in texts]
    assert [Bpe("x", vocabulary).count(text) for text in texts] == exact


def test_a_marker_spelled_out_is_text() -> None:
    assert Bpe("x", "o200k_base").count("<|endoftext|>") == 7
    assert Bpe("x", "o200k_base").count("<|think|>") > 1


def test_a_word_gemma_has_beside_its_vocabulary_is_one_token() -> None:
    assert Bpe("x", "gemma3").count("<table>") == 1


def test_lone_surrogates_are_counted_as_the_question_marks_they_become() -> None:
    for vocabulary in ("o200k_base", "gemma3", "qwen3", "mistral_v2"):
        meter = Bpe("x", vocabulary)
        assert meter.count("a\ud800b\udfff") == meter.count("a?b?")


@pytest.mark.slow
@pytest.mark.parametrize("char", [" ", "a", "漢", "\n", "=", "\t", "😀", "\ud800"])
@pytest.mark.parametrize("vocabulary", ["o200k_base", "gemma3"])
def test_a_million_times_the_same_character_is_counted(char: str, vocabulary: str) -> None:
    tokens = Bpe("x", vocabulary).count(char * 1_000_000)
    assert 0 < tokens <= 4_000_000


@pytest.mark.slow
def test_an_empty_text_costs_nothing_in_any_vocabulary() -> None:
    names: tuple[str, ...] = (
        "o200k_base",
        "cl100k_base",
        "gpt_oss",
        "llama2",
        "llama3",
        "qwen3",
        "deepseek_v3",
        "glm4",
        "kimi_k2",
    )
    names += ("kimi_k3", "phi4", "olmo2", "mistral_v1", "mistral_v2", "mistral_v3", "gemma2", "gemma3", "gemma4")
    names += ("modernbert",)
    assert {name: Bpe("x", name).count("") for name in names} == dict.fromkeys(names, 0)


def test_the_nearest_vocabulary_counts_more_and_is_not_exact() -> None:
    own, near = Bpe("x", "llama3"), Bpe("x", "llama3", near=1.5)
    assert (own.exact, near.exact) == (True, False)
    assert (own.count("hello world"), near.count("hello world")) == (2, 3)


def test_what_is_not_text_is_weighed_by_its_rule() -> None:
    assert Bpe("x", "o200k_base").weigh(Opaque("thought", '{"thinking": "hello world"}')) == 2 + 8
