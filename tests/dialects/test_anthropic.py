"""Anthropic Messages: read, folded, composed and answered, by hand-made bodies and by all recorded ones."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkers import anthropic as checker
from tests.dialects.wire import spare

from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import Malformed, YohakuError
from yohaku.core.folds import Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.meter import Overhead
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Usage
from yohaku.dialects.anthropic import MAX_TOKENS, OPENING, Anthropic
from yohaku.dialects.json_values import RAW, dig
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive

DIALECT = Anthropic()
MARK = {"type": "ephemeral"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
BOTH = {"type": "text", "text": "Both."}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


class Quarters:
    """Four characters a token, 300 for what is not text."""

    name, exact, frame = "quarters", True, Overhead()

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    def weigh(self, part: Opaque) -> int:
        return 300


METER = Quarters()


def body() -> dict[str, Any]:
    """Two steps, the second reply's results in one message with the next prompt."""
    return {
        "model": "claude",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Read a and b."}, {**IMAGE, "cache_control": MARK}]},
            {"role": "assistant", "content": [THOUGHT, BOTH, use("1", "a"), use("2", "b")]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "b!"}, IMAGE]},
                {"type": "tool_result", "tool_use_id": "1", "content": "no a", "is_error": True},
                {"type": "text", "text": "And c?", "cache_control": MARK},
            ]},
            {"role": "assistant", "content": [use("3", "c")]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "3"}]},
            {"role": "system", "content": "Two tokens left."},
            {"role": "assistant", "content": "Done."},
        ],
    }  # fmt: skip


def use(call_id: str, path: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {"path": path, "why": "w"}}


def history(messages: Any, **fields: Any) -> History:
    return DIALECT.read({"messages": messages, **fields}).history()


def recordings(shared: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        yield from (row for row in rows if row["dialect"] == "anthropic" and row["status"] == 200)


def folded(view: View, window: int, recipe: str) -> Outcome:
    return drive(plan(view, Budget.of(window), RECIPES[recipe], METER))


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_body_is_read_into_turns_steps_and_uses() -> None:
    image = Opaque("image", "AAAA", "base64", "image/png")
    calls = [Call(str(n), "read", json.dumps({"path": path, "why": "w"})) for n, path in enumerate("abc", 1)]
    thought = Opaque("thought", json.dumps(THOUGHT, separators=(",", ":")))
    uses = ToolUse(calls[0], Result((Text("no a"),))), ToolUse(calls[1], Result((Text("b!"), image)))
    first = Step((thought, Text("Both."), *uses))
    found = DIALECT.read(body()).history()
    assert found.system == (Text("Be brief."),)
    assert found.tools == (Tool("read", '{"name":"read","description":"Reads.","input_schema":{"type":"object"}}'),)
    assert found.turns == (
        Turn((Text("Read a and b."), image), (first,)),
        Turn((Text("And c?"),), (Step((ToolUse(calls[2], Result()),)),)),
        Turn((Text("Two tokens left."),), (Step((Text("Done."),)),)),
    )
    assert found.turns[0].steps[0].uses[0].result.error
    assert [part.by for part in found.turns[2].prompt if isinstance(part, Text)] == ["system"]


def test_an_entry_by_the_system_before_anyone_spoke_belongs_to_the_system_prompt() -> None:
    assert history([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]) == History(
        (Text("Be brief."),), (), (Turn((Text("Hi"),)),)
    )


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "web_search_tool_result", "tool_addition", "new"])
def test_blocks_that_are_not_ours_to_read_are_carried(kind: str) -> None:
    block = {"type": kind, "id": "x", "content": [{"type": "text", "text": "t", "cache_control": MARK}]}
    plain = {"type": kind, "id": "x", "content": [{"type": "text", "text": "t"}]}
    step = history([{"role": "assistant", "content": [{**block, "cache_control": MARK}]}]).steps[0]
    assert step == Step((Opaque(kind, json.dumps(plain, separators=(",", ":"))),))


