"""How a gist stands before what is visible: in one message with the prompt, in every dialect and shape of a prompt."""

from __future__ import annotations

from typing import Any

import pytest
from tests import checkers
from tests.checkers import alternation

from yohaku.core.folds import Gist
from yohaku.core.model import Text
from yohaku.core.view import View
from yohaku.dialects import dialect_named
from yohaku.testing import PNG

BETWEEN = "\n\n[End of the folded part, ref=g. The user's own message follows:]\n"
STAND_IN = "(What I did for this is in the folded part above, ref=g.)"
URL = f"data:image/png;base64,{PNG}"
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": URL}}
CLAUDE_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
GEMINI_IMAGE = {"inlineData": {"mimeType": "image/png", "data": PNG}}
RESPONSES_IMAGE = {"type": "input_image", "image_url": URL}


def said(name: str, role: str, content: Any) -> dict[str, Any]:
    if name != "gemini":
        return {"role": role, "content": content}
    parts = [{"text": content}] if isinstance(content, str) else content
    return {"role": "model" if role == "assistant" else role, "parts": parts}


def folded(name: str, *entries: dict[str, Any], turn: int = 1, step: int | None = None) -> list[Any]:
    """The entries behind a question and its answer, with a gist of all before that turn, or of its first steps."""
    dialect = dialect_named(name)
    body = {dialect.entries: [said(name, "user", "Why?"), said(name, "assistant", "So."), *entries]}
    history = dialect.read(body).history()
    key = history.turns[turn].key if step is None else history.turns[turn].steps[step].key
    view = View(history).with_([Gist(key, "[ref=g]", "g", "", "", 9, 1)])
    out = dialect.write(body, view)
    assert checkers.DIALECTS[name].problems(out) == [] == checkers.DIALECTS[name].intact(body, out)
    assert alternation.problems(name, out) == []
    assert dialect.read(out).history().turns == view.shown.turns
    written: list[Any] = out[dialect.entries]
    return written


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"])
def test_before_words_of_the_user_a_gist_stands_in_the_same_text(name: str) -> None:
    assert folded(name, said(name, "user", "And now?")) == [said(name, "user", f"[ref=g]{BETWEEN}And now?")]


@pytest.mark.parametrize(
    ("name", "block", "image"),
    [
        ("openai_chat", {"type": "text"}, CHAT_IMAGE),
        ("anthropic", {"type": "text", "cache_control": {"type": "ephemeral"}}, CLAUDE_IMAGE),
        ("openai_responses", {"type": "input_text"}, RESPONSES_IMAGE),
        ("gemini", {}, GEMINI_IMAGE),
    ],
)
def test_a_list_of_parts_stays_one_and_what_stands_beside_the_text_stays(name: str, block: Any, image: Any) -> None:
    asked = said(name, "user", [{**block, "text": "And now?"}, image])
    assert folded(name, asked) == [said(name, "user", [{**block, "text": f"[ref=g]{BETWEEN}And now?"}, image])]


@pytest.mark.parametrize(
    ("name", "image", "kind"),
    [
        ("openai_chat", CHAT_IMAGE, {"type": "text"}),
        ("anthropic", CLAUDE_IMAGE, {"type": "text"}),
        ("openai_responses", RESPONSES_IMAGE, {"type": "input_text"}),
        ("gemini", GEMINI_IMAGE, {}),
    ],
)
def test_before_an_image_a_gist_is_a_text_of_the_same_message(name: str, image: Any, kind: Any) -> None:
    (written,) = folded(name, said(name, "user", [image, {**kind, "text": "And now?"}]))
    assert written == said(name, "user", [{**kind, "text": f"[ref=g]{BETWEEN}"}, image, {**kind, "text": "And now?"}])


def test_an_image_of_ollama_gets_the_gist_as_its_text() -> None:
    (written,) = folded("ollama", {"role": "user", "content": "", "images": [PNG]})
    assert written == {"role": "user", "content": f"[ref=g]{BETWEEN}", "images": [PNG]}


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "ollama"])
def test_before_a_note_of_the_system_a_gist_is_a_message_of_its_own_whatever_follows(name: str) -> None:
    note, answer = said(name, "system", "The clock strikes."), said(name, "assistant", "I hear it.")
    assert folded(name, note, answer) == [said(name, "user", "[ref=g]"), note, answer]
    dialect = dialect_named(name)
    body = {dialect.entries: [said(name, "user", "Why?"), said(name, "assistant", "So."), note]}
    grown = {dialect.entries: [*body[dialect.entries], said(name, "user", "And now?")]}
    views = [View(dialect.read(each).history()) for each in (body, grown)]
    assert [part.text for part in views[1].history.turns[1].prompt if isinstance(part, Text)][1] == "And now?"
    outs = [
        dialect.write(each, view.with_([Gist(view.history.turns[1].key, "[ref=g]", "g", "", "", 9, 1)]))
        for each, view in zip((body, grown), views, strict=True)
    ]
    assert outs[1][dialect.entries][: len(outs[0][dialect.entries])] == outs[0][dialect.entries]


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"])
def test_between_two_prompts_stands_a_sentence_for_the_replies_that_are_hidden(name: str) -> None:
    done, then = said(name, "assistant", "Done."), said(name, "user", "And then?")
    first = said(name, "user", f"[ref=g]{BETWEEN}And now?")
    stand_in = dialect_named(name).model_entry(STAND_IN)
    asked = said(name, "user", "And now?")
    assert folded(name, asked, done, step=0) == [first], "as long as no prompt follows nothing is needed"
    assert folded(name, asked, done, then, step=0) == [first, stand_in, then]


def test_where_the_model_goes_on_nothing_is_acknowledged() -> None:
    dialect = dialect_named("openai_chat")
    calls = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    body = {
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "a clock"},
            {"role": "assistant", "content": "It is a clock."},
        ]
    }
    history = dialect.read(body).history()
    gist = Gist(history.steps[0].key, "[ref=g]", "g", "", "", 9, 1, ack="Understood.")
    out = dialect.write(body, View(history).with_([gist]))["messages"]
    assert out == [{"role": "user", "content": "[ref=g]"}, body["messages"][2]]
