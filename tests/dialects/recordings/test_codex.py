"""Codex's rollout files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.recordings import told

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.recordings import Billed, Recording, codex, trajectory

Row = dict[str, Any]


def line(kind: str, **payload: Any) -> Row:
    return {"timestamp": "2026-06-26T22:08:40Z", "type": kind, "payload": payload}


def item(**payload: Any) -> Row:
    return line("response_item", **payload)


def message(role: str, text: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def call(call_id: str, n: int) -> Row:
    return item(type="function_call", name="exec", arguments=f'{{"n":{n}}}', call_id=call_id)


def output(call_id: str, text: Any) -> Row:
    return item(type="function_call_output", call_id=call_id, output=text)


def use(call_id: str, n: int, text: str) -> ToolUse:
    return ToolUse(Call(call_id, "exec", f'{{"n":{n}}}'), Result((Text(text),) if text else ()))


def read(*rows: Row) -> Recording:
    return codex.read(told.jsonl(rows))


def tokens(prompt: int, output: int) -> Row:
    return line(
        "event_msg", type="token_count", info={"last_token_usage": {"input_tokens": prompt, "output_tokens": output}}
    )


def test_a_rollout_is_read_with_its_instructions_model_and_what_was_billed() -> None:
    recording = read(
        line("session_meta", id="x", cwd="/", base_instructions={"text": "You are Codex."}),
        line("turn_context", model="gpt-5-codex", effort="high"),
        message("developer", "Sandboxed."),
        message("user", "Make it"),
        line("event_msg", type="user_message", message="Make it"),
        item(type="reasoning", summary=[], encrypted_content="e"),
        message("assistant", "I run two."),
        call("c1", 1),
        call("c2", 2),
        tokens(100, 20),
        output("c1", "one"),
        output("c2", "two"),
        message("assistant", "Done."),
        tokens(150, 5),
    )
    thought = Opaque("thought", '{"type":"reasoning","summary":[],"encrypted_content":"e"}', hint="bound")
    step = Step((thought, Text("I run two."), use("c1", 1, "one"), use("c2", 2, "two")))
    turns = [Turn((Text("Make it"),), (step, Step((Text("Done."),))))]
    history = history_of(turns, system=[Text("You are Codex."), Text("Sandboxed.")])
    assert recording == Recording(history, "codex", "gpt-5-codex", (Billed(0, 100, 20), Billed(1, 150, 5)))


def test_what_a_compaction_replaced_is_kept_and_its_replacement_not_said_anew() -> None:
    recording = read(
        message("user", "Hi"),
        message("assistant", "Hello"),
        line("compacted", message="They greeted.", replacement_history=[message("user", "A summary")["payload"]]),
        item(type="compaction", encrypted_content="e"),
        item(type="ghost_snapshot", ghost_commit={"id": "x"}),
        message("user", "Go on"),
    )
    assert recording.history.turns == (Turn((Text("Hi"),), (Step((Text("Hello"),)),)), Turn((Text("Go on"),)))


def test_a_compaction_that_begins_the_file_is_all_there_is_of_the_beginning() -> None:
    replaced = [message("user", "Run")["payload"], call("c1", 1)["payload"], output("c1", "one")["payload"]]
    recording = read(line("compacted", message="", replacement_history=replaced), message("user", "Go on"))
    assert recording.history.turns == (Turn((Text("Run"),), (Step((use("c1", 1, "one"),)),)), Turn((Text("Go on"),)))


def test_a_result_written_after_the_user_spoke_still_follows_its_call() -> None:
    recording = read(message("user", "Run"), call("c1", 1), message("user", "Quick!"), output("c1", "one"))
    assert recording.history.turns == (Turn((Text("Run"),), (Step((use("c1", 1, "one"),)),)), Turn((Text("Quick!"),)))


def test_a_call_that_was_never_answered_failed_and_at_the_end_is_pending() -> None:
    recording = read(message("user", "Run"), call("c1", 1), message("user", "Stop"), call("c2", 2))
    assert recording.history.steps == (Step((use("c1", 1, ""),)),)
    assert recording.history.steps[0].uses[0].result.error
    assert recording.history.pending == Reply((Call("c2", "exec", '{"n":2}'),))


def test_calls_of_the_shell_and_of_custom_tools_have_their_results() -> None:
    recording = read(
        message("user", "Run"),
        item(type="local_shell_call", call_id="c1", status="completed", action={"type": "exec", "command": ["ls"]}),
        output("c1", {"content": "a.py", "success": True}),
        item(type="custom_tool_call", call_id="c2", name="apply_patch", input="*** Begin", status="completed"),
        item(type="custom_tool_call_output", call_id="c2", output="Done!"),
        item(type="web_search_call", status="completed", action={"type": "search", "query": "q"}),
        message("assistant", "Found."),
    )
    shell, patch, said = recording.history.steps
    assert shell.uses == (
        ToolUse(Call("c1", "local_shell", '{"type":"exec","command":["ls"]}'), Result((Text("a.py"),))),
    )
    assert (patch.uses[0].call.name, patch.uses[0].result) == ("apply_patch", Result((Text("Done!"),)))
    assert [type(part) for part in said.items] == [Opaque, Text]


def test_the_oldest_form_has_no_envelopes() -> None:
    rows: list[Row] = [
        {"id": "x", "timestamp": "2025-06-01T00:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        message("user", "Run")["payload"],
        call("c1", 1)["payload"],
        output("c1", "one")["payload"],
        {"record_type": "state"},
    ]
    assert codex.recognise(rows)
    assert read(*rows).history.turns == (Turn((Text("Run"),), (Step((use("c1", 1, "one"),)),)),)


def test_a_broken_rollout_is_refused_with_its_line() -> None:
    cases: list[tuple[list[Row], str]] = [
        ([message("user", "Run"), output("c1", "one")], "line 2: this is a result for call 'c1', which was never made"),
        ([message("robot", "Run")], "line 1: unknown role 'robot'"),
        ([call("c1", 1), call("c1", 1)], "line 2: call id 'c1' is used twice"),
    ]
    for rows, sentence in cases:
        with pytest.raises(Malformed) as wrong:
            read(*rows)
        assert str(wrong.value) == sentence
    with pytest.raises(Unreadable):
        read(line("session_meta", id="x"))


def test_an_id_used_again_is_refused_since_results_are_found_by_it() -> None:
    steps = [Step((ToolUse(Call("c1", "bash", f'{{"n":{n}}}'), Result((Text(f"out {n}"),))),)) for n in (1, 2)]
    history = history_of([Turn((Text("Run"),), tuple(steps))])
    with pytest.raises(Malformed, match="used twice"):
        codex.read(told.codex(history))


@pytest.mark.corpus
@pytest.mark.shared
def test_all_recorded_sessions_written_as_codex_would_are_read_back(shared: Path) -> None:
    for path in sorted((shared / "data").glob("*/*.jsonl.gz")):
        history = trajectory.read(gzip.decompress(path.read_bytes())).history
        assert codex.read(told.codex(history)).history == history, path.name
