"""The demo's session is what it is said to be, and plays without a model, a network or a terminal."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest

from yohaku import meters
from yohaku.core.model import Text
from yohaku.core.weigh import weigh
from yohaku.demo import play, read_recording


def test_the_session_is_long_and_in_two_languages() -> None:
    history = read_recording()
    prompts = [part.text for turn in history.turns for part in turn.prompt if isinstance(part, Text)]
    assert len(history.steps) >= 120
    assert weigh(history, meters.for_model("gpt-4o")).total >= 100_000
    assert any(re.search("[ぁ-ん]", prompt) for prompt in prompts)
    assert any(prompt.isascii() for prompt in prompts)


def test_the_session_says_nothing_about_the_machine_it_was_recorded_on() -> None:
    texts = [use.result.text + use.call.arguments for step in read_recording().steps for use in step.uses]
    found = [text for text in texts if re.search(rf"{Path.home()}|/home/\w|/Users/|site-packages", text)]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "said"), [("en", "0 with it"), ("ja", "ありでは 0 回")])
def test_it_plays_to_the_end_and_every_ref_opens(lang: str, said: str) -> None:
    out = StringIO()
    assert play(16_384, lang, fast=True, out=out) == 0
    assert said in out.getvalue() and "ref=" in out.getvalue() and "\x1b" not in out.getvalue()