def test_documents_are_carried_whatever_their_source() -> None:
    sources: list[Any] = [
        {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
        {"type": "url", "url": "https://x/y.pdf"},
        {"type": "text", "media_type": "text/plain", "data": "Long."},
        {"type": "content", "content": [{"type": "text", "text": "Long."}]},
        {"type": "file", "file_id": "f"},
    ]
    blocks = [{"type": "document", "source": source} for source in sources]
    prompt = history([{"role": "user", "content": blocks}]).turns[0].prompt
    assert [(part.kind, part.form, part.mime) for part in prompt if isinstance(part, Opaque)] == [
        ("document", "base64", "application/pdf"),
        ("document", "url", ""),
        ("document", "json", "text/plain"),
        ("document", "json", ""),
        ("document", "json", ""),
    ]


def test_neighbouring_messages_of_the_model_are_one_reply() -> None:
    found = history(
        [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [use("1", "a")]},
            {"role": "assistant", "content": [use("2", "b")]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": n, "content": n} for n in "12"]},
        ]
    )
    assert [len(step.uses) for step in found.steps] == [2]


def test_cache_marks_do_not_change_a_key() -> None:
    marked, plain = body(), json.loads(json.dumps(body()).replace(f', "cache_control": {json.dumps(MARK)}', ""))
    assert marked != plain
    keys = [[turn.key for turn in DIALECT.read(each).history().turns] for each in (marked, plain)]
    assert keys[0] == keys[1]


USER = {"role": "user", "content": "Hi"}
CALL: dict[str, Any] = {"role": "assistant", "content": [use("1", "a")]}
ANSWER: dict[str, Any] = {"type": "tool_result", "tool_use_id": "1", "content": "x"}


def by_user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([5], "messages[0]: this must be an object, not a number"),
        ([{"role": "tool", "content": "x"}], "messages[0]: unknown role 'tool'"),
        ([{"role": "user", "content": 5}], "messages[0]: content, where it is not a text, must be a list of objects"),
        ([{"role": "user", "content": [{"text": "x"}]}], "messages[0]: a block of content needs a type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0]: text must be a text, not nothing"),
        ([by_user(ANSWER)], "messages[0]: this is a result for call '1', which was never made"),
        ([USER, CALL, by_user(ANSWER, ANSWER)], "messages[2]: this is a result for call '1', which has two results"),
        ([USER, CALL, USER], "messages[1]: call '1' has no result"),
        ([USER, CALL, by_user({"type": "text", "text": "x"}, ANSWER)], "messages[1]: call '1' has no result"),
        ([USER, {**CALL, "content": [use("1", "a"), use("1", "b")]}], "messages[1]: call id '1' is used twice"),
        ([{**CALL, "content": [{**use("1", "a"), "input": ""}]}],
         "messages[0]: the input of a tool_use must be an object"),
    ],
)  # fmt: skip
def test_what_breaks_the_format_is_said_with_its_place(messages: Any, says: str) -> None:
    with pytest.raises(Malformed) as caught:
        history(messages)
    assert str(caught.value) == says


# --- folding ---------------------------------------------------------------------------------------------------------


def test_stubs_change_a_leaf_and_keep_marks() -> None:
    read = DIALECT.read(body()).history()
    first, step = read.turns[0], read.steps[0]
    stubs = [
        Stub(first.key, Slot("prompt", 1), "[ref=i]", "i", "image", "", 2, 1),
        Stub(step.key, Slot("item", 0), "[ref=t]", "t", "reply", "", 2, 1),
        Stub(step.key, Slot("argument", 1, "path"), "[ref=a]", "a", "argument", "", 2, 1),
        Stub(step.key, Slot("result", 1, 0), "[ref=r]", "r", "result", "", 2, 1),
        Stub(step.key, Slot("result", 2, 1), "[ref=j]", "j", "image", "", 2, 1),
    ]
    expected = body()
    messages = expected["messages"]
    messages[0]["content"][1] = {"type": "text", "text": "[ref=i]", "cache_control": MARK}
    messages[1]["content"][1]["text"] = "[ref=t]"
    messages[1]["content"][2]["input"]["path"] = "[ref=a]"
    messages[2]["content"][1]["content"] = "[ref=r]"
    messages[2]["content"][0]["content"][1] = {"type": "text", "text": "[ref=j]"}
    assert DIALECT.write(body(), View(read).with_(stubs)) == expected


@pytest.mark.parametrize("cut", ["prompt", "step"])
def test_a_gist_takes_hidden_results_out_of_the_message_of_a_prompt_that_stays(cut: str) -> None:
    read = DIALECT.read(body()).history()
    key = read.turns[1].key if cut == "prompt" else read.steps[0].key
    written = DIALECT.write(body(), View(read).with_([Gist(key, "[ref=g]", "g", "", "", 2, 1)]))
    closing = "\n\n[End of the folded part, ref=g. The user's own message follows:]\n"
    asked = {"role": "user", "content": [{"type": "text", "text": "And c?", "cache_control": MARK}]}
    if cut == "prompt":
        asked["content"][0]["text"] = f"[ref=g]{closing}And c?"
        expected = [asked]
    else:
        first = body()["messages"][0]
        first["content"][0]["text"] = f"[ref=g]{closing}{first['content'][0]['text']}"
        stand_in = {"role": "assistant", "content": "(What I did for this is in the folded part above, ref=g.)"}
        expected = [first, stand_in, asked]
    assert written["messages"] == [*expected, *body()["messages"][3:]]
    assert checker.problems(written) == []


