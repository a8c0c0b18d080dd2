from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import checkers
from yohaku import dialects
from yohaku.client.request import question_body, require_text, summary_body
from yohaku.core.errors import Unanswered
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Reply, Text, Turn
from yohaku.core.recipe import Question
from yohaku.summary.request import SummaryRequest, build_question
from yohaku.testing import histories

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
ASKED = Question("summary", "Sum it up.", 300, "<summary>\n", ("</summary>",), json.dumps(SCHEMA))
USER = {"role": "user", "content": "Sum it up."}
BEGUN = {"role": "assistant", "content": "<summary>"}

every_dialect = pytest.mark.parametrize("dialect", dialects.BUILT_IN)


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai_chat", {"model": "m", "messages": [USER], "max_tokens": 300, "stop": ["</summary>"]}),
        ("openai_responses", {"model": "m", "input": [{"type": "message", **USER}], "max_output_tokens": 300}),
        ("anthropic", {"model": "m", "messages": [USER], "max_tokens": 300, "stop_sequences": ["</summary>"]}),
        (
            "gemini",
            {
                "contents": [{"role": "user", "parts": [{"text": "Sum it up."}]}],
                "generationConfig": {"maxOutputTokens": 300, "stopSequences": ["</summary>"]},
            },
        ),
        (
            "ollama",
            {"model": "m", "messages": [USER], "stream": False, "options": {"num_predict": 300}, "format": SCHEMA},
        ),
    ],
)
def test_a_question_is_a_body_with_its_limit_and_nothing_a_server_may_refuse(dialect: str, body: Any) -> None:
    assert question_body(ASKED, dialect, "m") == body


@every_dialect
@pytest.mark.parametrize("how", [{}, {"prefill": True}, {"schema": True}, {"prefill": False, "schema": False}])
def test_every_body_is_well_formed_and_offers_no_tools(dialect: str, how: dict[str, bool]) -> None:  # K5
    for order in (
        SummaryRequest("summary", 300),
        SummaryRequest("snapshot", 300),
        SummaryRequest("summary", 300, retain=None),
    ):
        body = question_body(build_question(order, "USER: hello"), dialect, "m", **how)
        assert checkers.DIALECTS[dialect].problems(body) == []
        assert not {"tools", "tool_choice", "toolConfig"} & body.keys()


@pytest.mark.parametrize(
    ("dialect", "field", "held"),
    [
        (
            "openai_chat",
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "summary", "strict": True, "schema": SCHEMA}},
        ),
        (
            "openai_responses",
            "text",
            {"format": {"type": "json_schema", "name": "summary", "strict": True, "schema": SCHEMA}},
        ),
        ("anthropic", "output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
        (
            "gemini",
            "generationConfig",
            {"maxOutputTokens": 300, "responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        ),
        ("ollama", "format", SCHEMA),
    ],
)
def test_a_schema_is_held_to_where_the_server_can(dialect: str, field: str, held: Any) -> None:
    body = question_body(ASKED, dialect, "claude-3-haiku", schema=True)
    assert body[field] == held
    assert "stop" not in json.dumps(body) and "<summary>" not in json.dumps(body), "nothing else than the schema"


@pytest.mark.parametrize(
    ("model", "begun"),
    [
        ("claude-3-5-haiku-20241022", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-1", True),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("claude-sonnet-4@20250514", True),
        ("claude-opus-4-6", False),
        ("claude-sonnet-4-6", False),
        ("claude-opus-5", False),
        ("some-local-model", False),
        ("", False),
    ],
)
def test_an_answer_is_begun_only_for_models_that_go_on_with_it(model: str, begun: bool) -> None:
    assert question_body(ASKED, "anthropic", model)["messages"] == [USER, *([BEGUN] if begun else [])]


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "ollama"])
def test_a_server_that_can_is_given_the_beginning_without_the_blanks_that_some_refuse(dialect: str) -> None:
    assert question_body(ASKED, dialect, "m", prefill=True, schema=False)["messages"] == [USER, BEGUN]
    assert question_body(ASKED, dialect, "m", prefill=False, schema=False)["messages"] == [USER]


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        ("gpt-4o", {"max_tokens": 300, "stop": ["</summary>"]}),
        ("gpt-5-mini", {"max_completion_tokens": 300}),
        ("openai/o4-mini", {"max_completion_tokens": 300}),
        ("olmo-2", {"max_tokens": 300, "stop": ["</summary>"]}),
    ],
)
def test_models_that_think_take_their_limit_under_another_name(model: str, limits: Any) -> None:
    assert question_body(ASKED, "openai_chat", model) == {"model": model, "messages": [USER], **limits}


