"""Gemini generateContent: read, folded, composed and answered, by hand-made bodies and by all recorded ones."""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkers import gemini as checker
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
from yohaku.dialects.gemini import MAX_TEXTS, OPENING, Gemini
from yohaku.dialects.json_values import dig
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive

DIALECT = Gemini()
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "-_-_"}}


class Quarters:
    """Four characters a token, 300 for what is not text."""

    name, exact, frame = "quarters", True, Overhead()

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    def weigh(self, part: Opaque) -> int:
        return 0 if part.hint == "signature" else 300


METER = Quarters()


def call(path: str, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "read", "args": {"path": path, "why": "w"}, **fields}}


def answer(response: Any, **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": "read", "response": response, **fields}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def body() -> dict[str, Any]:
    """Two steps, the first one's results in one content with the next prompt, no ids."""
    return {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "read", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
        "contents": [
            user({"text": "Read a and b."}, IMAGE),
            model(
                {"text": "Hm.", "thought": True},
                {"text": "Both."},
                {"text": "", "thoughtSignature": "c2lh"},
                {**call("a"), "thoughtSignature": "c2ln"},
            ),
            model(call("b")),
            user(answer({"error": "no a"}), answer({"output": "b!"}, parts=[IMAGE]), {"text": "And c?"}),
            model(call("c", id="3")),
            user(answer({"lines": ["c", "d"]}, id="3")),
            model({"text": ""}, {"text": "Done."}),
        ],
    }


def snake(value: Any) -> Any:
    """The same body as another client spells it."""
    if isinstance(value, dict):
        return {re.sub("[A-Z]", lambda m: "_" + m[0].lower(), key): snake(item) for key, item in value.items()}
    return [snake(item) for item in value] if isinstance(value, list) else value


def history(*contents: Any, **fields: Any) -> History:
    return DIALECT.read({"contents": list(contents), **fields}).history()


def recordings(shared: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        yield from (row for row in rows if row["dialect"] == "gemini" and row["status"] == 200)


def folded(view: View, window: int, recipe: str) -> Outcome:
    return drive(plan(view, Budget.of(window), RECIPES[recipe], METER))


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelt", [lambda sent: sent, snake])
def test_a_body_is_read_into_turns_steps_and_uses(spelt: Any) -> None:
    def use(call_id: str, path: str, *parts: Any) -> ToolUse:
        return ToolUse(Call(call_id, "read", json.dumps({"path": path, "why": "w"})), Result(parts))

    image = Opaque("image", "+/+/", "base64", "image/png")
    first = Step(
        (
            Opaque("thought", '{"text":"Hm.","thought":true}'),
            Text("Both."),
            Opaque("thought", '{"text":"","thoughtSignature":"c2lh"}', hint="signature"),
            Opaque("thought", '{"thoughtSignature":"c2ln"}', hint="signature"),
            use("call-1-3", "a", Text("no a")),
            use("call-2-0", "b", Text("b!"), image),
        )
    )
    found = DIALECT.read(spelt(body())).history()
    assert found.system == (Text("Be brief."),)
    assert [tool.name for tool in found.tools] == ["read", "google_search" if spelt is snake else "googleSearch"]
    assert found.turns == (
        Turn((Text("Read a and b."), image), (first,)),
        Turn((Text("And c?"),), (Step((use("3", "c", Text('{"lines":["c","d"]}')),)), Step((Text("Done."),)))),
    )
    assert [each.result.error for each in found.steps[0].uses] == [True, False]


def test_one_object_may_stand_where_a_list_is_wanted() -> None:
    sent = {
        "contents": {"parts": {"text": "Hi"}},
        "system_instruction": {"parts": {"text": "Be brief."}},
        "tools": {"function_declarations": [{"name": "n"}]},
    }
    assert DIALECT.read(sent).history() == History(
        (Text("Be brief."),), (Tool("n", '{"name":"n"}'),), (Turn((Text("Hi"),)),)
    )


def test_results_without_ids_answer_calls_of_their_name_in_order() -> None:
    other = {"functionCall": {"name": "list"}}
    listed = {"functionResponse": {"name": "list", "response": {"result": "l"}}}
    parts = [listed, {"text": "Next?"}, answer({"output": "1"}), answer({"output": "2"}, id="made by the client")]
    found = history(user({"text": "Go"}), model(call("a"), other, call("b")), user(*parts))
    assert [use.result.text for use in found.steps[0].uses] == ["1", "l", "2"]
    assert found.turns[1].prompt == (Text("Next?"),)


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        ({}, []),
        ({"output": ""}, []),
        ({"return_value": "x", "error": None}, ["x"]),
        ({"name": "read", "content": "x"}, ["x"]),
        ({"result": ["x", "y"]}, ["x", "y"]),
        ({"result": ["x"] * (MAX_TEXTS + 1)}, [json.dumps({"result": ["x"] * (MAX_TEXTS + 1)}, separators=(",", ":"))]),
        ({"output": "x", "code": 0}, ['{"output":"x","code":0}']),
        ({"other": "x"}, ['{"other":"x"}']),
    ],
)
def test_the_text_of_a_response_is_found_wherever_clients_put_it(response: Any, texts: list[str]) -> None:
    parts = history(user({"text": "Go"}), model(call("a")), user(answer(response))).steps[0].uses[0].result.parts
    assert [part.text for part in parts if isinstance(part, Text)] == texts


