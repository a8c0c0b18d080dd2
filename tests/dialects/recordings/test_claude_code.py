"""Claude Code's session files."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.recordings import told

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.recordings import Billed, Recording, claude_code, trajectory

Row = dict[str, Any]


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> Row:
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": content}, **more}


def assistant(uuid: str, parent: str, reply: str, block: Row, **more: Any) -> Row:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}
    message = {"id": reply, "model": "claude-opus-4-6", "role": "assistant", "content": [block], "usage": usage}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def words(text: str) -> Row:
    return {"type": "text", "text": text}


def calls(call_id: str, path: str) -> Row:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"path": path}}


def answers(call_id: str, text: str) -> list[Row]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text}]


def use(call_id: str, path: str, text: str) -> ToolUse:
    return ToolUse(Call(call_id, "Read", f'{{"path":"{path}"}}'), Result((Text(text),) if text else ()))


def read(*rows: Row) -> Recording:
    return claude_code.read(told.jsonl(rows))


def test_parallel_calls_whose_results_hang_on_different_lines_are_one_step() -> None:
    recording = read(
        {"type": "summary", "summary": "A title", "leafUuid": "x"},
        user("1", None, "Read both"),
        assistant("2", "1", "m1", {"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        assistant("3", "2", "m1", calls("c1", "a")),
        {"type": "progress", "uuid": "4", "parentUuid": "3", "data": {"type": "hook_progress"}},
        assistant("5", "3", "m1", calls("c2", "b")),
        user("6", "5", answers("c2", "two")),
        user("7", "3", answers("c1", "one")),
        assistant("8", "6", "m2", words("Read.")),
    )
    thought = Opaque("thought", '{"type":"thinking","thinking":"Hm.","signature":"s"}')
    step = Step((thought, use("c1", "a", "one"), use("c2", "b", "two")))
    assert recording.history.turns == (Turn((Text("Read both"),), (step, Step((Text("Read."),)))),)
    assert (recording.format, recording.model) == ("claude-code", "claude-opus-4-6")
    assert recording.usages == (Billed(0, 16, 7), Billed(1, 16, 7))


def test_the_branch_of_the_newest_line_is_the_session() -> None:
    recording = read(
        user("1", None, "Hi"),
        assistant("2", "1", "m1", words("Hello")),
        user("3", "2", "Abandoned"),
        assistant("4", "3", "m2", words("Abandoned too")),
        user("5", "2", "Instead"),
    )
    assert recording.history.turns == (Turn((Text("Hi"),), (Step((Text("Hello"),)),)), Turn((Text("Instead"),)))


def test_sidechains_are_left_out_and_a_file_of_one_is_read() -> None:
    side = [user("9", None, "Search", isSidechain=True), assistant("10", "9", "m9", words("Found"), isSidechain=True)]
    assert read(user("1", None, "Hi"), *side).history.turns == (Turn((Text("Hi"),)),)
    assert read(*side).history.turns == (Turn((Text("Search"),), (Step((Text("Found"),)),)),)


@pytest.mark.parametrize("logical", ["2", "not in this file", None])
def test_what_was_said_before_a_compaction_is_kept_and_its_summary_skipped(logical: str | None) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "3", "parentUuid": None}
    recording = read(
        user("1", None, "Hi"),
        assistant("2", "1", "m1", words("Hello")),
        {**boundary, "logicalParentUuid": logical},
        user("4", "3", "This session is being continued …", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        user("5", "4", "A reminder", isMeta=True),
        user("6", "5", "Go on"),
    )
    first = Turn((Text("Hi"),), (Step((Text("Hello"),)),))
    assert recording.history.turns == (first, Turn((Text("A reminder"), Text("Go on"))))


def test_a_summary_that_begins_the_file_is_all_there_is_of_the_beginning() -> None:
    recording = read(user("1", None, "It was about …", isCompactSummary=True), user("2", "1", "Go on"))
    assert recording.history.turns == (Turn((Text("It was about …"), Text("Go on"))),)


def test_what_the_program_wrote_itself_is_left_out() -> None:
    synthetic = assistant("2", "1", "m1", words("API Error: 529"))
    synthetic["message"]["model"] = "<synthetic>"
    recording = read(
        user("1", None, "Hi"),
        synthetic,
        assistant("3", "2", "m2", words("API Error: 500"), isApiErrorMessage=True),
        {"type": "system", "subtype": "turn_duration", "uuid": "4", "parentUuid": "3"},
        {"type": "queue-operation", "operation": "enqueue", "content": "later"},
        {"type": "attachment", "uuid": "5", "parentUuid": "4", "attachment": {"type": "todo_reminder", "content": []}},
        {
            "type": "attachment",
            "uuid": "6",
            "parentUuid": "5",
            "attachment": {"type": "queued_command", "prompt": "And c"},
        },
    )
    assert recording.history.turns == (Turn((Text("Hi"), Text("And c"))),)
    assert recording.model == ""


def test_calls_open_at_the_end_are_pending() -> None:
    recording = read(
        user("1", None, "Hi"), assistant("2", "1", "m1", calls("c1", "a")), assistant("3", "2", "m1", calls("c2", "b"))
    )
    pending = Reply((Call("c1", "Read", '{"path":"a"}'), Call("c2", "Read", '{"path":"b"}')))
    assert recording.history.pending == pending


def test_a_call_the_program_never_answered_failed_and_returned_nothing() -> None:
    recording = read(
        user("1", None, "Hi"),
        assistant("2", "1", "m1", calls("c1", "a")),
        assistant("3", "2", "m1", calls("c2", "b")),
        user("4", "2", answers("c1", "one")),
        user("5", "4", "Stop"),
        assistant("6", "5", "m2", calls("c3", "c")),
        user("7", "6", "Never mind"),
    )
    assert recording.history.steps == (
        Step((use("c1", "a", "one"), use("c2", "b", ""))),
        Step((use("c3", "c", ""),)),
    )
    assert [use.result.error for step in recording.history.steps for use in step.uses] == [False, True, True]


def test_a_reply_of_nothing_but_thoughts_or_blanks_is_not_said() -> None:
    recording = read(
        user("1", None, "Hi"),
        assistant("2", "1", "m1", {"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        assistant("3", "2", "m2", words("\n\n")),
        user("4", "3", [words("Hello?"), words("")]),
    )
    assert recording.history.turns == (Turn((Text("Hi"), Text("Hello?"))),)


def test_a_broken_session_is_refused_with_its_line() -> None:
    orphan = "line 1: this is a result for call 'c1', which was never made"
    cases: list[tuple[list[Row], str]] = [
        ([user("1", None, answers("c1", "one"))], orphan),
        ([user("1", None, 5)], "line 1: content must be a text or a list, not a number"),
        ([user("1", None, "Hi"), assistant("2", "1", "m", {"type": "tool_use"})], "line 2: the id of a tool_use must"),
    ]
    for rows, sentence in cases:
        with pytest.raises(Malformed) as wrong:
            read(*rows)
        assert str(wrong.value).startswith(sentence)
    with pytest.raises(Unreadable):
        read({"type": "summary", "summary": "A title", "leafUuid": "x"})


def test_a_loop_of_parents_ends() -> None:
    assert read(user("1", "2", "a"), user("2", "1", "b")).history.turns == (Turn((Text("a"), Text("b"))),)


def test_an_id_used_again_is_refused_since_results_are_found_by_it() -> None:
    steps = [Step((ToolUse(Call("c1", "bash", f'{{"n":{n}}}'), Result((Text(f"out {n}"),))),)) for n in (1, 2)]
    history = history_of([Turn((Text("Run"),), tuple(steps))])
    with pytest.raises(Malformed, match="used twice"):
        claude_code.read(told.claude_code(history))


@pytest.mark.corpus
@pytest.mark.shared
def test_all_recorded_sessions_written_as_claude_code_would_are_read_back(shared: Path) -> None:
    for path in sorted((shared / "data").glob("*/*.jsonl.gz")):
        history = trajectory.read(gzip.decompress(path.read_bytes())).history
        assert claude_code.read(told.claude_code(history)).history == replace(history, system=()), path.name
