"""OpenAI chat completions: read, folded, composed and answered, by hand-made bodies and by all recorded ones."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.checkers import openai_chat as checker
from tests.dialects.wire import METER, PNG, anything, folded, misplaced, near_misses, recorded, sse

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.folds import Gist, Stub
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Usage
from yohaku.dialects.json_values import dump
from yohaku.dialects.openai_chat import CACHE_FIELDS, OpenAIChat
from yohaku.testing import histories

DIALECT = OpenAIChat()
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
LONG = "a line of a file that goes on for a while\n" * 40


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, *calls: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **fields}


def call(call_id: Any, arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "read", "arguments": arguments}}


def tool(call_id: Any, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
BODY: dict[str, Any] = {
    "model": "gpt-4o",
    "tools": [TOOL, {"type": "custom", "custom": {"name": "patch"}}],
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        user([{"type": "text", "text": "What is this?"}, IMAGE]),
        assistant("Let me see.", call("a", '{"path": "a.py"}'), call("b"), reasoning_content="Hm."),
        tool("b", [{"type": "text", "text": "second"}]),
        tool("a", "first"),
        assistant(None, CUSTOM),
        tool("c", "ok"),
        assistant(None, refusal="I can not."),
        {"role": "system", "content": "Now English."},
        user("Thanks."),
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "older"},
    ],
}
READ = History(
    system=(Text("Be brief."),),
    tools=(Tool("read", dump(TOOL)), Tool("patch", '{"type":"custom","custom":{"name":"patch"}}')),
    turns=(
        Turn(
            (Text("What is this?"), Opaque("image", PNG, "base64", "image/png", "low")),
            (
                Step(
                    (
                        Opaque("thought", "Hm."),
                        Text("Let me see."),
                        ToolUse(Call("a", "read", '{"path":"a.py"}'), Result((Text("first"),))),
                        ToolUse(Call("b", "read", "{}"), Result((Text("second"),))),
                    )
                ),
                Step((ToolUse(Call("c", "patch", '{"input":"*** Begin"}'), Result((Text("ok"),))),)),
                Step((Text("I can not."),)),
            ),
        ),
        Turn(
            (Text("Now English."), Text("Thanks.")),
            (Step((ToolUse(Call("function:10", "old", "{}"), Result((Text("older"),))),)),),
        ),
    ),
)


def test_every_kind_of_message_is_read() -> None:
    assert DIALECT.read(BODY).history() == READ
    assert misplaced(DIALECT, BODY) == []


def test_an_unfolded_body_leaves_as_it_came() -> None:
    assert DIALECT.write(BODY, View(DIALECT.read(BODY).history())) is BODY


def test_an_open_call_at_the_end_is_pending() -> None:
    assert DIALECT.read([user("Hi"), assistant(None, call("a"))]).history().pending == Reply((Call("a", "read", "{}"),))


# --- folding -----------------------------------------------------------------------------------------

FOLDED = "[folded; ref=x]"


@pytest.mark.parametrize(
    ("slot", "step", "index", "message"),
    [
        (Slot("prompt", 0), None, 1, user([{"type": "text", "text": FOLDED}, IMAGE])),
        (
            Slot("prompt", 1),
            None,
            1,
            user([{"type": "text", "text": "What is this?"}, {"type": "text", "text": FOLDED}]),
        ),
        (Slot("result", 1), 0, 4, tool("a", FOLDED)),
        (Slot("result", 2), 0, 3, tool("b", [{"type": "text", "text": FOLDED}])),
        (Slot("argument", 0, "input"), 1, 5, assistant(None, {**CUSTOM, "custom": {"name": "patch", "input": FOLDED}})),
        (Slot("item", 0), 2, 7, assistant(None, refusal=FOLDED)),
    ],
)
def test_a_fold_changes_only_its_own_message(slot: Slot, step: int | None, index: int, message: Any) -> None:
    view = View(DIALECT.read(BODY).history())
    turn = view.history.turns[0]
    key = turn.key if step is None else turn.steps[step].key
    out = DIALECT.write(BODY, view.with_([Stub(key, slot, FOLDED, "x", "it", "big", 9, 1)]))
    assert out == {**BODY, "messages": [*BODY["messages"][:index], message, *BODY["messages"][index + 1 :]]}


def test_a_cut_is_made_between_steps() -> None:
    body = {**BODY, "messages": BODY["messages"][:-2]}
    history = DIALECT.read(body).history()
    for turn in history.turns:
        for key in (turn.key, *(step.key for step in turn.steps)):
            out = DIALECT.write(body, View(history).with_([Gist(key, FOLDED, "x", "it", "full", 9, 1)]))
            assert checker.problems(out) == []


@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_folded_at_any_window_it_is_well_formed(recipe: str) -> None:
    more = [assistant(None, call("d", dump({"path": LONG}))), tool("d", LONG), assistant("Done."), user("And?")]
    body = {**BODY, "messages": [*BODY["messages"][:-2], *more]}
    for window in range(300, 5000, 100):
        out, outcome = folded(DIALECT, body, window, recipe)
        assert checker.problems(out) == [] and checker.intact(body, out) == []
        assert weigh(DIALECT.read(out).history(), METER).total <= outcome.after.total


# --- composing ---------------------------------------------------------------------------------------


@given(histories())
def test_any_history_comes_back(history: History) -> None:
    body = DIALECT.compose(history)
    assert DIALECT.read(body).history() == history
    assert checker.problems(body) == []


def test_tools_of_other_dialects_are_rewritten_and_hosted_ones_left_out() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    theirs = (
        Tool("weather", dump({"name": "weather", "description": "Now", "input_schema": schema})),
        Tool("search", dump({"type": "web_search_20250305", "name": "search"})),
        Tool("f", dump({"type": "function", "name": "f", "parameters": schema})),
    )
    assert DIALECT.compose(History(tools=theirs))["tools"] == [
        {"type": "function", "function": {"name": "weather", "description": "Now", "parameters": schema}},
        {"type": "function", "function": {"name": "f", "parameters": schema}},
    ]


# --- what is not well formed -------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"messages": 5}, "messages must be a list"),
    "a message that is a text": (["x"], "messages[0]: this must be an object"),
    "an unknown role": ([{"role": "model", "content": "x"}], "messages[0]: unknown role 'model'"),
    "a role that is a list": ([{"role": [], "content": "x"}], "messages[0]: a role cannot be a list"),
    "content that is an object": ([user({})], "messages[0]: content must be a text or a list"),
    "a block that is a number": ([user([5])], "messages[0]: a part of content must be an object"),
    "calls that are a number": ([assistant("", tool_calls=5)], "messages[0]: tool_calls must be a list of objects"),
    "a call without a function": ([assistant("", {"id": "a"})], "messages[0]: a tool call needs a function"),
    "a call without id": ([assistant("", call(None))], "messages[0]: the id of a tool call must be a text"),
    "arguments that are an object": ([assistant("", call("a", {}))], "messages[0]: arguments must be a text"),
    "a result without a call": ([user("Hi"), tool("a")], "messages[1]: this is a result for call 'a'"),
    "two results": ([assistant("", call("a")), tool("a"), tool("a")], "messages[2]: this is a result for call 'a'"),
    "a missing result": ([assistant("", call("a")), user("Hi")], "messages[0]: call 'a' has no result"),
    "one id twice": ([assistant("", call("a"), call("a"))], "messages[0]: call id 'a' is used twice"),
    "tools that are a number": ({"tools": 5, "messages": []}, "tools: this must be a list of objects"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_place(what: str) -> None:
    body, message = WRONG[what]
    with pytest.raises((Malformed, Unreadable)) as caught:
        DIALECT.read(body).history()
    assert str(caught.value).startswith(message)


@given(near_misses(BODY))
def test_a_body_that_is_nearly_right_is_read_or_refused(body: Any) -> None:
    with suppress(YohakuError):
        history = DIALECT.read(body).history()
        assert DIALECT.write(body, View(history)) is body
        folded(DIALECT, body, 700)


@given(
    anything(["role", "content", "type", "text", "tool_calls", "function", "name", "assistant", "user", "tool", "id"])
)
def test_anything_else_is_read_or_refused(value: Any) -> None:
    for body in ({"messages": value}, {"messages": [value]}, {"messages": [user("Hi"), value]}, [value]):
        with suppress(YohakuError):
            DIALECT.read(body).history()


# --- answers -----------------------------------------------------------------------------------------

USAGE = {
    "prompt_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    "completion_tokens": 7,
}
WHOLE = {
    "choices": [{"message": assistant("Yes.", call("a"), reasoning="Hm."), "finish_reason": "stop"}],
    "usage": USAGE,
}
SAID = Reply((Opaque("thought", "Hm."), Text("Yes."), Call("a", "read", "{}")))


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields, "finish_reason": None}]}


def piece(arguments: str, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"arguments": arguments, **({"name": "read"} if "id" in fields else {})}}


STREAM = sse(
    delta(role="assistant", reasoning="H"),
    delta(reasoning="m."),
    delta(content="Ye"),
    delta(content="s."),
    delta(tool_calls=[piece("{", index=0, id="a")]),
    delta(tool_calls=[piece("}", index=0)]),
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": USAGE},
)


def test_a_reply_and_its_stream_say_the_same() -> None:
    answer = DIALECT.read_reply(WHOLE)
    assert (answer.reply, answer.usage, answer.stop) == (SAID, Usage(10, 60, 30, 7), "stop")
    assert DIALECT.read_stream(STREAM + "data: [DONE]\n\n") == answer


@pytest.mark.parametrize("places", [(0, 1), (0, 2), (0, 0), (None, None)])
def test_parallel_calls_are_told_apart_however_they_are_counted(places: tuple[int | None, int | None]) -> None:
    index = [{} if place is None else {"index": place} for place in places]
    stream = sse(
        delta(tool_calls=[piece("{", id="a", **index[0])]),
        delta(tool_calls=[piece("}", **index[0])]),
        delta(tool_calls=[piece("[", id="b", **index[1])]),
        delta(tool_calls=[piece("]", **index[1])]),
    )
    assert DIALECT.read_stream(stream).reply == Reply((Call("a", "read", "{}"), Call("b", "read", "[]")))


@pytest.mark.parametrize("field", CACHE_FIELDS)
def test_what_was_read_from_a_cache_has_many_names(field: str) -> None:
    answer = DIALECT.read_reply({"usage": {"prompt_tokens": 10, field: 4, "completion_tokens": 1}})
    assert answer.usage == Usage(6, 4, 0, 1)


@given(near_misses(WHOLE))
def test_an_answer_that_is_nearly_right_is_read_or_refused(body: Any) -> None:
    with suppress(YohakuError):
        DIALECT.read_reply(body)


@given(near_misses(delta(content="Yes.", tool_calls=[piece("{}", index=0, id="a")])))
def test_a_stream_that_is_nearly_right_is_read_or_refused(event: Any) -> None:
    with suppress(YohakuError):
        DIALECT.read_stream(sse(event, event))


def test_an_image_by_url_is_folded_whole_into_a_text_block() -> None:
    link = "https://example.com/" + "picture/" * 60
    image = {"type": "image_url", "image_url": {"url": link}}
    ask = {"role": "user", "content": [{"type": "text", "text": "Look."}, image]}
    body = {"messages": [ask, {"role": "assistant", "content": "Nice."}, {"role": "user", "content": "x" * 300}]}
    out, outcome = folded(DIALECT, body, 400)
    (fold,) = outcome.folds
    note = {"type": "text", "text": f"[image folded: a link; ref={fold.ref}]"}
    assert out["messages"][0]["content"] == [{"type": "text", "text": "Look."}, note]
    assert dict(outcome.view.originals(fold)) == {fold.ref: link}


# --- recorded ----------------------------------------------------------------------------------------


@pytest.mark.shared
def test_recorded_requests_are_read_and_written(shared: Path) -> None:
    for found in recorded(shared, "openai_chat"):
        body = found["request"]
        history = DIALECT.read(body).history()
        assert DIALECT.write(body, View(history)) is body
        assert misplaced(DIALECT, body) == []
        assert checker.problems(DIALECT.compose(history)) == []


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_recorded_requests_fold_well(shared: Path, recipe: str) -> None:
    for found in recorded(shared, "openai_chat"):
        body = found["request"]
        if found["status"] != 200:
            continue
        total = weigh(DIALECT.read(body).history(), METER).total
        for share in (0.9, 0.6, 0.3):
            out, outcome = folded(DIALECT, body, int(total * share), recipe)
            assert checker.problems(out) == [] and checker.intact(body, out) == []
            assert weigh(DIALECT.read(out).history(), METER).total <= outcome.after.total


@pytest.mark.shared
def test_recorded_answers_are_read_with_their_usage(shared: Path) -> None:
    for found in recorded(shared, "openai_chat"):
        if found["status"] != 200:
            continue
        if stream := found["stream"]:
            answer = DIALECT.read_stream(stream)
            events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
            raw = next((usage for event in reversed(events) if (usage := billed_in(event))), None)
        else:
            answer = DIALECT.read_reply(found["response"])
            raw = billed_in(found["response"])
        billed = answer.usage and (answer.usage.prompt, answer.usage.output)
        assert billed == (raw and (raw["prompt_tokens"], raw["completion_tokens"]))


def billed_in(body: dict[str, Any]) -> Any:
    return body.get("usage") or (body.get("x_groq") or {}).get("usage")