def test_parts_that_are_not_ours_to_read_are_carried_without_their_signature() -> None:
    code = {"executableCode": {"code": "1"}, "thoughtSignature": "c2ln"}
    video = {"fileData": {"fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 1}}
    found = history(user(video), model(code, {"toolCall": {"id": "1"}}))
    assert found.turns[0].prompt == (Opaque("video", "https://youtu.be/x", "url"),)
    assert found.steps[0].items[1:] == (
        Opaque("executableCode", '{"executableCode":{"code":"1"}}'),
        Opaque("toolCall", '{"toolCall":{"id":"1"}}'),
    )


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ([5], "contents[0]: this must be an object, not a number"),
        ([{"role": "system", "parts": []}], "contents[0]: unknown role 'system'"),
        ([{"parts": "x"}], "contents[0]: parts must be a list of objects"),
        ([user({"text": 5})], "contents[0]: text must be a text, not a number"),
        ([user({"inlineData": 5})], "contents[0]: inlineData must be an object, not a number"),
        ([user(call("a"))], "contents[0]: only the model can call a function"),
        ([model(answer({}))], "contents[0]: the model cannot answer a function call"),
        ([model({"functionCall": {"name": "n", "args": "x"}})], "contents[0]: args must be an object, not a text"),
        ([model(call("a")), user(answer("x"))], "contents[1]: response must be an object, not a text"),
        ([user(answer({}))], "contents[0]: this is a result for call 'read', which was never made"),
        ([model(call("a", id="1")), user(answer({}, id="2"))],
         "contents[1]: this is a result for call '2', which was never made"),
        ([model(call("a")), user({"text": "x"})], "contents[0]: call 'call-0-0' has no result"),
        ([model(call("a", id="1"), call("b", id="1"))], "contents[0]: call id '1' is used twice"),
    ],
)  # fmt: skip
def test_what_breaks_the_format_is_said_with_its_place(contents: Any, says: str) -> None:
    with pytest.raises(Malformed) as caught:
        history(*contents)
    assert str(caught.value) == says


# --- folding ---------------------------------------------------------------------------------------------------------


