from __future__ import annotations

import json
from contextlib import suppress
from random import Random

import msgspec

from yohaku import dialects
from yohaku.core.errors import YohakuError
from yohaku.core.folds import Gist, Subject
from yohaku.messages import describe
from yohaku.recipes.auto import RECIPES
from yohaku.session.session import Session
from yohaku.stores.rows import read_fold, write_fold
from yohaku.testing import ByteMeter, conversation


def test_what_was_folded_and_why_is_said_in_japanese() -> None:
    """Of every fold that our recipes make on generated conversations; so no pass of ours is forgotten."""
    said: set[tuple[Subject | str, str]] = set()
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
    assert [one for one in said if any(str(a) == b for a, b in zip(one, describe(*one, "ja"), strict=True))] == []
    assert describe(Subject("result", "read"), "window_full", "en") == ("read result", "the window is full")


def test_the_words_of_a_pass_that_is_not_ours_stay() -> None:
    assert describe("a thing", "because of me", "ja") == ("a thing", "because of me")
    assert describe(Subject("hologram"), "old and big", "ja") == ("hologram", "old and big")


def test_a_record_of_a_store_is_described_like_the_fold() -> None:
    row = msgspec.to_builtins(Subject("argument", "read", "content"))
    assert describe(row, "without_model.unanswered", "ja", "timed out") == (
        "read の引数 content",
        "モデルなしで要約しました (timed out)",
    )
    assert describe(row, "by_model", "fr") == ("read argument content", "summed up by a model")


def test_a_fold_of_an_older_version_is_read_and_described() -> None:
    row = {"key": "k", "slot": ["result", 0, 0], "text": "[folded]", "ref": "r", "what": "bash result"}
    old = read_fold('["result", 0, 0]', json.dumps({**row, "why": "old and big", "before": 9, "after": 1}), "here")
    assert describe(old.what, old.why, "ja") == ("bash result", "old and big")
    gist = Gist("k", "text", "r", Subject("before_step", steps=1_234), "by_model", 9, 1, detail="none")
    assert read_fold("", write_fold(gist), "here") == gist
    assert describe(gist.what, gist.why, "en")[0] == "the conversation before this step (1,234 steps)"
    assert describe(gist.what, gist.why, "ja")[0] == "このステップより前の会話 (1,234 ステップ)"
