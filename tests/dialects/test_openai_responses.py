"""OpenAI Responses: read, folded, composed and answered, by hand-made bodies and by all recorded ones."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.checkers import openai_responses as checker
from tests.dialects.wire import METER, PNG, anything, folded, misplaced, near_misses, recorded, sse

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.folds import Gist, Stub
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Usage
from yohaku.dialects.json_values import dump
from yohaku.dialects.openai_responses import LASTING_ITEMS, OpenAIResponses
from yohaku.testing import histories

DIALECT = OpenAIResponses()
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
SEARCHED = {"type": "tool_search_output", "execution": "client", "call_id": "s", "tools": []}
WEB = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
MORE_TOOLS = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "late"}]}
IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"}
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
LONG = "a line of a file that goes on for a while\n" * 40


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(call_id: str, arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments, **fields}


def output(call_id: str, said: Any = "done", kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": call_id, "output": said}


def said(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **fields}


BODY: dict[str, Any] = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "tools": [WEATHER, {"type": "web_search"}],
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Only Japanese."}]},
        user([{"type": "input_text", "text": "What is this?"}, IMAGE]),
        THOUGHT,
        said("Let me see.", id="msg_1"),
        call("a", '{"path": "a.py"}', namespace="files"),
        call("b"),
        output("b", [{"type": "input_text", "text": "second"}]),
        output("a", "first"),
        MORE_TOOLS,
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        {"type": "shell_call", "call_id": "d", "action": {"commands": ["ls", "pwd"]}},
        {
            "type": "shell_call_output",
            "call_id": "d",
            "output": [{"stdout": "x", "stderr": ""}, {"stdout": "/", "n": 1}],
        },
        {"type": "tool_search_call", "execution": "client", "call_id": "s", "arguments": {"queries": ["q"]}},
        SEARCHED,
        WEB,
        said("A picture."),
        {"role": "system", "content": "Now English."},
        user("Thanks."),
    ],
}
READ = History(
    system=(Text("Be brief."), Text("Only Japanese."), Opaque("additional_tools", dump(MORE_TOOLS))),
    tools=(Tool("weather", dump(WEATHER)), Tool("web_search", '{"type":"web_search"}')),
    turns=(
        Turn(
            (Text("What is this?"), Opaque("image", PNG, "base64", "image/png", "low")),
            (
                Step(
                    (
                        Opaque("thought", dump(THOUGHT), hint="bound"),
                        Text("Let me see."),
                        ToolUse(Call("a", "read", '{"path":"a.py"}'), Result((Text("first"),))),
                        ToolUse(Call("b", "read", "{}"), Result((Text("second"),))),
                    )
                ),
                Step((ToolUse(Call("c", "patch", '{"input":"*** Begin"}'), Result((Text("ok"),))),)),
                Step((ToolUse(Call("d", "shell", '[{"commands":["ls","pwd"]}]'), Result((Text("x"), Text("/")))),)),
                Step(
                    (
                        ToolUse(
                            Call("s", "tool_search", '[{"queries":["q"]}]'),
                            Result((Opaque("tool_search_output", dump(SEARCHED)),)),
                        ),
                    )
                ),
                Step((Opaque("web_search_call", dump(WEB)), Text("A picture."))),
            ),
        ),
        Turn((Text("Now English."), Text("Thanks."))),
    ),
)


def test_every_kind_of_item_is_read() -> None:
    assert DIALECT.read(BODY).history() == READ
    assert misplaced(DIALECT, BODY) == []


def test_an_unfolded_body_leaves_as_it_came() -> None:
    assert DIALECT.write(BODY, View(DIALECT.read(BODY).history())) is BODY


def test_what_the_server_ran_itself_needs_no_result() -> None:
    searched = {"type": "tool_search_call", "execution": "server", "call_id": "x", "arguments": {}}
    history = DIALECT.read({"input": [user("Hi"), searched, call("a"), output("a")]}).history()
    assert history.steps == (
        Step((Opaque("tool_search_call", dump(searched)), ToolUse(Call("a", "read", "{}"), Result((Text("done"),))))),
    )


def test_a_note_made_while_a_call_is_open_belongs_to_its_step() -> None:
    note = {"role": "developer", "content": "Approved: ls"}
    (step,) = DIALECT.read([user("Hi"), call("a"), note, output("a")]).history().steps
    assert step.items[1] == Text("Approved: ls")


@pytest.mark.parametrize("kind", ["local_shell_call", "apply_patch_call", "computer_call"])
def test_a_call_of_a_checked_form_is_never_folded_inside(kind: str) -> None:
    asked = {"command": [LONG], "type": "exec"}
    made = {"type": kind, "call_id": "a", "action": asked, "operation": asked}
    body = {"input": [user("Hi"), made, output("a", LONG, kind), said("ok"), user("Go on.")]}
    out, outcome = folded(DIALECT, body, 2500)
    assert outcome.folds and all(item == made for item in out["input"] if item.get("type") == kind)


def test_a_screenshot_is_weighed_as_a_picture_and_stays_one() -> None:
    shot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
    body = {
        "input": [
            user("Hi"),
            {"type": "computer_call", "call_id": "a", "action": {}},
            output("a", shot, "computer_call"),
        ]
    }
    (use,) = DIALECT.read(body).history().steps[0].uses
    assert use.result == Result((Opaque("computer_screenshot", PNG, "base64", "image/png"),))
    painted = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG}
    history = DIALECT.read({"input": [user("Paint."), painted]}).history()
    assert history.steps == (Step((Opaque("image_generation_call", PNG, "base64", "image/png", "ig_1"),)),)
    assert DIALECT.compose(history)["input"] == [user("Paint."), painted]


# --- a plain text, and a conversation that the provider holds -------------------------------------


def test_a_plain_text_stays_a_plain_text() -> None:
    body = {"model": "m", "input": LONG * 3}
    assert DIALECT.read(body).history() == History(turns=(Turn((Text(LONG * 3),)),))
    out, outcome = folded(DIALECT, body, 2000)
    assert outcome.folds and isinstance(out["input"], str) and f"ref={outcome.folds[0].ref}" in out["input"]
    assert not checker.intact(body, out)


@pytest.mark.parametrize(
    "beside", [{"previous_response_id": "r"}, {"conversation": "c"}, {"conversation": {"id": "c"}}]
)
def test_a_result_may_answer_a_call_that_the_provider_holds(beside: dict[str, Any]) -> None:
    body = {"input": [output("a", "12 degrees"), output("b", ""), user("So?")], **beside}
    assert DIALECT.read(body).history() == History(turns=(Turn((Text("12 degrees"), Text(""), Text("So?"))),))
    assert misplaced(DIALECT, body) == []


def test_a_result_stays_with_the_reference_to_its_call() -> None:
    reference = {"type": "item_reference", "id": "fc_1"}
    first, second = ([reference, reference, output(a, LONG), output(b, LONG), reference] for a, b in ("ab", "cd"))
    body = {"input": [user("Hi"), *first, user("More."), *second, user("Go on.")]}
    for window in range(200, 7000, 400):
        out, _ = folded(DIALECT, body, window)
        kinds = [item.get("type", item.get("role")) for item in out["input"]]
        whole = ["item_reference"] * 2 + ["function_call_output"] * 2 + ["item_reference"]
        assert [kind for kind in kinds if kind != "user"] in ([], whole, whole * 2)
        assert checker.problems(out) == []


# --- folding --------------------------------------------------------------------------------------


def stub(view: View, where: Any, item: int, part: int | str = 0, step: int | None = None) -> View:
    owner = view.history.turns[0] if step is None else view.history.turns[0].steps[step]
    return view.with_([Stub(owner.key, Slot(where, item, part), "[folded; ref=x]", "x", "it", "big", 9, 1)])


@pytest.mark.parametrize(
    ("where", "change"),
    [
        (("prompt", 0), {(1, "content", 0, "text"): "[folded; ref=x]"}),
        (("prompt", 1), {(1, "content", 1): {"type": "input_text", "text": "[folded; ref=x]"}}),
        (("item", 0, 0, 0), {(3, "content", 0, "text"): "[folded; ref=x]"}),
        (("argument", 1, "path", 0), {(4, "arguments"): '{"path":"[folded; ref=x]"}'}),
        (("result", 1, 0, 0), {(7, "output"): "[folded; ref=x]"}),
        (("result", 2, 0, 0), {(6, "output", 0, "text"): "[folded; ref=x]"}),
        (("argument", 0, "input", 1), {(9, "input"): "[folded; ref=x]"}),
        (("result", 0, 1, 2), {(12, "output", 1, "stdout"): "[folded; ref=x]"}),
    ],
)
def test_a_fold_changes_only_its_own_place(where: Any, change: dict[Any, Any]) -> None:
    out = DIALECT.write(BODY, stub(View(DIALECT.read(BODY).history()), *where))
    wanted = json.loads(json.dumps(BODY))
    for (*path, last), new in change.items():
        holder = wanted["input"]
        for key in path:
            holder = holder[key]
        holder[last] = new
    assert out == wanted
    assert checker.problems(out) == [] and checker.intact(BODY, out) == []


def test_a_thought_is_cut_with_what_it_led_to_and_lasting_items_stay() -> None:
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
    body = {**BODY, "input": [compaction, *BODY["input"]]}
    history = DIALECT.read(body).history()
    for number, turn in enumerate(history.turns):
        for count in range(len(turn.steps) + 1):
            key = turn.steps[count - 1].key if count else turn.key
            out = DIALECT.write(body, View(history).with_([Gist(key, "[folded; ref=x]", "x", "it", "full", 9, 1)]))
            assert checker.problems(out) == []
            assert [compaction, MORE_TOOLS] == [item for item in out["input"] if item.get("type") in LASTING_ITEMS]
            assert (THOUGHT in out["input"]) == (number == 0 and count == 0)


@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_folded_at_any_window_it_is_well_formed(recipe: str) -> None:
    items = [*BODY["input"], call("e", dump({"path": LONG})), output("e", LONG), THOUGHT, said("Done."), user("And?")]
    body = {**BODY, "input": items}
    for window in range(500, 5000, 150):
        out, outcome = folded(DIALECT, body, window, recipe)
        assert checker.problems(out) == [] and intact(body, out) == []
        assert weigh(DIALECT.read(out).history(), METER).total <= outcome.after.total


def intact(before: Any, after: Any) -> list[str]:
    """As the checker says, beside what is never cut: that must all be there."""

    def lasting(body: Any) -> list[Any]:
        return [item for item in DIALECT.entries_of(body) if item.get("type") in LASTING_ITEMS]

    def rest(body: Any) -> Any:
        if isinstance(body["input"], str):
            return body
        return {**body, "input": [item for item in body["input"] if item.get("type") not in LASTING_ITEMS]}

    lost = [] if lasting(before) == lasting(after) else ["a lasting item is lost"]
    return lost + checker.intact(rest(before), rest(after))


# --- composing ------------------------------------------------------------------------------------


def test_what_was_read_can_be_composed_and_read_again() -> None:
    body = DIALECT.compose(READ, "gpt-5")
    assert DIALECT.read(body).history() == READ
    assert checker.problems(body) == []


def test_tools_of_other_dialects_are_rewritten_and_hosted_ones_left_out() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    theirs = (
        Tool("weather", dump({"name": "weather", "description": "Now", "input_schema": schema})),
        Tool("search", dump({"type": "web_search_20250305", "name": "search"})),
        Tool("f", dump({"type": "function", "function": {"name": "f", "parameters": schema}})),
    )
    assert DIALECT.compose(History(tools=theirs))["tools"] == [
        {"type": "function", "name": "weather", "description": "Now", "parameters": schema},
        {"type": "function", "name": "f", "parameters": schema},
    ]


def test_thoughts_of_other_dialects_are_left_out() -> None:
    step = Step((Opaque("thought", '{"type":"thinking","signature":"x"}'), Opaque("thought", "Hm."), Text("Yes.")))
    assert DIALECT.compose(History(turns=(Turn((Text("Hi"),), (step,)),)))["input"][1:] == [
        {"role": "assistant", "content": "Yes."}
    ]


@given(histories(interleaved=True))
def test_any_history_comes_back(history: History) -> None:
    body = DIALECT.compose(history)
    again = DIALECT.read(body).history()
    assert (again.system, again.turns) == (history.system, history.turns)
    assert checker.problems(body) == []


# --- what is not well formed ----------------------------------------------------------------------

WRONG = {
    "no list": ({"input": 5}, "input must be a text or a list"),
    "no input": ({}, "input must be a text or a list"),
    "no body": (5, "input must be a text or a list"),
    "an item that is a text": ([5], "input[0]: this must be an object"),
    "an item of no type": ([{"a": 1}], "input[0]: an item needs a type or a role"),
    "a type that is a number": ([{"type": 5, "role": "user"}], "input[0]: an item needs a type or a role"),
    "an unknown role": ([{"role": "tool", "content": "x"}], "input[0]: unknown role 'tool'"),
    "content that is an object": ([user({})], "input[0]: content must be a text or a list"),
    "a block that is a text": ([user(["x"])], "input[0]: a part of content must be an object"),
    "a call without id": ([call(None)], "input[0]: call_id must be a text, not nothing"),  # type: ignore[arg-type]
    "arguments that are no text": ([call("a", {})], "input[0]: arguments must be a text"),  # type: ignore[arg-type]
    "a result without a call": (
        [user("Hi"), output("a")],
        "input[1]: this is a result for call 'a', which was never made",
    ),
    "two results": (
        [call("a"), output("a"), output("a")],
        "input[2]: this is a result for call 'a', which has two results",
    ),
    "a missing result": ([call("a"), user("Hi")], "input[0]: call 'a' has no result"),
    "one id twice": ([call("a"), call("a")], "input[1]: call id 'a' is used twice"),
    "instructions that are a list": ({"instructions": [1], "input": "Hi"}, "instructions: this must be a text"),
    "tools that are a text": ({"tools": "x", "input": "Hi"}, "tools: this must be a list of objects"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_place(what: str) -> None:
    body, message = WRONG[what]
    with pytest.raises((Malformed, Unreadable)) as caught:
        DIALECT.read(body).history()
    assert str(caught.value).startswith(message)


def test_an_open_call_at_the_end_is_pending() -> None:
    assert DIALECT.read([user("Hi"), call("a")]).history().pending == Reply((Call("a", "read", "{}"),))


@given(near_misses(BODY))
def test_a_body_that_is_nearly_right_is_read_or_refused(body: Any) -> None:
    with suppress(YohakuError):
        history = DIALECT.read(body).history()
        assert DIALECT.write(body, View(history)) is body
        folded(DIALECT, body, 1500)


@given(
    anything(["input", "type", "role", "content", "reasoning", "function_call", "call_id", "output", "message", "user"])
)
def test_anything_else_is_read_or_refused(value: Any) -> None:
    for body in (value, {"input": value}, {"input": [value]}, {"input": [user("Hi"), value], "conversation": 1}):
        with suppress(YohakuError):
            DIALECT.read(body).history()


# --- answers --------------------------------------------------------------------------------------

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    "output_tokens": 7,
}
WHOLE = {"status": "completed", "output": [THOUGHT, said("Let me see."), call("a")], "usage": USAGE}
SAID = Reply((Opaque("thought", dump(THOUGHT), hint="bound"), Text("Let me see."), Call("a", "read", "{}")))
DONE = [
    {"type": "response.output_item.done", "output_index": index, "item": item}
    for index, item in enumerate(WHOLE["output"])  # type: ignore[arg-type]
]


def test_a_reply_is_read_with_its_usage() -> None:
    answer = DIALECT.read_reply(WHOLE)
    assert (answer.reply, answer.usage, answer.stop) == (SAID, Usage(10, 60, 30, 7), "completed")


@pytest.mark.parametrize(
    "stream",
    [
        sse({"type": "response.created", "response": {"status": "in_progress"}}, *DONE,
            {"type": "response.completed", "response": WHOLE}),
        sse(*reversed(DONE), {"type": "response.completed", "response": {**WHOLE, "output": []}}),
    ],
)  # fmt: skip
def test_a_stream_is_the_reply_it_ends_in(stream: str) -> None:
    assert DIALECT.read_stream(stream) == DIALECT.read_reply(WHOLE)


def test_a_torn_stream_keeps_the_items_that_were_whole() -> None:
    stream = sse({"type": "response.created", "response": {"status": "in_progress"}}, *DONE[:2]) + "data: {"
    answer = DIALECT.read_stream(stream)
    assert (answer.reply, answer.usage, answer.stop) == (Reply(SAID.items[:2]), None, "in_progress")


@pytest.mark.parametrize(
    ("event", "stop"),
    [
        ({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
         "max_output_tokens"),
        ({"type": "response.failed", "response": {"status": "failed", "error": {"code": "context_length_exceeded"}}},
         "context_length_exceeded"),
        ({"type": "error", "code": "server_error", "message": "no"}, "server_error"),
    ],
)  # fmt: skip
def test_why_a_stream_stopped_is_told(event: dict[str, Any], stop: str) -> None:
    assert DIALECT.read_stream(sse(*DONE, event)).stop == stop
    assert DIALECT.read_stream(sse(*DONE, event)).reply == SAID


@given(near_misses(WHOLE))
def test_an_answer_that_is_nearly_right_is_read_or_refused(body: Any) -> None:
    with suppress(YohakuError):
        DIALECT.read_reply(body)
    with suppress(YohakuError):
        DIALECT.read_stream(sse(*DONE, {"type": "response.completed", "response": body}, {"type": "error", **body}))


# --- recorded -------------------------------------------------------------------------------------


@pytest.mark.shared
def test_recorded_requests_are_read_written_and_composed(shared: Path) -> None:
    for found in recorded(shared, "openai_responses"):
        body = found["request"]
        history = DIALECT.read(body).history()
        assert DIALECT.write(body, View(history)) is body
        assert misplaced(DIALECT, body) == []
        composed = DIALECT.compose(history)
        assert DIALECT.read(composed).history() == history
        assert checker.problems(composed) == []


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_recorded_requests_fold_well(shared: Path, recipe: str) -> None:
    for found in recorded(shared, "openai_responses"):
        body = found["request"]
        total = weigh(DIALECT.read(body).history(), METER).total
        for share in (0.9, 0.6, 0.3):
            out, outcome = folded(DIALECT, body, int(total * share), recipe)
            assert checker.problems(out) == [] and intact(body, out) == []
            assert weigh(DIALECT.read(out).history(), METER).total <= outcome.after.total


@pytest.mark.shared
def test_recorded_answers_are_read_with_their_usage(shared: Path) -> None:
    for found in recorded(shared, "openai_responses"):
        if found["status"] != 200:
            continue
        if stream := found["stream"]:
            answer = DIALECT.read_stream(stream)
            last = [json.loads(line[5:]) for line in stream.splitlines() if line.startswith("data: {")][-1]
            body = last["response"]
        else:
            body = found["response"]
            answer = DIALECT.read_reply(body)
        assert len(answer.reply.items) >= len(body["output"])
        raw = body.get("usage")
        billed = answer.usage and (answer.usage.prompt, answer.usage.output, answer.usage.total)
        assert billed == (raw and (raw["input_tokens"], raw["output_tokens"], raw["total_tokens"]))
        assert answer.stop == (body.get("status") or "")