def test_stubs_change_a_leaf_and_keep_signatures() -> None:
    read = DIALECT.read(body()).history()
    prompt, step, later = read.turns[0], read.steps[0], read.steps[1]
    stubs = [
        Stub(prompt.key, Slot("prompt", 1), "[ref=i]", "i", "image", "", 2, 1),
        Stub(step.key, Slot("item", 0), "[ref=t]", "t", "reply", "", 2, 1),
        Stub(step.key, Slot("argument", 1, "path"), "[ref=a]", "a", "argument", "", 2, 1),
        Stub(step.key, Slot("result", 1, 0), "[ref=r]", "r", "result", "", 2, 1),
        Stub(later.key, Slot("result", 0, 0), "[ref=l]", "l", "result", "", 2, 1),
    ]
    expected = body()
    contents = expected["contents"]
    contents[0]["parts"][1] = {"text": "[ref=i]"}
    contents[1]["parts"][1]["text"] = "[ref=t]"
    contents[1]["parts"][3]["functionCall"]["args"]["path"] = "[ref=a]"
    contents[3]["parts"][0]["functionResponse"]["response"]["error"] = "[ref=r]"
    contents[5]["parts"][0]["functionResponse"]["response"] = {"output": "[ref=l]"}
    assert DIALECT.write(body(), View(read).with_(stubs)) == expected


@pytest.mark.parametrize(
    ("response", "answered"),
    [
        ({"return_value": "x"}, {"return_value": ["x", "[ref=j]"]}),
        ({}, {"output": "[ref=j]"}),
        ({"lines": 2}, {"output": ['{"lines":2}', "[ref=j]"]}),
    ],
)
def test_the_stub_of_an_image_in_a_response_joins_its_answer_for_no_text_may_stand_among_media(
    response: Any, answered: Any
) -> None:
    sent = {"contents": [user({"text": "Go"}), model(call("a")), user(answer(response, parts=[IMAGE]))]}
    read = DIALECT.read(sent).history()
    last = len(read.steps[0].uses[0].result.parts) - 1
    stub = Stub(read.steps[0].key, Slot("result", 0, last), "[ref=j]", "j", "image", "", 2, 1)
    view = View(read).with_([stub])
    written = DIALECT.write(sent, view)
    assert written["contents"][2] == user(answer(answered))
    assert DIALECT.read(written).history().turns == view.shown.turns


@pytest.mark.parametrize("cut", ["prompt", "step"])
def test_a_gist_takes_hidden_results_out_of_the_content_of_a_prompt_that_stays(cut: str) -> None:
    read = DIALECT.read(body()).history()
    key = read.turns[1].key if cut == "prompt" else read.steps[0].key
    written = DIALECT.write(body(), View(read).with_([Gist(key, "[ref=g]", "g", "", "", 2, 1)]))
    gist = "[ref=g]\n\n[End of the folded part, ref=g. The user's own message follows:]\n"
    expected = [user({"text": f"{gist}And c?"})]
    if cut == "step":
        stand_in = model({"text": "(What I did for this is in the folded part above, ref=g.)"})
        expected = [user({"text": f"{gist}Read a and b."}, IMAGE), stand_in, user({"text": "And c?"})]
    assert written["contents"] == [*expected, *body()["contents"][4:]]
    assert checker.problems(written) == []


def test_unfolded_it_leaves_as_the_very_object_that_came() -> None:
    sent = body()
    assert DIALECT.write(sent, View(DIALECT.read(sent).history())) is sent
    assert sent == body()


# --- composing -------------------------------------------------------------------------------------------------------


def test_a_composed_body_says_the_same_and_is_lawful() -> None:
    read = DIALECT.read(body()).history()
    composed = DIALECT.compose(read)
    assert DIALECT.read(composed).history() == read
    assert checker.problems(composed) == []
    assert composed["tools"] == body()["tools"]
    first = composed["contents"][1]["parts"][3]
    assert (first["thoughtSignature"], first["functionCall"]["id"]) == ("c2ln", "call-1-3")


def test_where_the_model_spoke_first_a_constant_opens_and_is_passed_over() -> None:
    said = history_of([Turn((), (Step((Text("Hello."),)),)), Turn((Text("Hi"),))])
    composed = DIALECT.compose(said)
    assert composed["contents"][0] == user({"text": OPENING})
    assert DIALECT.read(composed).history() == said


def test_thoughts_of_other_dialects_and_open_replies_are_left_out() -> None:
    foreign = Opaque("thought", '{"type":"thinking","thinking":"hm"}')
    turns = [Turn((Text("Hi"),), (Step((foreign, Text("Ho"))),)), Turn((Text("Go"), Opaque("file", '{"type":"file"}')))]
    said = history_of(turns, pending=Reply((Call("1", "read", "{}"),)))
    assert DIALECT.compose(said)["contents"] == [
        user({"text": "Hi"}),
        model({"text": "Ho"}),
        user({"text": "Go"}, {"text": "[file]"}),
    ]


