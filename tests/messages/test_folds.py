from __future__ import annotations

from contextlib import suppress
from random import Random

from yohaku import dialects
from yohaku.core.errors import YohakuError
from yohaku.messages.folds import folded
from yohaku.recipes.auto import RECIPES
from yohaku.session.session import Session
from yohaku.testing import ByteMeter, conversation


def test_what_was_folded_and_why_is_said_in_japanese() -> None:
    """Of every fold that our recipes make on generated conversations; so no pass of ours is forgotten."""
    said: set[tuple[str, str]] = set()
    for seed in range(70):  # the last kind of fold that 120 find comes with the 69th
        history = conversation(Random(seed), max_turns=4, max_steps=6)
        body = dialects.dialect_named("openai_chat").compose(history)
        for recipe in RECIPES:
            window = Random(seed).choice((600, 1_500, 4_000))
            session = Session(window, recipe=recipe, dialect="openai_chat", meter=ByteMeter())
            with suppress(YohakuError):
                session.fit(body)
                said |= {(fold.what, fold.why) for fold in session.receipt.folds} if session.receipt else set()
    assert len({why for _, why in said}) >= 6
    assert [one for one in said if any(a == b for a, b in zip(one, folded(*one, "ja"), strict=True))] == []
    assert folded("read result", "window_full", "en") == ("read result", "the window is full")


def test_the_words_of_a_pass_that_is_not_ours_stay() -> None:
    assert folded("a thing", "because of me", "ja") == ("a thing", "because of me")
    assert folded("read argument content", "without_model.unanswered", "ja", "timed out") == (
        "read の引数 content",
        "モデルなしで要約しました (timed out)",
    )
