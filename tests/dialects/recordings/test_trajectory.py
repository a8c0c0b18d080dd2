"""trajectory-v1 files, whole and broken."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.recordings import told

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.openai_chat import OpenAIChat
from yohaku.dialects.recordings import Billed, Recording, trajectory

HEADER = {"format": "trajectory-v1", "id": "a", "source": "b", "model": "gpt-4o", "tools": [{"name": "read"}]}
CALL = {"id": "c1", "name": "read", "arguments": '{"path": "a.py"}'}


def read(*messages: dict[str, Any]) -> Recording:
    return trajectory.read(told.jsonl([HEADER, *messages]))


def test_a_session_is_read_with_its_model_and_what_was_billed() -> None:
    recording = read(
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Read a.py"},
        {
            "role": "assistant",
            "content": "I read.",
            "tool_calls": [CALL],
            "reasoning": "hm",
            "usage": {"prompt": 9, "output": 4},
        },
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "print(1)", "error": True},
        {"role": "assistant", "content": "It prints.", "usage": {"prompt": 20, "output": 3}},
        {"role": "system", "content": "Be brief."},
    )
    use = ToolUse(Call("c1", "read", '{"path":"a.py"}'), Result((Text("print(1)"),), error=True))
    steps = (Step((Text("I read."), use)), Step((Text("It prints."),)))
    turns = [Turn((Text("Read a.py"),), steps), Turn((Text("Be brief.", by="system"),))]
    assert recording == Recording(
        history_of(turns, system=[Text("You are careful.")]),
        "trajectory-v1",
        "gpt-4o",
        (Billed(0, 9, 4), Billed(1, 20, 3)),
    )
    assert recording.history.steps[0].uses[0].result.error
    assert recording.history.turns[1].prompt[0].by == "system"  # type: ignore[union-attr]


def test_the_summary_of_another_tool_is_skipped() -> None:
    recording = read(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "They said hello.", "mark": "compact_summary"},
        {"role": "user", "content": "Go on", "mark": "meta"},
    )
    assert recording.history.turns == (Turn((Text("Hi"),), (Step((Text("Hello"),)),)), Turn((Text("Go on"),)))


def test_white_space_beside_calls_is_nothing_said() -> None:
    recording = read(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": " \n", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    )
    assert recording.history.steps == (Step((ToolUse(Call("c1", "read", '{"path":"a.py"}'), Result()),)),)


def test_a_reply_with_open_calls_at_the_end_is_pending() -> None:
    recording = read(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "I read.", "tool_calls": [CALL], "usage": {"prompt": 5, "output": 2}},
    )
    assert recording.history.pending == Reply((Text("I read."), Call("c1", "read", '{"path":"a.py"}')))
    assert recording.usages == (Billed(0, 5, 2),)


USER = {"role": "user", "content": "Hi"}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWERS = {"role": "tool", "tool_call_id": "c1", "content": "x"}

BROKEN: dict[str, tuple[list[dict[str, Any]], str]] = {
    "missing result": ([USER, ASKS, USER], "line 3: call 'c1' has no result"),
    "result without call": ([USER, ANSWERS], "line 3: this is a result for call 'c1', which was never made"),
    "second result": ([USER, ASKS, ANSWERS, ANSWERS], "line 5: this is a result for call 'c1', which has two results"),
    "id used twice": ([USER, ASKS, ANSWERS, ASKS], "line 5: call id 'c1' is used twice"),
    "unknown role": ([{"role": "robot", "content": "x"}], "line 2: unknown role 'robot'"),
    "no role": ([{"content": "x"}], "line 2: unknown role None"),
    "content of a wrong type": ([{"role": "user", "content": 3}], "line 2: content must be a text, not a number"),
    "no content": ([{"role": "user", "content": None}], "line 2: content must be a text, not nothing"),
    "calls of a wrong type": ([{**ASKS, "tool_calls": {"id": 1}}], "line 2: tool_calls must be a list, not an object"),
    "call of a wrong type": ([{**ASKS, "tool_calls": ["c1"]}], "line 2: a tool call must be an object, not a text"),
    "call without a name": ([{**ASKS, "tool_calls": [{"id": "c1"}]}], "line 2: name must be a text, not nothing"),
    "one of two results missing": (
        [USER, {**ASKS, "tool_calls": [CALL, {**CALL, "id": "c2"}]}, ANSWERS],
        "line 3: call 'c2' has no result",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_with_its_line(case: str) -> None:
    messages, sentence = BROKEN[case]
    with pytest.raises(Malformed) as wrong:
        read(*messages)
    assert str(wrong.value) == sentence


def test_a_torn_last_line_is_refused_with_its_place() -> None:
    with pytest.raises(Malformed) as wrong:
        trajectory.read(told.jsonl([HEADER, USER])[:-5])
    assert str(wrong.value) == "line 2, column 29: the text breaks off here: this is not whole JSON"


def test_a_line_that_is_no_object_is_refused() -> None:
    with pytest.raises(Malformed) as wrong:
        trajectory.read(told.jsonl([HEADER]) + b"\n[1]\n")
    assert str(wrong.value) == "line 3: this must be an object, not a list"


def test_a_file_without_a_header_or_without_messages_is_not_one() -> None:
    for data in (b"", told.jsonl([USER]), told.jsonl([HEADER])):
        with pytest.raises(Unreadable):
            trajectory.read(data)


@pytest.mark.corpus
@pytest.mark.shared
def test_all_recorded_sessions_are_read_and_said_again_in_openai_chat(shared: Path) -> None:
    dialect = OpenAIChat()
    paths = sorted((shared / "data").glob("*/*.jsonl.gz"))
    assert len(paths) == 217
    for path in paths:
        recording = trajectory.read(gzip.decompress(path.read_bytes()))
        again = dialect.read(dialect.compose(recording.history)).history()
        assert again == replace(recording.history, pending=None), path.name
        assert [step.key for step in again.steps] == [step.key for step in recording.history.steps], path.name
