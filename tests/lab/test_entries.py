from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given

from tests.lab.sessions import called, result, said, system, user
from yohaku import dialects, meters
from yohaku.core.model import History
from yohaku.core.weigh import weigh as package_weight
from yohaku.lab.entries import problem, texts_of, weigh
from yohaku.testing import conversation, histories

CHAT = dialects.dialect_named("openai_chat")
SOUND = [system("s"), user("u"), called("a"), result("a", "r"), said("ok"), user("more")]


def test_an_entry_says_its_content_and_the_values_of_its_calls() -> None:
    entry = called("a", "grep", "Looking.", pattern="x\ny", most=3)
    assert texts_of(entry) == ["Looking.", "grep\nx\ny\n3"]
    assert texts_of({"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image_url"}]}) == ["t"]


@given(histories(media=True))
def test_a_conversation_weighs_what_the_package_weighs_it(history: History) -> None:
    meter = meters.for_model("gpt-4o", "openai_chat")
    body = CHAT.compose(history)
    body.pop("tools", None)
    theirs = package_weight(CHAT.read(body).history(), meter)
    assert sum(weigh(entry, meter) for entry in body["messages"]) == theirs.total - theirs.request


def test_what_a_recording_says_is_sound() -> None:
    assert problem(SOUND) == ""
    body = CHAT.compose(conversation(Random(3)))
    assert problem(body["messages"], empty=frozenset(m.get("tool_call_id", "") for m in body["messages"])) == ""


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([], "there is nothing in it"),
        ([system("s"), said("hi")], "1: it begins with the assistant"),
        ([user("u"), result("a", "r")], "1: a result that answers no call before it"),
        ([user("u"), called("a"), user("v")], "2: a call before this has no result"),
        ([user("u"), called("a")], "the last call has no result"),
        ([user("u"), called("a"), result("b", "r")], "2: a result that answers no call before it"),
        ([user("u"), called("a"), result("a", "")], "2: an empty result"),
        ([user(" \n")], "0: an empty user text"),
        ([user("u"), said("")], "1: an empty assistant text"),
        ([user("u"), called("a", text=""), result("a", "r")], "1: an empty assistant text"),
        ([{"role": "robot", "content": "x"}], "0: it begins with the robot"),
        (
            [user("u"), {**called("a"), "tool_calls": called("a")["tool_calls"] * 2}],
            "1: calls that cannot be told apart",
        ),
    ],
)
def test_what_is_wrong_is_found(entries: list[dict[str, Any]], wrong: str) -> None:
    assert problem(entries) == wrong


def test_what_was_so_in_the_recording_is_no_fault_of_the_view() -> None:
    assert problem([said("hi"), user("u")], begins="assistant") == ""
    assert problem([user("u"), called("a"), result("a", "")], empty=frozenset("a")) == ""