def test_results_of_several_parts_are_written_and_read_again() -> None:
    image = Opaque("image", "AAAA", "base64", "image/png")
    result = Result((Text("a"), Text("b"), image), error=True)
    said = history_of([Turn((Text("Hi"),), (Step((ToolUse(Call("1", "n", "{}"), result),)),))])
    composed = DIALECT.compose(said)
    assert DIALECT.read(composed).history() == said
    assert composed["contents"][2]["parts"][0]["functionResponse"]["response"] == {"error": ["a", "b"]}


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "n", "description": "d", "parameters": {"type": "object"}}},
        {"type": "function", "name": "n", "description": "d", "parameters": {"type": "object"}},
        {"name": "n", "description": "d", "input_schema": {"type": "object"}},
    ],
)
def test_tools_of_other_dialects_are_translated(definition: Any) -> None:
    tools = (Tool("n", json.dumps(definition)), Tool("", '{"type":"web_search"}'))
    declared = {"name": "n", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {}}}
    assert DIALECT.compose(History(tools=tools))["tools"] == [{"functionDeclarations": [declared]}]


# --- replies ---------------------------------------------------------------------------------------------------------


def chunk(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": model(*parts), **fields}], "responseId": "r"}


BILLED = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
          "toolUsePromptTokenCount": 5}  # fmt: skip
CHUNKS = [
    chunk({"text": "H", "thought": True}),
    chunk({"text": "m.", "thought": True}),
    {**chunk({"text": "He"}), "usageMetadata": {"promptTokenCount": 10}},
    chunk({"text": "y"}),
    chunk({"text": "", "thoughtSignature": "c2ln"}, call("a"), call("b", id="x")),
    {**chunk(finishReason="STOP"), "usageMetadata": BILLED},
]


@pytest.mark.parametrize("form", ["events", "array", "torn array"])
def test_a_stream_says_what_the_whole_reply_says(form: str) -> None:
    stream = "\r\n\r\n".join(f"data: {json.dumps(each)}" for each in CHUNKS)
    if form != "events":
        stream = json.dumps(CHUNKS, indent=1) if form == "array" else json.dumps(CHUNKS)[:-1] + ', {"candi'
    parts = [{"text": "Hm.", "thought": True}, {"text": "Hey"}, *CHUNKS[4]["candidates"][0]["content"]["parts"]]
    whole = DIALECT.read_reply({**chunk(*parts, finishReason="STOP"), "usageMetadata": BILLED})
    assert DIALECT.read_stream(stream) == whole
    assert (whole.usage, whole.stop) == (Usage(11, 4, 0, 5), "STOP")
    assert [each.id for each in whole.reply.calls] == ["call-r-3", "x"]


def test_a_blocked_prompt_says_why() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"trafficType": "ON_DEMAND"}}
    answered = DIALECT.read_reply(blocked)
    assert (answered.reply.items, answered.usage, answered.stop) == ((), None, "SAFETY")


# --- nonsense --------------------------------------------------------------------------------------------------------

KEYS = ("role", "parts", "text", "thought", "thoughtSignature", "functionCall", "function_call", "functionResponse",
        "response", "id", "name", "args", "output", "inlineData", "fileData", "fileUri", "mimeType", "data", "tools",
        "systemInstruction", "contents", "functionDeclarations", "candidates", "content", "usageMetadata",
        "promptTokenCount", "finishReason", "promptFeedback")  # fmt: skip
WORDS = ("user", "model", "function", "read", "call-1-0", "", "image/png", "STOP")
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
        key: Any = draw(st.sampled_from(("contents", "contents", "contents", "systemInstruction", "tools")))
        while holder[key] and isinstance(holder[key], dict | list) and draw(st.integers(0, 5)):
            holder = holder[key]
            key = draw(st.sampled_from(range(len(holder)) if isinstance(holder, list) else sorted(holder)))
        holder[key] = draw(JSON)
    return sent


