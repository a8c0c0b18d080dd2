"""What is said comes to stand on the wire once, in each dialect, and reads as what was said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests import checkers
from yohaku.agent.conversation import NO_RESULT, Conversation, close_pending, load_history
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools import tool_definitions
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects import DIALECTS, dialect_named
from yohaku.session.session import Session
from yohaku.testing import ByteMeter, histories


async def gives(bench: ToolContext, arguments: Arguments) -> ToolResult:
    return ToolResult("")


TOOL = AgentTool("read", "A file.", {"type": "object", "properties": {}}, "read", gives, str)
CALL = Call("call_1", "read", '{"path":"app.py"}')
each = pytest.mark.parametrize("dialect", DIALECTS)


def converse(dialect: str) -> Conversation:
    conversation = Conversation(dialect, "m", "Be kind.", tool_definitions((TOOL,), dialect))
    conversation.add_prompt("Read app.py.")
    conversation.settle(Reply((Text("I look."), CALL)), {"call_1": Result((Text("x = 1"),))})
    conversation.settle(Reply((Text("x is 1."),)), {})
    conversation.add_prompt("ありがとう。")
    return conversation


TOLD = (
    Turn(
        (Text("Read app.py."),),
        (
            Step((Text("I look."), ToolUse(CALL, Result((Text("x = 1"),))))),
            Step((Text("x is 1."),)),
        ),
    ),
    Turn((Text("ありがとう。"),)),
)


@each
def test_what_was_said_reads_as_it_was_said(dialect: str) -> None:
    conversation = converse(dialect)
    shapes = [
        [_plain(turn.prompt), *(_plain(step.items) for step in turn.steps)] for turn in conversation.history.turns
    ]
    assert shapes == [[_plain(turn.prompt), *(_plain(step.items) for step in turn.steps)] for turn in TOLD]
    assert [part.text for part in conversation.history.system if isinstance(part, Text)] == ["Be kind."]
    assert [tool.name for tool in conversation.history.tools] == ["read"]
    assert checkers.DIALECTS[dialect].problems(conversation.body) == []


@each
def test_the_entries_that_were_there_stay_the_same_objects(dialect: str) -> None:
    conversation = converse(dialect)
    before = conversation.body[conversation.dialect.entries]
    conversation.settle(Reply((Text("Not at all."),)), {})
    after = conversation.body[conversation.dialect.entries]
    assert len(after) == len(before) + 1
    assert all(one is other for one, other in zip(before, after, strict=False))


@each
def test_a_fit_reads_on_from_where_the_last_one_was(dialect: str) -> None:
    session = Session(100_000, dialect=dialect, meter=ByteMeter())
    conversation = Conversation(dialect, "m", "Be kind.", tool_definitions((TOOL,), dialect))
    conversation.add_prompt("Begin.")
    session.fit(conversation.body)
    reader = session._last.reader if session._last else None
    for number in range(20):
        conversation.settle(Reply((Call(f"c{number}", "read", "{}"),)), {f"c{number}": Result((Text("x"),))})
        session.fit(conversation.body)
    assert session._last and session._last.reader is reader


@each
@given(history=histories(media=False))
def test_another_dialect_is_told_the_same(dialect: str, history: History) -> None:
    conversation = Conversation("openai_chat", "m", "Be kind.")
    conversation.resume(history)
    told = Conversation(dialect, "m", "Be kind.")
    told.resume(history)
    conversation.switch(dialect, "m", "Be kind.")
    assert conversation.history.turns == told.history.turns, (
        "all but whether a tool failed, which not every dialect can tell"
    )


@each
def test_a_reply_that_says_nothing_is_not_taken_down(dialect: str) -> None:
    conversation = Conversation(dialect)
    conversation.add_prompt("Hello.")
    before = conversation.body
    conversation.settle(Reply(()), {})
    conversation.settle(Reply((Text(""),)), {})
    assert conversation.body == before


@each
def test_a_prompt_can_be_taken_back_but_never_the_system_prompt(dialect: str) -> None:
    conversation = Conversation(dialect, "m", "Be kind.", tool_definitions((TOOL,), dialect))
    empty = conversation.body
    mark = conversation.length
    conversation.add_prompt("A paste far too long.")
    assert conversation.began
    conversation.truncate(mark)
    assert conversation.body == empty and not conversation.began
    conversation.truncate(0)
    assert conversation.body == empty


def test_calls_that_were_open_are_answered_by_the_truth() -> None:
    history = history_of((Turn((Text("Go."),)),), pending=Reply((CALL,)))
    conversation = Conversation("anthropic")
    conversation.resume(history)
    (turn,) = conversation.history.turns
    assert turn.steps[0].uses[0].result.text == NO_RESULT
    assert close_pending(conversation.history) is not None and conversation.history.pending is None


def test_a_recording_of_another_tool_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Hello."}]}))
    assert load_history(path).turns == (Turn((Text("Hello."),)),)
    conversation = Conversation("gemini", "m", "Be kind.")
    conversation.resume(load_history(path))
    assert dialect_named("gemini").read(conversation.body).history().turns == load_history(path).turns


def _plain(items: object) -> list[object]:
    assert isinstance(items, tuple)
    return [
        (item.call.name, item.call.asked, item.result.text) if isinstance(item, ToolUse) else item for item in items
    ]
