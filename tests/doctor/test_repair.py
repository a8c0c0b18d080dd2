from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.recordings import told
from tests.doctor.test_damaged_files import problems
from yohaku.core.model import Text
from yohaku.dialects.load import load
from yohaku.dialects.recordings import Recording
from yohaku.doctor import repair
from yohaku.doctor.pairing import NO_RESULT

USER = {"role": "user", "content": "Go."}


def call(name: str = "c1") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "run", "arguments": "{}"}}


def asks(*names: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]}


def answer(name: str = "c1", text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": text}


def fixed(*messages: Any) -> tuple[list[Any], list[tuple[str, str]]]:
    """The messages after the repair, and what was noted where."""
    repaired = repair(json.dumps(messages).encode())
    assert repaired.data is not None
    assert problems(repaired.data) == []
    return json.loads(repaired.data), [(note.where, note.code) for note in repaired.notes]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    assert fixed(USER, asks("c1", "c2"), answer("c2")) == (
        [USER, asks("c1", "c2"), answer("c1", NO_RESULT), answer("c2")],
        [("messages[1]", "no_result")],
    )


def test_a_result_without_a_call_becomes_a_text_of_the_user() -> None:
    found, notes = fixed(USER, answer("c9", "lost words"), {"role": "assistant", "content": "Hm."})
    assert found[1] == {"role": "user", "content": "[this result was recorded without its call (c9)]\nlost words"}
    assert notes == [("messages[1]", "orphan")]


def test_a_result_in_the_wrong_place_goes_to_its_call() -> None:
    assert fixed(USER, asks("c1"), USER, answer("c1")) == (
        [USER, asks("c1"), answer("c1"), USER],
        [("messages[3]", "moved")],
    )
    assert fixed(USER, answer("c1"), asks("c1"))[0] == [USER, asks("c1"), answer("c1")]


def test_what_was_written_down_twice_is_left_out_once() -> None:
    assert fixed(USER, asks("c1"), asks("c1"), answer("c1"), answer("c1")) == (
        [USER, asks("c1"), answer("c1")],
        [("messages[1]", "twice"), ("messages[4]", "twice")],
    )


def test_of_two_that_say_the_same_one_stays() -> None:
    assert fixed(USER, asks("c1"), asks("c1"))[0] == [USER, asks("c1"), answer("c1", NO_RESULT)]


def test_a_second_answer_that_says_something_else_is_kept_as_a_text() -> None:
    found, notes = fixed(USER, asks("c1"), answer("c1", "one"), answer("c1", "two"))
    assert found[:3] == [USER, asks("c1"), answer("c1", "one")]
    assert found[3]["content"].endswith("\ntwo") and notes == [("messages[3]", "orphan")]


def test_an_id_used_twice_in_one_reply_is_given_out_anew() -> None:
    found, notes = fixed(USER, asks("c1", "c1"), answer("c1", "one"), answer("c1", "two"))
    assert [each["id"] for each in found[1]["tool_calls"]] == ["c1", "c1_1"]
    assert [(each["tool_call_id"], each["content"]) for each in found[2:]] == [("c1", "one"), ("c1_1", "two")]
    assert ("messages[1]", "same_id") in notes


def test_servers_that_number_their_calls_anew_are_let_be() -> None:
    body = [USER, asks("call_0"), answer("call_0"), asks("call_0"), answer("call_0", "again")]
    assert repair(json.dumps(body).encode()).data is None


def test_an_unknown_role_is_taken_for_the_nearest() -> None:
    found, notes = fixed(USER, {"role": "assistent", "content": "Yes."}, {"role": "human", "content": "Good."})
    assert [each["role"] for each in found] == ["user", "assistant", "user"]
    assert notes == [("messages[1]", "role"), ("messages[2]", "role")]


def test_empty_entries_and_what_is_none_are_left_out() -> None:
    assert fixed(USER, {"role": "assistant"}, None, 7, {"role": "user", "content": []}, USER)[0] == [
        USER,
        USER,
    ]


def test_arguments_that_are_no_object_are_put_into_one() -> None:
    odd = asks("c1")
    odd["tool_calls"][0]["function"]["arguments"] = "rm -r build"
    found, notes = fixed(USER, odd, answer("c1"))
    assert json.loads(found[1]["tool_calls"][0]["function"]["arguments"]) == {"arguments": "rm -r build"}
    assert ("messages[1]", "arguments") in notes


def test_the_older_form_of_calls_is_let_be() -> None:
    older = {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}}
    body = [USER, older, {"role": "function", "name": "run", "content": "done"}]
    assert repair(json.dumps(body).encode()).data is None


def test_unknown_fields_of_a_broken_body_survive() -> None:
    body = {"model": "m", "x": {"y": 1}, "messages": [{**USER, "z": 2}, asks("c1")]}
    repaired = repair(json.dumps(body).encode())
    assert repaired.data is not None
    assert json.loads(repaired.data) == {**body, "messages": [{**USER, "z": 2}, asks("c1"), answer("c1", NO_RESULT)]}


def test_a_body_that_breaks_off_keeps_all_before_the_break() -> None:
    text = json.dumps({"model": "m", "messages": [USER, {"role": "assistant", "content": "I will now"}, USER]})
    repaired = repair(text[: text.index("now")].encode())
    assert repaired.data is not None
    assert json.loads(repaired.data) == {"model": "m", "messages": [USER, {"role": "assistant", "content": "I will "}]}


def test_results_behind_the_users_words_come_first() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "run", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    words = {"type": "text", "text": "and now?"}
    found, notes = fixed(USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [words, result]})
    assert found[2] == {"role": "user", "content": [result, words]}
    assert notes == [("messages[2]", "moved")]


