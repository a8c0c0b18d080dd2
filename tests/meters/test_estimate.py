from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters.bpe import Bpe
from yohaku.meters.claude import available, exact_counter
from yohaku.meters.estimate import BASES, CLASSES, Estimate, features, weights

TARGETS = {"claude_v3": "3.0", "claude_v48": "4.8"}
needs_ctok = pytest.mark.skipif(not available(), reason="ctok, the truth about Claude, is not installed")


@needs_ctok
@pytest.mark.shared
@pytest.mark.parametrize(("target", "version"), TARGETS.items())
def test_japanese_documents_are_within_five_percent_and_never_under_on_the_safe_side(
    target: str, version: str, shared: Path
) -> None:
    meter, exact = Estimate(target, target), exact_counter(version)
    for path in sorted((shared / "seeds").glob("*.txt")):
        text = path.read_text("utf-8")
        true = exact(text)
        assert abs(meter.raw(text) / true - 1) < 0.05, path.name
        assert true <= meter.count(text) < true * 1.1, path.name


@pytest.mark.parametrize("target", [*TARGETS, "any"])
def test_the_safety_is_small_and_the_weights_are_not_negative(target: str) -> None:
    known = weights(target)
    assert 1.0 <= known.safety < 1.1
    assert set(known.bases) | set(known.classes) <= set(BASES + CLASSES)
    assert min(known.each) > 0


def test_features_tell_what_a_text_is_made_of() -> None:
    told = dict(zip(BASES + CLASSES, features("camelCase 漢字\n12"), strict=True))
    said = {name: told[name] for name in ("a", "A", "aA", "H", "0", "n", "s")}
    assert said == {"a": 8, "A": 1, "aA": 1, "H": 2, "0": 2, "n": 1, "s": 1}


@pytest.mark.parametrize("target", [*TARGETS, "any"])
def test_the_middle_has_no_constant_part_and_the_safe_side_a_token(target: str) -> None:
    meter = Estimate("x", target)
    assert meter.raw("") == 0
    assert meter.raw("hello") + 1 <= meter.count("hello") <= meter.raw("hello") * 1.1 + 2


def test_nothing_costs_nothing_and_anything_costs_something() -> None:
    meter = Estimate("x", "claude_v48")
    assert (meter.count(""), meter.exact) == (0, False)
    assert meter.count("a") >= 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_never_weighs_less_by_more_than_a_seam(one: str, other: str) -> None:
    meter = Estimate("x", "claude_v3")
    assert meter.count(one + other) >= meter.count(one) * 0.5


@pytest.mark.slow
@pytest.mark.parametrize("char", [" ", "a", "漢", "\n", "=", "😀", "\ud800"])
def test_a_million_times_the_same_character_is_estimated(char: str) -> None:
    assert Estimate("x", "any").count(char * 1_000_000) > 0


def test_an_unknown_model_is_not_taken_for_the_thriftiest_one() -> None:
    text = "2024-11-15 12:34:56,789 ERROR worker[8823] 0x7fff5fbff8a0 took 1234567 ns\n" * 50
    counts = {name: Bpe("x", name).count(text) for name in ("o200k_base", "qwen3", "gemma3", "llama3")}
    assert Estimate("x", "any").count(text) > counts["o200k_base"]
