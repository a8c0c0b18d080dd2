"""Ollama's /api/chat: read, folded, composed and answered."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from tests.checkers import ollama as checker
from tests.dialects.wire import METER, PNG, anything, folded, misplaced, near_misses

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.folds import Gist, Stub
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Usage
from yohaku.dialects.json_values import dump
from yohaku.dialects.ollama import Ollama
from yohaku.testing import histories

DIALECT = Ollama()
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
JPEG = "/9j/4AAQ"
LONG = "a line of a file that goes on for a while\n" * 40


def user(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **fields}


def assistant(content: str, *calls: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **fields}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def tool(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **fields}


BODY: dict[str, Any] = {
    "model": "qwen3",
    "options": {"num_ctx": 8192},
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "Be brief."},
        user("What are these?", images=[PNG, JPEG]),
        assistant(
            "Let me see.", call("read", path="a"), call("list", path="b"), call("read", path="c"), thinking="Hm."
        ),
        tool("the list", tool_name="list"),
        tool("first", tool_name="read"),
        tool("", tool_name="read", images=[PNG]),
        assistant("", {"id": "x", **call("read", path="d")}, {"id": "y", **call("read", path="e")}),
        tool("of y", tool_call_id="y"),
        tool("of x", tool_call_id="x"),
        assistant("Pictures."),
        {"role": "system", "content": "Now English."},
        user("Thanks."),
    ],
}
IMAGE = Opaque("image", PNG, "base64", "image/png")
READ = History(
    system=(Text("Be brief."),),
    tools=(Tool("read", dump(TOOL)),),
    turns=(
        Turn(
            (Text("What are these?"), IMAGE, Opaque("image", JPEG, "base64", "image/jpeg")),
            (
                Step(
                    (
                        Opaque("thought", "Hm."),
                        Text("Let me see."),
                        ToolUse(Call("call:2:0", "read", '{"path":"a"}'), Result((Text("first"),))),
                        ToolUse(Call("call:2:1", "list", '{"path":"b"}'), Result((Text("the list"),))),
                        ToolUse(Call("call:2:2", "read", '{"path":"c"}'), Result((IMAGE,))),
                    )
                ),
                Step(
                    (
                        ToolUse(Call("x", "read", '{"path":"d"}'), Result((Text("of x"),))),
                        ToolUse(Call("y", "read", '{"path":"e"}'), Result((Text("of y"),))),
                    )
                ),
                Step((Text("Pictures."),)),
            ),
        ),
        Turn((Text("Now English."), Text("Thanks."))),
    ),
)


def test_every_kind_of_message_is_read() -> None:
    assert DIALECT.read(BODY).history() == READ
    assert misplaced(DIALECT, BODY) == []


def test_results_without_a_name_are_taken_in_order() -> None:
    body = [user("Hi"), assistant("", call("f"), call("g")), tool("of f"), tool("of g")]
    assert [use.result.text for use in DIALECT.read(body).history().steps[0].uses] == ["of f", "of g"]


def test_an_unfolded_body_leaves_as_it_came() -> None:
    assert DIALECT.write(BODY, View(DIALECT.read(BODY).history())) is BODY


# --- folding -----------------------------------------------------------------------------------------


def stub(*slots: tuple[int | None, Slot]) -> Any:
    """The body with these folded, the first of each pair being the number of the step."""
    view = View(DIALECT.read(BODY).history())
    turn = view.history.turns[0]
    keys = [turn.key if step is None else turn.steps[step].key for step, _ in slots]
    texts = (f"[image folded; ref=x{number}]" for number in range(len(slots)))
    return DIALECT.write(
        BODY,
        view.with_(
            Stub(key, slot, text, "x", "it", "big", 9, 1)
            for key, (_, slot), text in zip(keys, slots, texts, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("slots", "index", "message"),
    [
        (
            [(None, Slot("prompt", 1))],
            1,
            user("What are these?\n[image folded; ref=x0]", images=[JPEG]),
        ),
        (
            [(None, Slot("prompt", 1)), (None, Slot("prompt", 2))],
            1,
            user("What are these?\n[image folded; ref=x0]\n[image folded; ref=x1]"),
        ),
        (
            [(None, Slot("prompt", 0)), (None, Slot("prompt", 2))],
            1,
            user("[image folded; ref=x0]\n[image folded; ref=x1]", images=[PNG]),
        ),
        ([(0, Slot("result", 3))], 5, tool("[image folded; ref=x0]", tool_name="read")),
        ([(1, Slot("result", 0))], 8, tool("[image folded; ref=x0]", tool_call_id="x")),
        (
            [(1, Slot("argument", 0, "path"))],
            6,
            assistant(
                "", {"id": "x", **call("read", path="[image folded; ref=x0]")}, {"id": "y", **call("read", path="e")}
            ),
        ),
    ],
)
def test_a_fold_changes_only_its_own_message(slots: Any, index: int, message: Any) -> None:
    out = stub(*slots)
    assert out == {**BODY, "messages": [*BODY["messages"][:index], message, *BODY["messages"][index + 1 :]]}
    assert checker.problems(out) == [] and checker.intact(BODY, out) == []


def test_a_cut_is_made_between_steps() -> None:
    history = DIALECT.read(BODY).history()
    for turn in history.turns:
        for key in (turn.key, *(step.key for step in turn.steps)):
            out = DIALECT.write(BODY, View(history).with_([Gist(key, "[folded; ref=x]", "x", "it", "full", 9, 1)]))
            assert checker.problems(out) == []


@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_folded_at_any_window_it_is_well_formed_and_no_heavier_than_planned(recipe: str) -> None:
    more = [assistant("", call("read", path=LONG)), tool(LONG, tool_name="read"), assistant("Done."), user("And?")]
    body = {**BODY, "messages": [*BODY["messages"], *more]}
    for window in range(300, 5000, 100):
        out, outcome = folded(DIALECT, body, window, recipe)
        assert checker.problems(out) == [] and checker.intact(body, out) == []
        assert weigh(DIALECT.read(out).history(), METER).total <= outcome.after.total


# --- composing ---------------------------------------------------------------------------------------


def test_what_was_read_can_be_composed_and_read_again() -> None:
    body = DIALECT.compose(READ, "qwen3")
    assert DIALECT.read(body).history() == READ
    assert checker.problems(body) == []


@given(histories())
def test_any_history_comes_back(history: History) -> None:
    body = DIALECT.compose(history)
    assert DIALECT.read(body).history() == history
    assert checker.problems(body) == []


def test_arguments_that_are_no_object_come_back() -> None:
    step = Step((ToolUse(Call("a", "f", "not json"), Result()),))
    history = History(turns=(Turn((Text("Hi"),), (step,)),))
    body = DIALECT.compose(history)
    assert isinstance(body["messages"][1]["tool_calls"][0]["function"]["arguments"], dict)
    assert DIALECT.read(body).history() == history


def test_what_the_wire_cannot_carry_is_named() -> None:
    prompt = (Opaque("image", "https://a/b.png", "url"), Opaque("document", "JVBE", "base64", "application/pdf"))
    step = Step((Opaque("thought", '{"type":"thinking","signature":"x"}'), Text("Yes.")))
    assert DIALECT.compose(History(turns=(Turn(prompt, (step,)),)))["messages"] == [
        user("[image]"),
        user("[document]"),
        assistant("Yes."),
    ]


# --- what is not well formed -------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"messages": 5}, "messages must be a list"),
    "a message that is a text": (["x"], "messages[0]: this must be an object"),
    "an unknown role": ([{"role": "developer", "content": "x"}], "messages[0]: unknown role 'developer'"),
    "content that is a list": ([{"role": "user", "content": []}], "messages[0]: content must be a text, not a list"),
    "an image that is an object": ([user("", images=[{}])], "messages[0]: images must be a list of texts"),
    "calls that are an object": ([assistant("", tool_calls={})], "messages[0]: tool_calls must be a list of objects"),
    "a call without a function": ([assistant("", {})], "messages[0]: a tool call needs a function"),
    "a call without a name": ([assistant("", {"function": {}})], "messages[0]: the name of a tool call must be a text"),
    "arguments that are a list": (
        [assistant("", {"function": {"name": "f", "arguments": []}})],
        "messages[0]: arguments must be an object, not a list",
    ),
    "a result without a call": ([user("Hi"), tool("x", tool_name="f")], "messages[1]: this is a result for call 'f'"),
    "a result for another call": ([assistant("", call("f")), tool("x", tool_call_id="z")], "messages[1]: this is a"),
    "a missing result": ([assistant("", call("f")), user("Hi")], "messages[0]: call 'call:0:0' has no result"),
    "one id twice": (
        [assistant("", {"id": "a", **call("f")}, {"id": "a", **call("f")})],
        "messages[0]: call id 'a' is used twice",
    ),
    "tools that are a text": ({"tools": "x", "messages": []}, "tools: this must be a list of objects"),
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
    anything(["role", "content", "images", "tool_calls", "function", "name", "assistant", "user", "tool", "arguments"])
)
def test_anything_else_is_read_or_refused(value: Any) -> None:
    for body in ({"messages": value}, {"messages": [value]}, {"messages": [user("Hi"), value]}, [value]):
        with suppress(YohakuError):
            DIALECT.read(body).history()


# --- answers -----------------------------------------------------------------------------------------


def chunk(content: str = "", **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **fields.pop("message", {})}
    return {"model": "qwen3", "created_at": "2026-11-15T20:00:00.1Z", "message": message, "done": False, **fields}


COUNTS = {"done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 298}
CHUNKS = [
    chunk(message={"thinking": "H"}),
    chunk(message={"thinking": "m."}),
    chunk("Let me "),
    chunk("see.", message={"tool_calls": [call("read", path="a")]}),
    chunk(message={"tool_calls": [{"id": "x", **call("read", path="b")}]}),
    chunk(**COUNTS),
]


def test_a_stream_is_put_together() -> None:
    answer = DIALECT.read_stream("\n".join(map(json.dumps, CHUNKS)))
    thought, text, first, second = answer.reply.items
    assert (thought, text) == (Opaque("thought", "Hm."), Text("Let me see."))
    assert isinstance(first, Call) and (first.name, first.asked) == ("read", '{"path":"a"}')
    assert second == Call("x", "read", '{"path":"b"}')
    assert (answer.usage, answer.stop) == (Usage(input=26, output=298), "stop")


def test_a_whole_reply_is_read_as_its_stream_is() -> None:
    message = assistant("Let me see.", call("read", path="a"), {"id": "x", **call("read", path="b")}, thinking="Hm.")
    whole = DIALECT.read_reply({**CHUNKS[-1], "message": message})
    assert whole == DIALECT.read_stream("\n".join(map(json.dumps, CHUNKS)))


def test_calls_without_ids_get_ids_that_differ_from_reply_to_reply() -> None:
    message = assistant("", call("f"), call("f"))
    replies = [DIALECT.read_reply({"created_at": when, "message": message}).reply for when in ("1", "2")]
    assert len({made.id for reply in replies for made in reply.calls}) == 4


def test_a_torn_stream_keeps_what_was_said() -> None:
    answer = DIALECT.read_stream(json.dumps(CHUNKS[2]) + '\n{"mess')
    assert (answer.reply, answer.usage, answer.stop) == (Reply((Text("Let me "),)), None, "")


@given(near_misses({**CHUNKS[-1], "message": CHUNKS[3]["message"]}))
def test_an_answer_that_is_nearly_right_is_read_or_refused(body: Any) -> None:
    with suppress(YohakuError):
        DIALECT.read_reply(body)
    with suppress(YohakuError):
        DIALECT.read_stream("\n".join(map(json.dumps, [CHUNKS[0], body])))


@pytest.mark.parametrize(
    ("running", "found"),
    [
        ({"models": [{"name": "m:latest", "context_length": 4096}]}, 4096),
        ({"models": [{"name": "other"}, {"model": "m", "context_length": 8192}]}, 8192),
        ({"models": [{"name": "m"}]}, None),
        ({"models": [{"name": "m", "context_length": "4096"}]}, None),
        ({"models": [5, None]}, None),
        ({"models": 5}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_window_of_a_loaded_model_is_read(running: Any, found: int | None) -> None:
    assert DIALECT.read_loaded_window(running, "m") == found