def test_unfolded_it_leaves_as_the_very_object_that_came() -> None:
    sent = body()
    assert DIALECT.write(sent, View(DIALECT.read(sent).history())) is sent
    assert sent == body()


# --- composing -------------------------------------------------------------------------------------------------------


def test_a_composed_body_says_the_same_and_is_lawful() -> None:
    read = DIALECT.read(body()).history()
    composed = DIALECT.compose(read, "claude")
    assert DIALECT.read(composed).history() == read
    assert checker.problems(composed) == []
    assert composed["max_tokens"] == MAX_TOKENS
    assert [message["role"] for message in composed["messages"]] == ["user", "assistant"] * 3
    assert [block["type"] for block in composed["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]


def test_where_the_model_spoke_first_a_constant_opens_and_is_passed_over() -> None:
    said = history_of([Turn((), (Step((Text("Hello."),)),)), Turn((Text("Hi"),))])
    composed = DIALECT.compose(said)
    assert composed["messages"][0] == {"role": "user", "content": OPENING}
    assert DIALECT.read(composed).history() == said


def test_what_the_api_refuses_is_left_out() -> None:
    foreign, ours = Opaque("thought", '"hm"'), Opaque("thought", json.dumps(THOUGHT))
    turns = [Turn((Text(" \n"), Text("Hi")), (Step((foreign, Text("\n"), Text("Ho"), ours)),)), Turn((Text("Go"),))]
    said = history_of(turns, pending=Reply((Call("1", "read", "{}"),)))
    assert [message["content"] for message in DIALECT.compose(said)["messages"]] == ["Hi", "Ho", "Go"]
    ends = history_of([Turn((Text("Hi "),), (Step((Text("Ho \n"),)),))])
    assert [message["content"] for message in DIALECT.compose(ends)["messages"]] == ["Hi ", "Ho"]


def test_ids_and_arguments_of_other_dialects_are_made_lawful() -> None:
    said = history_of(
        [Turn((Text("Hi"),), (Step((ToolUse(Call("function:1", "n", "not json"), Result((Text("x"),))),)),))]
    )
    composed = DIALECT.compose(said)
    assert checker.problems(composed) == []
    assert composed["messages"][1]["content"][0]["input"] == {RAW: "not json"}
    assert DIALECT.read(composed).history().steps[0].uses[0].call.arguments == "not json"


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "n", "description": "d", "parameters": {"type": "object"}}},
        {"type": "function", "name": "n", "description": "d", "parameters": {"type": "object"}},
        {"name": "n", "description": "d", "parameters": {"type": "OBJECT"}},
        {"name": "n", "description": "d", "parametersJsonSchema": {"type": "object"}},
    ],
)
def test_tools_of_other_dialects_are_translated(definition: Any) -> None:
    hosted = Tool("search", '{"googleSearch":{}}'), Tool("", '{"type":"web_search"}')
    tools = (Tool("n", json.dumps(definition)), *hosted)
    assert DIALECT.compose(History(tools=tools))["tools"] == [
        {"name": "n", "description": "d", "input_schema": {"type": "object", "properties": {}}}
    ]


def test_tools_the_provider_runs_are_kept() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"type": "mcp_toolset", "mcp_server_name": "x"}]
    assert DIALECT.compose(history([{"role": "user", "content": "hi"}], tools=tools))["tools"] == tools


# --- replies ---------------------------------------------------------------------------------------------------------

BILLED = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1}
EVENTS: list[Any] = [
    {"type": "message_start", "message": {"usage": BILLED}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "H"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "He"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "y"}},
    {"type": "content_block_start", "index": 2, "content_block": {**use("1", "a"), "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
    {"type": "content_block_start", "index": 3, "content_block": {**use("2", "a"), "input": {}}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9, "iterations": None}},
]  # fmt: skip


def test_a_stream_says_what_the_whole_reply_says() -> None:
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
    calls = [{**use("1", ""), "input": {"a": 1}}, {**use("2", ""), "input": {}}]
    content = [THOUGHT, {"type": "text", "text": "Hey"}, *calls]
    whole = {"content": content, "stop_reason": "tool_use", "usage": {**BILLED, "output_tokens": 9}}
    answer = DIALECT.read_stream(stream)
    assert answer == DIALECT.read_reply(whole)
    assert (answer.usage, answer.stop) == (Usage(5, 7, 0, 9), "tool_use")
    assert [call.id for call in answer.reply.calls] == ["1", "2"]


def test_rounds_of_the_server_are_summed() -> None:
    rounds = [BILLED, {"input_tokens": 7, "output_tokens": 2, "cache_creation_input_tokens": 3}]
    assert DIALECT.read_reply({"content": [], "usage": {**BILLED, "iterations": rounds}}).usage == Usage(12, 7, 3, 3)


# --- nonsense --------------------------------------------------------------------------------------------------------

