from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.summary.repeats import LOOKBACK_SENTENCES, are_alike, is_repeated

ASKED = "The user {} that the port in app.py is changed and the old one is kept."
JAPANESE = "ユーザーは、app.py のポートを変えて、古いものを予備に残すことを{}。"


def seen(*sentences: str) -> dict[str, None]:
    return dict.fromkeys(sentences)


@pytest.mark.parametrize(
    ("sentence", "one", "other"),
    [(ASKED, "asked", "decided"), (ASKED, "says", "saw"), (JAPANESE, "求めました", "決めました")],
)
def test_a_sentence_with_another_verb_is_alike(sentence: str, one: str, other: str) -> None:
    assert are_alike(sentence.format(one), sentence.format(other))


@pytest.mark.parametrize(
    ("sentence", "one", "other"),
    [
        ("The tests of the whole program are in {} and are run before each release.", "a.py", "b.py"),
        ("The tests of the whole program took {} seconds the last time they were run.", "12", "13"),
        ("The tests of the whole program do {} pass when they are run on this machine.", "always", "not"),
        ("the path packages/worker/src/lib/{}.ts was changed, and so was its own test", "alpha", "beta"),
        ("the function `{}` was changed in it, and all that calls it was changed as well", "load", "save"),
        (JAPANESE, "求めました", "求めません"),
        ("ユーザーは、{}のポートを変えて、古いものを予備に残すことを求めました。", "サーバー", "クライアント"),
        ("It {}.", "works", "worked"),
    ],
)
def test_another_name_number_or_denial_is_something_else_and_so_is_what_is_short(
    sentence: str, one: str, other: str
) -> None:
    assert not are_alike(sentence.format(one), sentence.format(other))


def test_the_same_words_are_said_again_at_once_and_others_the_third_time() -> None:
    asked, decided, done = (ASKED.format(word) for word in ("asked", "decided", "saw to it"))
    assert is_repeated(asked, seen(asked)) and not is_repeated(decided, seen(asked))
    assert is_repeated(done, seen(asked, decided))


def test_what_was_said_long_ago_is_not_looked_at() -> None:
    between = [f"something else {n}" for n in range(LOOKBACK_SENTENCES)]
    assert not is_repeated(ASKED.format("saw"), seen(ASKED.format("asked"), ASKED.format("decided"), *between))


@given(st.text(max_size=200), st.text(max_size=200))
def test_it_does_not_matter_which_was_said_first(one: str, other: str) -> None:
    assert are_alike(one, other) == are_alike(other, one)
