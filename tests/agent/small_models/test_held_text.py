"""Calls written as text do not reach the screen, and everything else does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.scripted import READ, agent, ended, play, says, sent
from yohaku.agent.events import TextDelta
from yohaku.agent.small_models.assistance import NO_CALL
from yohaku.agent.small_models.held_text import HeldText

CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
UNKNOWN = '<tool_call>\n{"name": "fly", "arguments": {"to": "moon"}}\n</tool_call>'


def shown(text: str, size: int) -> tuple[str, str]:
    held = HeldText(("read", "bash"))
    given = "".join(held.feed(text[at : at + size]) for at in range(0, len(text), size))
    return given, held.take()


@given(st.text(alphabet="a `\n{[<\"'|~jsontool_cr(", max_size=60), st.integers(1, 7))
def test_nothing_is_lost_or_moved(text: str, size: int) -> None:
    assert "".join(shown(text, size)) == text


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("I look.\n", CALL),
        ("I look. ", CALL),
        ("", '{"name": "read"}'),
        ("Now:\n\n", '```json\n{"name": "read"}\n```'),
        ("", '```\n{"name": "read"}\n```'),
        ("", 'read(path="a.py")'),
    ],
)
def test_a_call_is_held_from_its_beginning(before: str, call: str, size: int) -> None:
    given, held = shown(before + call, size)
    assert given.strip() == before.strip() and held.strip() == call


@pytest.mark.parametrize("text", ["A word.", "a < b", "x = [1, 2]", "Read this (or not).", "```python\nx\n```\nend"])
def test_other_text_is_shown_at_once(text: str) -> None:
    assert shown(text, 1) == (text, "")


def said(events: list[object]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_a_call_as_text_is_made_and_not_shown(tmp_path: Path) -> None:
    one = agent(tmp_path, says(f"I look.\n{CALL}"), says("It is fine."), tools=(READ,))
    events = play(one, "Hi.")
    assert said([*events]) == "I look.\nIt is fine." and ended(events).text == "It is fine."


def test_an_answer_in_json_is_shown(tmp_path: Path) -> None:
    answer = 'Here:\n```json\n{"a": 1}\n```'
    events = play(agent(tmp_path, says(answer), tools=(READ,)), "Hi.")
    assert said([*events]) == answer == ended(events).text


def test_a_call_that_cannot_be_made_is_asked_for_again_and_never_the_answer(tmp_path: Path) -> None:
    one = agent(tmp_path, says(UNKNOWN), says(UNKNOWN), tools=(READ,))
    events = play(one, "Hi.")
    assert said([*events]) == "" and ended(events).text == ""
    assert NO_CALL.format(names="read") in str(sent(one)[1]["messages"][-1])


def test_the_first_word_of_an_answer_is_shown_at_once() -> None:
    held = HeldText(("read", "bash"))
    assert held.feed("Wait") == "Wait"
