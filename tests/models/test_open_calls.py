"""Why a trailing reply loses its open calls before a summary is asked for: what llama.cpp says to it otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.test_question_body import OPEN
from tests.models.serving import Refusal, Served
from tests.models.tiny import REFUSES, SUMMARY
from yohaku.client.request import require_text, summary_body
from yohaku.core.recipe import Question
from yohaku.dialects import dialect_named

pytestmark = pytest.mark.slow  # a real server with a tiny model

ASKED = Question("summary", "Give a summary of this conversation.", 200)
spoken = pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])


def as_it_is(dialect: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {dialect_named(dialect).entries: [*OPEN[dialect], *more], "max_tokens": 200}


def asked(dialect: str) -> dict[str, Any]:
    return summary_body(dialect, dialect_named(dialect).read(OPEN[dialect]).history(), ASKED)


@spoken
def test_a_conversation_that_ends_in_an_open_call_is_refused(served: Served, dialect: str) -> None:  # K6
    with pytest.raises(Refusal, match="Cannot continue an assistant message that contains tool calls"):
        served.ask(dialect, as_it_is(dialect))


@spoken
def test_a_model_whose_template_wants_results_refuses_the_question_behind_one(
    strictly_served: Served, dialect: str
) -> None:  # K6
    with pytest.raises(Refusal, match=REFUSES):
        strictly_served.ask(dialect, as_it_is(dialect, dialect_named(dialect).user_entry(ASKED.text)))


def test_another_is_shown_a_call_that_was_never_answered(served: Served) -> None:  # K6
    behind = as_it_is("openai_chat", {"role": "user", "content": ASKED.text})
    assert "</tool_call><|im_end|>\n<|im_start|>user\nGive a summary" in _prompt(served, behind)
    assert "<tool_call>" not in _prompt(served, asked("openai_chat"))


@spoken
def test_without_its_open_calls_every_server_takes_it(served: Served, strictly_served: Served, dialect: str) -> None:
    for server in (served, strictly_served):
        assert SUMMARY in require_text(dialect_named(dialect).read_reply(server.ask(dialect, asked(dialect))))


def _prompt(served: Served, body: dict[str, Any]) -> str:
    """What the model is shown."""
    return str(served.post("/apply-template", {"messages": body["messages"]})["prompt"])
