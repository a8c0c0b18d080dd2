"""The words of `/compact WORDS` and `fit(fold=True, words=…)` shape a gist, without a model too. K5, P3, S3."""

from __future__ import annotations

from typing import Any

import pytest

from yohaku.digest.wished_lines import wished_terms
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

RECIPES = ("auto", "local", "cache", "snapshot", "layers", "chat-summary", "chat-hybrid")


def conversation(asked: str = "Task") -> list[dict[str, Any]]:
    """Twelve turns whose results are noise, but for one line in the second and one in the third reply."""
    found: list[dict[str, Any]] = [{"role": "system", "content": "You are careful."}]
    for turn in range(12):
        noise = [f"row {turn}.{row} of the ordinary listing, nothing to see" for row in range(12)]
        if turn == 1:
            noise[6] = "retries stop after the seventh attempt (backoff ceiling)"
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
        said = "決済の締切は毎月二十五日です。" if turn == 2 else f"That was listing number {turn}."
        found += [
            {"role": "user", "content": f"{asked} {turn}: list it."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": "\n".join(noise)},
            {"role": "assistant", "content": said},
        ]
    return [*found, {"role": "user", "content": "And on?"}]


def gist_of(recipe: str, words: str, body: list[dict[str, Any]] | None = None) -> str:
    session = Session(16_000, 1_000, recipe, meter=ByteMeter())
    session.fit(body or conversation(), fold=True, words=words)
    assert session.receipt
    gist = session.receipt.outcome.view.gist
    assert gist is not None and session.receipt.after <= session.receipt.limit
    return gist.text


@pytest.mark.parametrize("recipe", RECIPES)
def test_without_a_model_the_words_stand_in_the_gist_and_choose_its_lines(recipe: str) -> None:
    words = "Keep everything about the backoff ceiling."
    assert "seventh attempt" not in gist_of(recipe, "")
    text = gist_of(recipe, words)
    assert words in text and "retries stop after the seventh attempt (backoff ceiling)" in text


@pytest.mark.parametrize("recipe", RECIPES)
def test_words_in_japanese_choose_lines_too(recipe: str) -> None:
    body = conversation("次の作業を進めてください。これは番号")
    text = gist_of(recipe, "決済の締切を残して", body)
    assert "残しておきたいこと(ユーザーの言葉):\n- 決済の締切を残して" in text
    assert "決済の締切は毎月二十五日です。" in text


@pytest.mark.parametrize("recipe", RECIPES)
def test_without_words_a_gist_says_nothing_of_them(recipe: str) -> None:
    assert "wants kept" not in gist_of(recipe, "")


def test_words_that_name_nothing_change_no_lines() -> None:
    assert wished_terms("please keep all of it") == () and wished_terms("全部残して") == ()
    assert wished_terms("Keep the names of parsers in src/app.py") == ("parser", "src/app.py")


def test_words_far_longer_than_the_gist_leave_it_within_the_limit() -> None:
    text = gist_of("local", "keep the ceiling " * 2_000)
    assert "ref=" in text and len(text) < 16_000