def test_the_model_a_recipe_names_is_asked() -> None:
    named = Question("summary", "Sum it up.", 300, model="small")
    assert question_body(named, "openai_chat", "big")["model"] == "small"


def test_ollama_is_told_the_window_and_responses_no_limit_that_is_too_small() -> None:
    assert question_body(ASKED, "ollama", "m", window=8_192)["options"] == {"num_predict": 300, "num_ctx": 8_192}
    assert question_body(Question("summary", "?", 3), "openai_responses", "m")["max_output_tokens"] == 16


# The conversation itself

OPEN: dict[str, list[dict[str, Any]]] = {
    "openai_chat": [
        {"role": "user", "content": "Fix app.py."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
        },
    ],
    "openai_responses": [
        {"role": "user", "content": "Fix app.py."},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    ],
    "anthropic": [
        {"role": "user", "content": "Fix app.py."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {}},
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Fix app.py."}]},
        {"role": "model", "parts": [{"text": "I look."}, {"functionCall": {"name": "read", "args": {}}}]},
    ],
    "ollama": [
        {"role": "user", "content": "Fix app.py."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"function": {"name": "read", "arguments": {}}}],
        },
    ],
}
"""A conversation that stops at a call nobody answered yet, in each dialect."""


@every_dialect
def test_a_call_that_is_still_open_goes_and_what_was_said_beside_it_stays(dialect: str) -> None:  # K6
    speaks, check = dialects.DIALECTS[dialect], checkers.DIALECTS[dialect]
    as_it_is = speaks.with_entries([], [*OPEN[dialect], speaks.user_entry("Sum it up.")])
    assert check.problems(as_it_is) != [], "a provider refuses it as it is"
    body = summary_body(dialect, speaks.read(OPEN[dialect]).history(), ASKED, "m")
    assert check.problems(body) == []
    assert (
        speaks.read(body).history().turns
        == history_of(
            [Turn((Text("Fix app.py."),), (Reply((Text("I look."),)).settle({}),)), Turn((Text("Sum it up."),))]
        ).turns
    )


@every_dialect
@pytest.mark.parametrize("beside", [(), (Text(" \n"),), (Opaque("thought", '{"type":"thinking","thinking":"hm"}'),)])
def test_a_reply_with_nothing_but_open_calls_goes_altogether(dialect: str, beside: tuple[Any, ...]) -> None:  # K6
    pending = Reply((*beside, Call("c1", "read", "{}")))
    history = history_of([Turn((Text("Fix app.py."),))], pending=pending)
    body = summary_body(dialect, history, ASKED, "m")
    assert checkers.DIALECTS[dialect].problems(body) == []
    said = dialects.DIALECTS[dialect].read(body).history()
    assert said.turns == history_of([Turn((Text("Fix app.py.\n\nSum it up."),))]).turns


@given(history=histories(), dialect=st.sampled_from(tuple(dialects.BUILT_IN)))
def test_any_conversation_can_be_asked_about_without_its_tools(history: History, dialect: str) -> None:  # K5
    body = summary_body(dialect, history, ASKED, "m")
    assert checkers.DIALECTS[dialect].problems(body) == []
    said = dialects.DIALECTS[dialect].read(body).history()
    last = said.turns[-1].prompt[-1]
    assert said.tools == () and isinstance(last, Text) and last.text.endswith("Sum it up.")
    assert len(said.steps) == len(history.steps)


# The answer


@pytest.mark.parametrize(
    ("dialect", "reply"),
    [
        ("openai_chat", {"choices": [{"message": {"content": "All is well."}}]}),
        (
            "openai_responses",
            {
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "All is well."}],
                    }
                ]
            },
        ),
        ("anthropic", {"content": [{"type": "text", "text": "All is "}, {"type": "text", "text": "well."}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "All is well."}]}}]}),
        ("ollama", {"message": {"content": "All is well."}}),
    ],
)
def test_the_answer_is_what_the_model_said(dialect: str, reply: Any) -> None:
    assert require_text(dialects.dialect_named(dialect).read_reply(reply)) == "All is well."


@every_dialect
def test_a_reply_without_words_is_no_answer(dialect: str) -> None:
    with pytest.raises(Unanswered, match="the model said nothing"):
        require_text(dialects.dialect_named(dialect).read_reply({}))


def test_a_model_that_was_cut_off_while_thinking_says_so() -> None:
    reply = {"choices": [{"message": {"content": "", "reasoning": "Well…"}, "finish_reason": "length"}]}
    with pytest.raises(Unanswered, match="it stopped for: length"):
        require_text(dialects.dialect_named("openai_chat").read_reply(reply))