KEYS = ("role", "content", "type", "text", "id", "name", "input", "tool_use_id", "source", "data", "url", "thinking",
        "system", "tools", "messages", "usage", "iterations", "input_tokens", "delta", "index", "content_block",
        "message", "partial_json", "citation", "cache_control")  # fmt: skip
WORDS = ("user", "assistant", "system", "text", "tool_use", "tool_result", "thinking", "image", "document", "base64",
         "url", "1", "", "content_block_start", "content_block_delta", "message_delta", "message_start")  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.just(0.5) | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


@st.composite
def near_misses(draw: st.DrawFn) -> Any:
    """A sound body with up to three of its values replaced by anything."""
    sent = copy.deepcopy(body())
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = sent
        key: Any = draw(st.sampled_from(("messages", "messages", "messages", "system", "tools")))
        while holder[key] and isinstance(holder[key], dict | list) and draw(st.integers(0, 5)):
            holder = holder[key]
            key = draw(st.sampled_from(range(len(holder)) if isinstance(holder, list) else sorted(holder)))
        holder[key] = draw(JSON)
    return sent


@given(near_misses() | JSON.map(lambda value: {"messages": value}) | st.lists(JSON, max_size=4))
def test_a_body_is_read_or_refused(sent: Any) -> None:
    try:
        read = DIALECT.read(sent).history()
    except YohakuError:
        return
    if read.turns:  # else nothing was said, and there is nothing to send
        DIALECT.read(DIALECT.compose(read)).history()


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.lists(st.sampled_from(EVENTS) | JSON, max_size=6))
def test_a_reply_is_read_or_refused(reply: Any, stream: list[Any]) -> None:
    with suppress(YohakuError):
        DIALECT.read_reply(reply)
    with suppress(YohakuError):
        DIALECT.read_stream("\n\n".join(f"data: {json.dumps(event)}" for event in stream))


# --- recordings ------------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_recorded_requests_are_read_and_leave_untouched(shared: Path) -> None:
    seen = 0
    for row in recordings(shared):
        sent = row["request"]
        read = DIALECT.read(sent).history()
        assert DIALECT.write(sent, View(read)) is sent
        assert DIALECT.read(DIALECT.compose(read)).history() == read
        assert checker.problems(DIALECT.compose(read)) == []
        seen += 1
    assert seen == 175


@pytest.mark.shared
def test_every_place_leads_to_what_was_said(shared: Path) -> None:
    for row in recordings(shared):
        entries = row["request"]["messages"]
        read = DIALECT.read(row["request"]).history()
        items = [item for step in read.steps for item in step.items]
        uses = [item for item in items if isinstance(item, ToolUse)]
        parts = [item for item in items if not isinstance(item, ToolUse)]
        parts += [part for turn in read.turns for part in turn.prompt] + [part for u in uses for part in u.result.parts]
        for part in parts:
            there = dig(entries, part.at)
            assert there == part.text if isinstance(part, Text) else there["type"]
        for each in uses:
            assert dig(entries, each.call.at) == json.loads(each.call.arguments)
            assert dig(entries, each.result.at)["tool_use_id"] == each.call.id


@pytest.mark.shared
def test_recorded_replies_are_read_with_what_they_cost(shared: Path) -> None:
    seen = 0
    for row in recordings(shared):
        answer = DIALECT.read_reply(row["response"]) if row.get("response") else DIALECT.read_stream(row["stream"])
        raw = row.get("response") or {"content": [], "usage": _billed(row["stream"])}
        rounds = raw["usage"].get("iterations") or [raw["usage"]]
        fields = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        assert answer.usage == Usage(*(sum(each[field] for each in rounds) for field in fields))
        assert answer.reply.items
        if row.get("response"):
            assert len(answer.reply.calls) == sum(block["type"] == "tool_use" for block in raw["content"])
        assert bool(answer.reply.calls) == (answer.stop == "tool_use")
        seen += 1
    assert seen == 175


def _billed(stream: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in stream.splitlines():
        event = json.loads(line[5:]) if line.startswith("data:") else {}
        found |= event.get("message", event).get("usage") or {}
    return found


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_recorded_requests_stay_lawful_when_folded(shared: Path, recipe: str, share: float) -> None:
    changed = 0
    for row in recordings(shared):
        sent = row["request"]
        read = DIALECT.read(sent).history()
        weight = weigh(read, METER)
        outcome = folded(View(read), int((weight.fixed + weight.turns * share) * 8 / 7), recipe)
        written = DIALECT.write(sent, outcome.view)
        assert checker.problems(written) == []
        assert checker.intact(sent, written) == []
        assert 0 <= outcome.after.total - weigh(DIALECT.read(written).history(), METER).total <= spare(outcome)
        changed += written is not sent
    assert changed > 30