@given(near_misses() | JSON.map(lambda value: {"contents": value}) | st.lists(JSON, max_size=4))
def test_a_body_is_read_or_refused(sent: Any) -> None:
    try:
        read = DIALECT.read(sent).history()
    except YohakuError:
        return
    if read.turns:
        DIALECT.read(DIALECT.compose(read)).history()


def test_a_function_without_a_name_is_refused() -> None:
    with pytest.raises(Malformed, match="name of a function"):
        history(user({"text": "hi"}), tools=[{"functionDeclarations": [{"description": "nameless"}]}])


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.lists(st.sampled_from(CHUNKS) | JSON, max_size=6))
def test_a_reply_is_read_or_refused(reply: Any, stream: list[Any]) -> None:
    with suppress(YohakuError):
        DIALECT.read_reply(reply)
    for sent in ("\n\n".join(f"data: {json.dumps(event)}" for event in stream), json.dumps(stream)):
        with suppress(YohakuError):
            DIALECT.read_stream(sent)


# --- recordings ------------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_recorded_requests_are_read_and_leave_untouched(shared: Path) -> None:
    seen = 0
    for row in recordings(shared):
        sent = row["request"]
        read = DIALECT.read(sent).history()
        assert DIALECT.write(sent, View(read)) is sent
        if read.turns:
            assert DIALECT.read(DIALECT.compose(read)).history() == read
            assert checker.problems(DIALECT.compose(read)) == []
        seen += 1
    assert seen == 206


@pytest.mark.shared
def test_every_place_leads_to_what_was_said(shared: Path) -> None:
    for row in recordings(shared):
        entries = row["request"]["contents"]
        read = DIALECT.read(row["request"]).history()
        items = [item for step in read.steps for item in step.items]
        uses = [item for item in items if isinstance(item, ToolUse)]
        parts = [item for item in items if not isinstance(item, ToolUse)]
        parts += [part for turn in read.turns for part in turn.prompt] + [part for u in uses for part in u.result.parts]
        for part in parts:
            there = dig(entries, part.at)
            if isinstance(part, Text):
                assert there == part.text or there == json.loads(part.text)
            else:
                assert isinstance(there, str if part.hint == "signature" else dict)
        for each in uses:
            assert dig(entries, each.call.at) == json.loads(each.call.arguments)
            part = dig(entries, each.result.at)
            assert (part.get("functionResponse") or part["function_response"])["id"] == each.call.id


@pytest.mark.shared
def test_recorded_replies_are_read_with_what_they_cost(shared: Path) -> None:
    seen = 0
    for row in recordings(shared):
        answered = DIALECT.read_reply(row["response"]) if row.get("response") else DIALECT.read_stream(row["stream"])
        billed = (row.get("response") or _last(row["stream"]))["usageMetadata"]
        if "totalTokenCount" not in billed:
            assert answered.usage is None
            continue
        assert answered.usage
        assert answered.usage.total == billed["totalTokenCount"]
        assert answered.usage.cache_read == billed.get("cachedContentTokenCount", 0)
        assert answered.usage.output == billed.get("candidatesTokenCount", 0) + billed.get("thoughtsTokenCount", 0)
        assert answered.reply.items or answered.stop != "STOP"
        seen += 1
    assert seen == 205


def _last(stream: str) -> dict[str, Any]:
    text = stream.strip() if stream.startswith("{") else stream.strip().split("data: ")[-1]
    found: dict[str, Any] = json.loads(text)
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
        if not read.turns:
            continue
        weight = weigh(read, METER)
        outcome = folded(View(read), int((weight.fixed + weight.turns * share) * 8 / 7), recipe)
        written = DIALECT.write(sent, outcome.view)
        assert checker.problems(written) == []
        assert checker.intact(sent, written) == []
        assert 0 <= outcome.after.total - weigh(DIALECT.read(written).history(), METER).total <= spare(outcome)
        changed += written is not sent
    assert changed > 30