def test_a_thought_without_what_it_led_to_is_left_out() -> None:
    thought = {"type": "reasoning", "id": "r", "summary": []}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
    assert fixed(said, thought, {"role": "user", "content": "Go."})[0] == [
        said,
        {"role": "user", "content": "Go."},
    ]


def test_a_custom_call_without_a_result_stays_a_custom_call() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin", "status": "completed"}
    found, _ = fixed({"role": "user", "content": "Go."}, custom)
    assert found[1:] == [custom, {"type": "custom_tool_call_output", "call_id": "c1", "output": NO_RESULT}]


def test_typed_calls_are_let_be() -> None:
    action = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    output = {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a.py", "stderr": ""}]}
    body = {"input": [{"role": "user", "content": "Go."}, action, output]}
    assert repair(json.dumps(body).encode()).data is None


def test_a_call_that_lost_its_name_takes_that_of_its_result() -> None:
    entries = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "args": {"path": "a.py"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "x"}}}]},
    ]
    found, _ = fixed(*entries)
    assert found[1]["parts"] == [{"functionCall": {"id": "c1", "name": "read", "args": {"path": "a.py"}}}]


def test_fields_of_entries_stay_where_only_their_order_was_wrong() -> None:
    thinking = {**asks("c1"), "reasoning_content": "Hm.", "z": 1}
    marked = {**answer("c1"), "z": 2}
    assert fixed(USER, marked, thinking)[0] == [USER, thinking, marked]


def test_results_of_one_gemini_reply_are_put_together() -> None:
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("a", "b")]
    answers = [{"functionResponse": {"name": name, "response": {"output": name}}} for name in ("a", "b")]
    entries = [{"role": "user", "parts": [{"text": "Go."}]}, {"role": "model", "parts": calls}]
    apart = [{"role": "user", "parts": [each]} for each in answers]
    found, notes = fixed(*entries, *apart)
    assert len(found) == 3 and notes == [("contents[2]", "regrouped")]
    assert [part["functionResponse"]["response"] for part in found[2]["parts"]] == [{"output": "a"}, {"output": "b"}]


TOOLS = (told.trajectory, told.claude_code, told.codex, told.gemini_cli_lines)


@pytest.mark.parametrize("write", TOOLS, ids=lambda write: write.__name__)
def test_a_torn_last_line_costs_that_line_only(write: Any) -> None:
    whole = write(told.sample())
    repaired = repair(whole[:-12])
    assert repaired.data is not None
    kept = whole.splitlines()[:-1]
    assert repaired.data.splitlines()[: len(kept)] == kept


@pytest.mark.parametrize("write", TOOLS[:3], ids=lambda write: write.__name__)
def test_a_lost_result_of_a_session_is_said_and_the_rest_stays(write: Any) -> None:
    lines = write(told.sample()).splitlines(keepends=True)
    lost = next(line for line in lines if b"print(1)" in line)
    lines.remove(lost)
    torn = b"".join(lines) + b'{"half'
    repaired = repair(torn)
    assert repaired.data is not None
    recording = load(repaired.data)
    assert isinstance(recording, Recording)
    (first, second) = recording.history.turns[0].steps[0].uses
    assert first.result.parts == (Text(NO_RESULT),) and second.result.text == "no such file"
    assert recording.history.turns[1:] == told.sample().turns[1:]


def test_claude_code_rows_with_one_uuid_and_in_a_circle_are_told_in_order() -> None:
    def row(uuid: str, parent: str | None, kind: str, text: str) -> dict[str, Any]:
        return {"parentUuid": parent, "uuid": uuid, "type": kind, "message": {"role": kind, "content": text}}

    rows = [
        row("a", "c", "user", "one"),
        row("b", "a", "assistant", "two"),
        row("b", "a", "user", "three"),
        row("c", "b", "assistant", "four"),
        {
            **row("d", "c", "user", ""),
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]},
        },
    ]
    repaired = repair(told.jsonl(rows))
    assert repaired.data is not None
    recording = load(repaired.data)
    assert isinstance(recording, Recording)
    said = [part.text for turn in recording.history.turns for part in turn.prompt if isinstance(part, Text)]
    assert said == ["one", "three", "[this result was recorded without its call (x)]"]
    assert [note.code for note in repaired.notes] == ["same_id", "circle", "orphan"]


def test_a_transcript_keeps_its_folds() -> None:
    fold = {"key": "k", "text": "…", "ref": "r", "what": "1 step", "why": "old", "before": 9, "after": 1}
    header = {"format": "yohaku-transcript-1", "dialect": "openai_chat", "model": ""}
    rows = [header, {"entry": USER}, {"entry": asks("c1")}, {"folds": [fold]}, {"entry": USER}]
    repaired = repair(told.jsonl(rows))
    assert repaired.data is not None
    assert [json.loads(line) for line in repaired.data.splitlines()] == [
        header,
        {"entry": USER},
        {"entry": asks("c1")},
        {"entry": answer("c1", NO_RESULT)},
        {"entry": USER},
        {"folds": [fold]},
    ]


def test_messages_a_line_without_a_header_become_a_list() -> None:
    repaired = repair(told.jsonl([USER, asks("c1"), answer("c1")]))
    assert repaired.data is not None
    assert json.loads(repaired.data) == [USER, asks("c1"), answer("c1")]


def test_a_note_is_one_line_in_both_languages() -> None:
    repaired = repair(json.dumps([USER, answer("c\n9", "x")]).encode())
    (note,) = repaired.notes
    assert note.render("en") == "messages[1]: a result without its call (c 9); kept as a text of the user"
    assert note.render("ja") == "messages[1]: 呼び出しのない結果 (c 9) を、ユーザーの文として残しました"
