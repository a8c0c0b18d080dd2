"""Gemini CLI's saved chats."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.dialects.recordings import told

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.model import Call, Opaque, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.recordings import Billed, Recording, gemini_cli, trajectory

Row = dict[str, Any]
HEAD = {
    "sessionId": "s",
    "projectHash": "p",
    "startTime": "2026-01-01T00:00:00Z",
    "lastUpdated": "2026-01-01T00:00:00Z",
}


def read(*messages: Row) -> Recording:
    return gemini_cli.read(json.dumps({**HEAD, "messages": list(messages)}).encode())


def read_lines(*rows: Row) -> Recording:
    return gemini_cli.read(told.jsonl([HEAD, *rows]))


def user(name: str, content: Any) -> Row:
    return {"id": name, "timestamp": "t", "type": "user", "content": content}


def gemini(name: str, content: Any, *calls: Row, **more: Any) -> Row:
    return {"id": name, "timestamp": "t", "type": "gemini", "content": content, "toolCalls": list(calls), **more}


def response(call_id: str, text: str) -> Row:
    return {"functionResponse": {"id": call_id, "name": "read", "response": {"output": text}}}


def call(call_id: str, n: int, result: Any) -> Row:
    return {"id": call_id, "name": "read", "args": {"n": n}, "result": result, "status": "success", "timestamp": "t"}


def use(call_id: str, n: int, text: str) -> ToolUse:
    return ToolUse(Call(call_id, "read", f'{{"n":{n}}}'), Result((Text(text),) if text else ()))


CHAT = [
    user("1", "Read both"),
    gemini(
        "2",
        "I read.",
        call("c1", 1, [response("c1", "one")]),
        call("c2", 2, "two"),
        thoughts=[{"subject": "Reading", "description": "I should read"}],
        tokens={"input": 100, "output": 10, "cached": 50, "thoughts": 5, "tool": 0, "total": 115},
        model="gemini-2.5-pro",
    ),
    {"id": "3", "type": "info", "content": "Update available"},
    {"id": "4", "type": "error", "content": "[API Error]"},
    gemini("5", "Both read.", model="gemini-2.5-flash"),
    user("6", "/stats"),
    user("7", [{"text": "Thanks"}]),
]
READ = (
    Turn(
        (Text("Read both"),),
        (Step((Text("I read."), use("c1", 1, "one"), use("c2", 2, "two"))), Step((Text("Both read."),))),
    ),
    Turn((Text("Thanks"),)),
)


def test_a_chat_is_read_from_one_object_and_from_lines() -> None:
    for recording in (read(*CHAT), read_lines(*CHAT)):
        assert recording.history.turns == READ
        assert (recording.format, recording.model) == ("gemini-cli", "gemini-2.5-flash")
        assert recording.usages == (Billed(0, 100, 15),)


def test_later_lines_of_a_message_replace_it_and_a_rewritten_list_is_not_said_anew() -> None:
    early = gemini("2", "I read.")
    summary = {"$set": {"messages": [user("s", "A summary")]}}
    recording = read_lines(CHAT[0], early, *CHAT[1:6], summary, {"$set": {"lastUpdated": "t"}}, CHAT[6])
    assert recording.history.turns == READ


def test_a_rewind_takes_back_what_followed() -> None:
    again = [user("8", "Wrong"), gemini("9", "Wrong too"), {"$rewindTo": "8"}]
    assert read_lines(CHAT[0], *again, *CHAT[1:]).history.turns == READ


def test_a_list_that_begins_the_file_is_all_there_is() -> None:
    assert read_lines({"$set": {"messages": CHAT}}).history.turns == READ


def test_calls_recorded_among_the_words_too_are_said_once() -> None:
    for called in ({"id": "c1", "name": "read", "args": {"n": 1}}, {"name": "read", "args": {"n": 1}}):
        recording = read(
            user("1", "Read"),
            gemini("2", [{"text": "I read."}, {"functionCall": called}], call("c1", 1, [response("c1", "one")])),
            user("3", [response("c1", "one")]),
            gemini("4", "Read."),
        )
        made = recording.history.steps[0].uses[0].call.id
        assert recording.history.steps == (Step((Text("I read."), use(made, 1, "one"))), Step((Text("Read."),)))


def test_a_result_may_stand_in_a_message_of_its_own_or_be_plain_parts() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    recording = read(
        user("1", "Read"),
        gemini("2", [{"functionCall": {"id": "c1", "name": "read", "args": {"n": 1}}}]),
        user("3", [response("c1", "one")]),
        gemini("4", "", call("c2", 2, [{"text": "two"}, image])),
    )
    shown = ToolUse(
        Call("c2", "read", '{"n":2}'), Result((Text("two"), Opaque("image", "aGk=", "base64", "image/png")))
    )
    assert recording.history.steps == (Step((use("c1", 1, "one"),)), Step((shown,)))


def test_calls_without_results_failed_and_at_the_end_are_pending() -> None:
    recording = read(
        user("1", "Read"),
        gemini("2", "", call("c1", 1, None)),
        user("3", "Again"),
        gemini("4", "", call("c2", 2, None)),
    )
    assert recording.history.steps == (Step((use("c1", 1, ""),)),)
    assert recording.history.pending == Reply((Call("c2", "read", '{"n":2}'),))


def test_a_checkpoint_is_a_list_of_contents() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Read"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read", "args": {"n": 1}}}]},
        {"role": "user", "parts": [response("c1", "one")]},
    ]
    for value in ({"history": contents, "authType": "x"}, {"history": [], "clientHistory": contents}):
        assert gemini_cli.recognise([value])
        recording = gemini_cli.read(json.dumps(value).encode())
        assert recording.history.turns == (Turn((Text("Read"),), (Step((use("c1", 1, "one"),)),)),)


def test_a_broken_chat_is_refused_with_its_place() -> None:
    cases: list[tuple[list[Any], str]] = [
        ([5], "messages[0]: this must be an object, not a number"),
        ([user("1", [5])], "messages[0]: a part of content must be an object, not a number"),
        ([user("1", "Hi"), {**gemini("2", ""), "toolCalls": 5}], "messages[1]: toolCalls must be a list of objects"),
        ([user("1", "Hi"), user("2", [response("c1", "one")])], "messages[1]: this is a result for call 'c1', which"),
    ]
    for messages, sentence in cases:
        with pytest.raises(Malformed) as wrong:
            read(*messages)
        assert str(wrong.value).startswith(sentence)
    with pytest.raises(Unreadable):
        read()


@pytest.mark.corpus
@pytest.mark.shared
def test_all_recorded_sessions_written_as_gemini_cli_would_are_read_back(shared: Path) -> None:
    for path in sorted((shared / "data").glob("*/*.jsonl.gz")):
        history = trajectory.read(gzip.decompress(path.read_bytes())).history
        if any(gemini_cli.COMMAND.match(told.text(part)) for turn in history.turns for part in turn.prompt):
            continue
        for data in (told.gemini_cli(history), told.gemini_cli_lines(history)):
            assert gemini_cli.read(data).history == replace(history, system=()), path.name
