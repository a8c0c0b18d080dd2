"""The judges are judged: what real providers took must pass, and each way of breaking a request must be seen."""

import copy
import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checkers import DIALECTS, count, trajectory

Body = Any


def recordings(shared: Path) -> list[dict[str, Any]]:
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# --- lawful conversations, one per dialect ---------------------------------------------------------------------------


def chat() -> Body:
    def call(n: str) -> dict[str, Any]:
        arguments = json.dumps({"path": f"{n}.py", "text": "x = 1\n" * 50})
        return {"id": n, "type": "function", "function": {"name": "write", "arguments": arguments}}

    return {
        "model": "gpt-4o",
        "seed": 1,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image("image_url")]},
            {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "a", "content": "wrote a"},
            {"role": "tool", "tool_call_id": "b", "content": "wrote b"},
            {"role": "assistant", "content": "Both written."},
            {"role": "user", "content": "Thanks, now c."},
            {"role": "assistant", "content": "Here.", "tool_calls": [call("c")]},
            {"role": "tool", "tool_call_id": "c", "content": "wrote c"},
        ],
    }


def image(kind: str) -> dict[str, Any]:
    return {"type": kind, kind: {"url": "data:image/png;base64,AAAA"}}


def claude() -> Body:
    def use(n: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": n, "name": "write", "input": {"path": n, "text": "x"}}

    def result(n: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": n, "content": [{"type": "text", "text": f"wrote {n}"}]}

    mark = {"type": "ephemeral"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": "Write a and b."},
            {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}, use("a"), use("b")]},
            {"role": "user", "content": [result("a"), result("b"),
                                         {"type": "text", "text": "And c.", "cache_control": mark}]},
            {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                                              {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                                              {"type": "text", "text": "Done."}]},
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]},
            {"role": "system", "content": "Only Japanese."},
            {"role": "assistant", "content": [thought, use("c")]},
            {"role": "user", "content": [result("c")]},
        ],
    }  # fmt: skip


def gemini() -> Body:
    def call(n: str) -> dict[str, Any]:
        return {
            "functionCall": {"name": f"write_{n}", "args": {"path": n, "text": "x"}, "id": n},
            "thoughtSignature": "c2ln",
        }

    def response(n: str) -> dict[str, Any]:
        return {"functionResponse": {"name": f"write_{n}", "response": {"output": f"wrote {n}"}, "id": n}}

    return {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Write a and b."},
                                       {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, call("a")]},
            {"role": "model", "parts": [call("b")]},
            {"role": "user", "parts": [response("a"), response("b")]},
            {"role": "user", "parts": [{"text": "And c."}]},
            {"role": "model", "parts": [{"function_call": {"name": "write_c", "args": {}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "write_c", "response": {"result": "wrote c"}}}]},
        ],
    }  # fmt: skip


def responses() -> Body:
    def call(n: str) -> dict[str, Any]:
        arguments = '{"path":"p","text":"x"}'
        return {"type": "function_call", "id": f"fc_{n}", "call_id": n, "name": "write", "arguments": arguments}

    def output(n: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": n, "output": f"wrote {n}"}

    def thought(n: str) -> dict[str, Any]:
        return {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "sealed"}

    said = {"type": "output_text", "text": "Done.", "annotations": []}
    found = {"type": "tool_search_output", "call_id": "ts", "execution": "client", "tools": []}
    return {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Write a and b."},
                                         {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
            thought("1"), call("a"), call("b"), output("a"), output("b"),
            thought("2"), {"type": "message", "role": "assistant", "id": "msg_1", "content": [said]},
            {"role": "user", "content": "And c."},
            {"type": "tool_search_call", "call_id": "ts", "execution": "client", "arguments": {}}, found,
            thought("3"), call("c"), output("c"),
        ],
    }  # fmt: skip


def ollama() -> Body:
    def call(name: str) -> dict[str, Any]:
        return {"function": {"name": name, "arguments": {"path": name, "text": "x"}}}

    return {
        "model": "qwen3",
        "options": {"num_ctx": 8192},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Write a and b.", "images": ["AAAA"]},
            {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_name": "a", "content": "wrote a"},
            {"role": "tool", "tool_name": "b", "content": "wrote b"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ],
    }


SOUND = {"openai_chat": chat, "anthropic": claude, "gemini": gemini, "openai_responses": responses, "ollama": ollama}
ITEMS = {"gemini": "contents", "openai_responses": "input"}


def items(dialect: str, body: Body) -> list[Any]:
    found: list[Any] = body[ITEMS.get(dialect, "messages")]
    return found


def put(dialect: str, *path: Any) -> Any:
    """The sound body with the value at the path replaced by the last argument, or removed when that is `GONE`."""
    *way, key, value = path
    body = SOUND[dialect]()
    at: Any = items(dialect, body)
    for step in way:
        at = at[step]
    if value is GONE:
        del at[key]
    elif isinstance(value, Insert):
        at.insert(key, value.what)
    else:
        at[key] = value
    return body


class Insert:
    def __init__(self, what: Any) -> None:
        self.what = what


GONE = object()
in_chat, in_claude = partial(put, "openai_chat"), partial(put, "anthropic")
in_gemini, in_responses, in_ollama = partial(put, "gemini"), partial(put, "openai_responses"), partial(put, "ollama")
USER = {"role": "user", "content": "hm"}
REPLY = {"role": "assistant", "content": "hm"}


@pytest.mark.parametrize("dialect", SOUND)
def test_sound_bodies_and_their_bare_lists_pass(dialect: str) -> None:
    body = SOUND[dialect]()
    assert DIALECTS[dialect].problems(body) == []
    assert DIALECTS[dialect].problems(items(dialect, body)) == []
    assert DIALECTS[dialect].intact(body, copy.deepcopy(body)) == []


# --- one broken body per rule ----------------------------------------------------------------------------------------

BROKEN: dict[str, dict[str, Callable[[], Body]]] = {
    "openai_chat": {
        "no messages": lambda: {"messages": []},
        "unknown role": lambda: in_chat(0, "role", "bot"),
        "call without result": lambda: in_chat(4, GONE),
        "call without result at the end": lambda: in_chat(8, GONE),
        "result without call": lambda: in_chat(2, GONE),
        "result twice": lambda: in_chat(4, "tool_call_id", "a"),
        "message between results": lambda: in_chat(4, Insert(USER)),
        "message between call and result": lambda: in_chat(8, Insert(REPLY)),
        "result far from its call": lambda: in_chat(7, Insert({"role": "tool", "tool_call_id": "c", "content": "x"})),
        "ids twice in a batch": lambda: in_chat(2, "tool_calls", 1, "id", "a"),
        "arguments not a string": lambda: in_chat(7, "tool_calls", 0, "function", "arguments", {}),
        "arguments cut": lambda: in_chat(7, "tool_calls", 0, "function", "arguments", '{"path": "c'),
        "arguments no object": lambda: in_chat(7, "tool_calls", 0, "function", "arguments", '"c"'),
        "call without name": lambda: in_chat(7, "tool_calls", 0, "function", "name", GONE),
        "call without type": lambda: in_chat(7, "tool_calls", 0, "type", GONE),
        "calls of a user": lambda: in_chat(6, "tool_calls", chat()["messages"][7]["tool_calls"]),
        "no calls left in the list": lambda: in_chat(5, "tool_calls", []),
        "user without content": lambda: in_chat(6, "content", None),
        "reply with nothing": lambda: in_chat(5, "content", None),
        "empty content list": lambda: in_chat(1, "content", []),
        "content object": lambda: in_chat(6, "content", {"text": "hi"}),
        "unknown part": lambda: in_chat(1, "content", 0, "type", "input_text"),
        "image in a reply": lambda: in_chat(5, "content", [image("image_url")]),
        "text part without text": lambda: in_chat(1, "content", 0, "text", None),
    },
    "anthropic": {
        "no messages": lambda: {"messages": []},
        "unknown role": lambda: in_claude(0, "role", "tool"),
        "call without result": lambda: in_claude(2, "content", 1, GONE),
        "call without result at the end": lambda: in_claude(7, GONE),
        "result without call": lambda: in_claude(1, "content", 3, GONE),
        "orphaned results first": lambda: claude()["messages"][2:],
        "result twice": lambda: in_claude(2, "content", 0, Insert(claude()["messages"][2]["content"][0])),
        "text before results": lambda: in_claude(2, "content", 0, Insert({"type": "text", "text": "first"})),
        "reply between call and result": lambda: in_claude(7, Insert({"role": "system", "content": "x"})),
        "result too early": lambda: in_claude(4, "content", 0, Insert(claude()["messages"][7]["content"][0])),
        "ids twice in a batch": lambda: in_claude(1, "content", 3, "id", "a"),
        "unlawful id": lambda: in_claude(1, "content", 2, "id", "a b"),
        "input not an object": lambda: in_claude(1, "content", 2, "input", "{}"),
        "empty text": lambda: in_claude(1, "content", 1, "text", ""),
        "blank text": lambda: in_claude(1, "content", 1, "text", " \n"),
        "blank message": lambda: in_claude(0, "content", "  "),
        "empty message": lambda: in_claude(0, "content", ""),
        "empty list": lambda: in_claude(4, "content", []),
        "empty text in a result": lambda: in_claude(2, "content", 0, "content", 0, "text", ""),
        "result of a number": lambda: in_claude(2, "content", 0, "content", 3),
        "thought without signature": lambda: in_claude(1, "content", 0, "signature", GONE),
        "thought at the end": lambda: in_claude(3, "content", 2, claude()["messages"][1]["content"][0]),
        "open tool loop without thought": lambda: in_claude(6, "content", 0, GONE),
        "served result without its call": lambda: in_claude(3, "content", 0, GONE),
        "call in a user message": lambda: in_claude(4, "content", 0, Insert(claude()["messages"][6]["content"][1])),
        "unknown block": lambda: in_claude(4, "content", 0, "type", "image_url"),
        "image without source": lambda: in_claude(4, "content", 0, "source", GONE),
        "five cache marks": lambda: in_claude(7, Insert({"role": "user", "content": [
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 3})),
        "blank system": lambda: {**claude(), "system": [{"type": "text", "text": " "}]},
        "system first": lambda: in_claude(0, Insert({"role": "system", "content": "x"})),
        "user after system": lambda: in_claude(6, Insert(USER)),
        "two systems": lambda: in_claude(6, Insert({"role": "system", "content": "x"})),
        "final reply ends blank": lambda: in_claude(8, Insert({"role": "assistant", "content": "So: "})),
    },
    "gemini": {
        "no contents": lambda: {"contents": []},
        "unknown role": lambda: in_gemini(0, "role", "system"),
        "model first": lambda: gemini()["contents"][1:],
        "no parts": lambda: in_gemini(0, "parts", []),
        "empty part": lambda: in_gemini(0, "parts", 0, {}),
        "part with two kinds of data": lambda: in_gemini(0, "parts", 1, "text", "also"),
        "call without response": lambda: in_gemini(3, "parts", 1, GONE),
        "call without response at the end": lambda: in_gemini(6, GONE),
        "response without call": lambda: in_gemini(2, GONE),
        "response with another name": lambda: in_gemini(3, "parts", 1, "functionResponse", "name", "read"),
        "response with another id": lambda: in_gemini(3, "parts", 1, "functionResponse", "id", "z"),
        "text between call and response": lambda: in_gemini(3, Insert({"role": "user", "parts": [{"text": "x"}]})),
        "responses in two contents": lambda: in_gemini(3, Insert(
            {"role": "user", "parts": gemini()["contents"][3]["parts"][:1]})),
        "args as a string": lambda: in_gemini(1, "parts", 1, "functionCall", "args", "{}"),
        "response as a string": lambda: in_gemini(3, "parts", 0, "functionResponse", "response", "wrote"),
        "call of the user": lambda: in_gemini(5, "role", "user"),
        "system without parts": lambda: {**gemini(), "systemInstruction": {"parts": []}},
        "text null": lambda: in_gemini(4, "parts", 0, "text", 3),
    },
    "openai_responses": {
        "no input": lambda: {"input": []},
        "unknown role": lambda: in_responses(8, "role", "tool"),
        "unknown type": lambda: in_responses(2, "type", "tool_use"),
        "call without output": lambda: in_responses(5, GONE),
        "call without output at the end": lambda: in_responses(13, GONE),
        "output without call": lambda: in_responses(3, GONE),
        "output before call": lambda: in_responses(0, Insert(responses()["input"][13])),
        "output twice": lambda: in_responses(14, Insert(responses()["input"][13])),
        "call twice": lambda: in_responses(13, Insert(responses()["input"][12])),
        "search without its output": lambda: in_responses(10, GONE),
        "search output without its call": lambda: in_responses(9, GONE),
        "reasoning before a user": lambda: in_responses(7, GONE),
        "reasoning at the end": lambda: in_responses(14, Insert(responses()["input"][1])),
        "reasoning before an output": lambda: in_responses(4, Insert(responses()["input"][1])),
        "reasoning without summary": lambda: in_responses(1, "summary", GONE),
        "arguments not a string": lambda: in_responses(2, "arguments", {}),
        "arguments cut": lambda: in_responses(2, "arguments", '{"path": "c'),
        "call without name": lambda: in_responses(2, "name", ""),
        "call without call_id": lambda: in_responses(2, "call_id", ""),
        "output null": lambda: in_responses(4, "output", None),
        "content null": lambda: in_responses(8, "content", None),
        "reply in input_text": lambda: in_responses(7, "content", 0, "type", "input_text"),
        "prompt in output_text": lambda: in_responses(0, "content", 0, "type", "output_text"),
        "text part without text": lambda: in_responses(0, "content", 0, "text", GONE),
    },
    "ollama": {
        "no messages": lambda: {"messages": []},
        "unknown role": lambda: in_ollama(0, "role", "developer"),
        "content list": lambda: in_ollama(1, "content", [{"type": "text", "text": "x"}]),
        "arguments as a string": lambda: in_ollama(2, "tool_calls", 0, "function", "arguments", "{}"),
        "call without name": lambda: in_ollama(2, "tool_calls", 0, "function", "name", GONE),
        "call without result": lambda: in_ollama(4, GONE),
        "result without call": lambda: in_ollama(2, GONE),
        "result of another tool": lambda: in_ollama(4, "tool_name", "z"),
        "message between call and result": lambda: in_ollama(3, Insert(USER)),
        "calls of a user": lambda: in_ollama(1, "tool_calls", ollama()["messages"][2]["tool_calls"]),
        "images no list": lambda: in_ollama(1, "images", "AAAA"),
        "results first": lambda: ollama()["messages"][3:],
    },
}  # fmt: skip
CASES = [(dialect, name) for dialect, rules in BROKEN.items() for name in rules]


@pytest.mark.parametrize(("dialect", "name"), CASES)
def test_each_broken_body_is_refused(dialect: str, name: str) -> None:
    assert DIALECTS[dialect].problems(BROKEN[dialect][name]())


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3)))
def test_nonsense_is_refused_and_not_crashed_on(value: Any) -> None:
    for dialect, judge in DIALECTS.items():
        assert judge.problems({ITEMS.get(dialect, "messages"): [value]})


def test_server_held_calls_need_no_call_in_the_input() -> None:
    outputs = [i for i in responses()["input"] if i.get("type") == "function_call_output"]
    assert DIALECTS["openai_responses"].problems({"input": outputs})
    assert not DIALECTS["openai_responses"].problems({"input": outputs, "previous_response_id": "resp_1"})
    assert not DIALECTS["openai_responses"].problems({"input": outputs, "conversation": "conv_1"})


# --- what a fold may change, and what not ----------------------------------------------------------------------------

GIST = "Earlier: a and b were written (ref=g1)."
INSERTED: dict[str, Any] = {
    "gemini": {"role": "user", "parts": [{"text": GIST}]},
    "anthropic": {"role": "user", "content": [{"type": "text", "text": GIST}]},
}


def gisted(dialect: str, first: int, last: int, new: Any = None) -> Body:
    """Messages first..last replaced by a gist."""
    body = SOUND[dialect]()
    items(dialect, body)[first : last + 1] = [new or INSERTED.get(dialect, {"role": "user", "content": GIST})]
    return body


def joined(dialect: str, first: int, last: int, *text: Any) -> Body:
    """Messages first..last removed, and a gist put before the text at this place of the message behind them."""
    body = SOUND[dialect]()
    *way, key = text
    at: Any = items(dialect, body)[last + 1]
    for step in way:
        at = at[step]
    at[key] = f"{GIST}\n{at[key]}"
    del items(dialect, body)[first : last + 1]
    return body


STUB = "[40 lines, ref=r1]"
FOLDED = [
    ("openai_chat", in_chat(3, "content", STUB)),
    ("openai_chat", in_chat(3, "content", [{"type": "text", "text": STUB}])),
    ("openai_chat", in_chat(6, "content", f"Thanks {STUB}")),
    ("openai_chat", in_chat(1, "content", 1, {"type": "text", "text": "[image, ref=i1]"})),
    ("openai_chat", in_chat(2, "tool_calls", 0, "function", "arguments", json.dumps({"path": "a.py", "text": STUB}))),
    ("openai_chat", joined("openai_chat", 1, 5, "content")),
    ("openai_chat", gisted("openai_chat", 1, 6)),
    ("anthropic", in_claude(2, "content", 0, "content", STUB)),
    ("anthropic", in_claude(1, "content", 2, "input", {"path": "a", "text": STUB})),
    ("anthropic", in_claude(4, "content", 0, {"type": "text", "text": STUB})),
    ("anthropic", in_claude(0, "content", STUB)),
    ("anthropic", {**claude(), "messages": [
        {"role": "user", "content": [{"type": "text", "text": GIST}, claude()["messages"][4]["content"][0]]},
        *claude()["messages"][5:]]}),
    ("anthropic", {**claude(), "messages": [
        {"role": "user", "content": [{**claude()["messages"][2]["content"][2], "text": f"{GIST}\nAnd c."}]},
        *claude()["messages"][3:]]}),
    ("anthropic", {**claude(), "messages": [
        {"role": "user", "content": [{"type": "text", "text": GIST}, claude()["messages"][2]["content"][2]]},
        *claude()["messages"][3:]]}),
    ("gemini", in_gemini(3, "parts", 0, "functionResponse", "response", {"output": STUB})),
    ("gemini", in_gemini(1, "parts", 1, "functionCall", "args", {"path": "a", "text": STUB})),
    ("gemini", in_gemini(0, "parts", 1, {"text": STUB})),
    ("gemini", joined("gemini", 0, 3, "parts", 0, "text")),
    ("openai_responses", in_responses(4, "output", STUB)),
    ("openai_responses", in_responses(2, "arguments", json.dumps({"path": "p", "text": STUB}))),
    ("openai_responses", in_responses(0, "content", 1, {"type": "input_text", "text": STUB})),
    ("openai_responses", gisted("openai_responses", 0, 5)),
    ("openai_responses", joined("openai_responses", 0, 7, "content")),
    ("ollama", in_ollama(3, "content", STUB)),
    ("ollama", in_ollama(2, "tool_calls", 0, "function", "arguments", {"path": "a", "text": STUB})),
    ("ollama", in_ollama(1, {"role": "user", "content": "Write a and b. [image, ref=i1]"})),
    ("ollama", joined("ollama", 1, 5, "content")),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "after"), FOLDED)
def test_lawful_folds_leave_the_rest_intact(dialect: str, after: Body) -> None:
    assert DIALECTS[dialect].problems(after) == []
    assert DIALECTS[dialect].intact(SOUND[dialect](), after) == []


def without_thought() -> Body:
    body = responses()
    del body["input"][1]
    return body


UNLAWFUL: dict[str, dict[str, Body]] = {
    "openai_chat": {
        "a field changed": {**chat(), "seed": 2},
        "a field by type only": {**chat(), "seed": True},
        "a field vanished": {k: v for k, v in chat().items() if k != "seed"},
        "a field was added": {**chat(), "top_p": 1},
        "text changed in silence": in_chat(6, "content", "Thanks."),
        "result changed in silence": in_chat(3, "content", "[cut]"),
        "result emptied": in_chat(3, "content", ""),
        "argument changed": in_chat(2, "tool_calls", 0, "function", "arguments", '{"path":"a.py","text":""}'),
        "argument dropped": in_chat(2, "tool_calls", 0, "function", "arguments", '{"path": "ref=r1"}'),
        "arguments rewritten": in_chat(2, "tool_calls", 0, "function", "arguments",
                                       chat()["messages"][2]["tool_calls"][0]["function"]["arguments"] + " "),
        "call id changed": in_chat(2, "tool_calls", 0, "id", "z"),
        "name changed": in_chat(2, "tool_calls", 0, "function", "name", "ref=x"),
        "call dropped from a batch": in_chat(2, "tool_calls", 0, GONE),
        "role changed": in_chat(0, "role", "developer"),
        "field of a message added": in_chat(6, "name", "ref=x"),
        "image changed": in_chat(1, "content", 1, image("file")),
        "image dropped in silence": in_chat(1, "content", 1, GONE),
        "null content became a text": in_chat(2, "content", "ref=x"),
        "message vanished": in_chat(5, GONE),
        "step vanished": {**chat(), "messages": [*chat()["messages"][:2], *chat()["messages"][5:]]},
        "order changed": {**chat(), "messages": [chat()["messages"][i] for i in (0, 6, 2, 3, 4, 5, 1, 7, 8)]},
        "results swapped": {**chat(), "messages": [chat()["messages"][i] for i in (0, 1, 2, 4, 3, 5, 6, 7, 8)]},
        "message doubled": in_chat(6, Insert(chat()["messages"][6])),
        "gist without a ref": gisted("openai_chat", 2, 5, {"role": "user", "content": "Earlier: stuff."}),
        "gist by the assistant": gisted("openai_chat", 2, 5, {"role": "assistant", "content": GIST}),
        "gist by the system": gisted("openai_chat", 2, 5, {"role": "system", "content": GIST}),
        "gist with a name": gisted("openai_chat", 2, 5, {"role": "user", "content": GIST, "name": "yohaku"}),
        "gist as a message before a prompt": gisted("openai_chat", 1, 5),
        "gist as a message behind a prompt": gisted("openai_chat", 2, 6),
        "prompts brought together": {**chat(), "messages": [
            *chat()["messages"][:2], {"role": "user", "content": f"{GIST} Thanks, now c."}, *chat()["messages"][7:]]},
        "gist where nothing was folded": in_chat(6, Insert({"role": "user", "content": GIST})),
        "body became a list": chat()["messages"],
    },
    "anthropic": {
        "thought changed": in_claude(1, "content", 0, "thinking", "ref=t1"),
        "thought dropped": in_claude(1, "content", 0, GONE),
        "signature changed": in_claude(1, "content", 0, "signature", "ref=t1"),
        "cache mark dropped": in_claude(2, "content", 2, "cache_control", GONE),
        "cache mark added": in_claude(1, "content", 1, "cache_control", {"type": "ephemeral"}),
        "cache mark inside a result": in_claude(2, "content", 0, "content", [
            {"type": "text", "text": STUB, "cache_control": {"type": "ephemeral"}}]),
        "error flag added": in_claude(2, "content", 0, "is_error", True),
        "served result changed": in_claude(3, "content", 1, "content", "ref=w1"),
        "system mark dropped": {**claude(), "system": [{"type": "text", "text": "Be brief."}]},
        "system changed in silence": {**claude(), "system": "Be brief."},
        "system vanished": {k: v for k, v in claude().items() if k != "system"},
        "result dropped in silence": {**claude(), "messages": [
            {**claude()["messages"][2], "content": claude()["messages"][2]["content"][2:]}, *claude()["messages"][3:]]},
        "string became a list": in_claude(0, "content", [{"type": "text", "text": "Write a and b."}]),
        "messages merged": {**claude(), "messages": [*claude()["messages"][:6], {
            "role": "assistant", "content": claude()["messages"][3]["content"] + claude()["messages"][6]["content"]},
            claude()["messages"][7]]},
        "gist as a message before a prompt": gisted("anthropic", 0, 3),
        "gist with an image": gisted("anthropic", 0, 3, {"role": "user", "content": [
            {"type": "text", "text": GIST}, {"type": "image", "source": {"type": "base64", "data": "BBBB"}}]}),
    },
    "gemini": {
        "gist as a message before a prompt": gisted("gemini", 0, 3),
        "signature dropped": in_gemini(1, "parts", 1, "thoughtSignature", GONE),
        "thought changed": in_gemini(1, "parts", 0, "text", "ref=t1"),
        "keys renamed": in_gemini(5, "parts", 0, {"functionCall": {"name": "write_c", "args": {}}}),
        "response changed in silence": in_gemini(3, "parts", 0, "functionResponse", "response", {"output": ""}),
        "response with another id": in_gemini(3, "parts", 0, "functionResponse", "id", "ref=x"),
        "role dropped": in_gemini(4, "role", GONE),
        "contents merged": {**gemini(), "contents": [gemini()["contents"][0], {
            "role": "model", "parts": [*gemini()["contents"][1]["parts"], *gemini()["contents"][2]["parts"]]},
            *gemini()["contents"][3:]]},
        "system changed in silence": {**gemini(), "systemInstruction": {"parts": [{"text": "Be long."}]}},
    },
    "openai_responses": {
        "gist as a message before a prompt": gisted("openai_responses", 0, 7),
        "reasoning changed": in_responses(1, "summary", ["ref=x"]),
        "reasoning of a kept call dropped": without_thought(),
        "id dropped": in_responses(2, "id", GONE),
        "annotations dropped": in_responses(7, "content", 0, "annotations", GONE),
        "output changed in silence": in_responses(4, "output", "cut"),
        "search output changed": in_responses(10, "tools", ["ref=x"]),
        "instructions changed in silence": {**responses(), "instructions": "Be long."},
        "input became a string": {**responses(), "input": GIST},
        "call vanished": in_responses(2, GONE),
    },
    "ollama": {
        "gist as a message before a prompt": gisted("ollama", 1, 5),
        "image dropped in silence": in_ollama(1, "images", GONE),
        "options changed": {**ollama(), "options": {"num_ctx": 4096}},
        "result of another tool": in_ollama(3, "tool_name", "ref=b"),
        "argument changed": in_ollama(2, "tool_calls", 0, "function", "arguments", {"path": "a", "text": ""}),
    },
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "name"), [(d, n) for d, cases in UNLAWFUL.items() for n in cases])
def test_each_unlawful_change_is_seen(dialect: str, name: str) -> None:
    assert DIALECTS[dialect].intact(SOUND[dialect](), UNLAWFUL[dialect][name])


def thinking(dialect: str) -> tuple[Body, Callable[[Body, int], None]]:
    """Three turns with a thought in each reply, the second with a call; and how the thought leaves a message."""
    seal = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "write", "arguments": {} if dialect == "ollama" else "{}"},
    }
    answer: dict[str, Any] = {"role": "tool", "tool_call_id": "a", "content": "done"}
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": "a", "name": "write", "input": {}}
        answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]}
    elif dialect == "gemini":
        call = {"functionCall": {"name": "write", "args": {}}}
        answer = {"role": "user", "parts": [{"functionResponse": {"name": "write", "response": {"output": "done"}}}]}

    def reply(*calls: Any) -> dict[str, Any]:
        match dialect:
            case "anthropic":
                return {"role": "assistant", "content": [seal, {"type": "text", "text": "Yes."}, *calls]}
            case "gemini":
                return {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Yes."}, *calls]}
        field = "thinking" if dialect == "ollama" else "reasoning_content"
        return {"role": "assistant", "content": "Yes.", field: "Hm.", **({"tool_calls": [*calls]} if calls else {})}

    def drop(body: Body, at: int) -> None:
        for key in ("content", "parts"):
            if isinstance(items(dialect, body)[at].get(key), list):
                del items(dialect, body)[at][key][0]
        for key in ("thinking", "reasoning_content"):
            items(dialect, body)[at].pop(key, None)

    asked = {"role": "user", "parts": [{"text": "Go."}]} if dialect == "gemini" else {"role": "user", "content": "Go."}
    said = [asked, reply(), asked, reply(call), answer, reply(), asked, reply()]
    return {ITEMS.get(dialect, "messages"): copy.deepcopy(said)}, drop


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "gemini", "ollama"])
def test_a_thought_may_be_dropped_from_a_turn_that_is_over_and_had_no_calls_and_from_no_other(dialect: str) -> None:
    judge = DIALECTS[dialect]
    for at, lawful in ((1, True), (3, False), (5, False), (7, False)):
        body, drop = thinking(dialect)
        assert judge.problems(body) == []
        after = copy.deepcopy(body)
        drop(after, at)
        assert (at, after != body, judge.intact(body, after) == []) == (at, True, lawful)


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "gemini", "ollama"])
def test_a_thought_may_not_be_changed_nor_leave_a_reply_that_says_nothing(dialect: str) -> None:
    body, drop = thinking(dialect)
    changed = json.loads(json.dumps(body, sort_keys=True).replace("Hm.", "ref=x", 1))
    assert DIALECTS[dialect].intact(body, changed)
    silent = json.loads(json.dumps(body).replace("Yes.", " "))
    after = copy.deepcopy(silent)
    drop(after, 1)
    assert DIALECTS[dialect].intact(silent, after)


def test_a_field_changed_on_purpose_can_be_left_out() -> None:
    after = {**ollama(), "options": {"num_ctx": 4096}}
    assert DIALECTS["ollama"].intact(ollama(), after, ignore=("options",)) == []


def test_repeated_steps_are_told_apart_by_their_order() -> None:
    step = [REPLY, {"role": "user", "content": "again"}]
    before = [USER, *step * 200]
    for kept in (40, 43):
        after = [{"role": "user", "content": f"{GIST}\nagain"}, *step * kept]
        assert DIALECTS["openai_chat"].intact(before, after) == []
    assert DIALECTS["openai_chat"].intact(after, before)


# --- counting --------------------------------------------------------------------------------------------------------


def test_known_token_counts() -> None:
    assert [count.tokens(t) for t in ("", "hello world", "こんにちは世界", "<|endoftext|>")] == [0, 2, 2, 7]
    assert [count.tokens(t, "cl100k") for t in ("hello world", "tiktoken is great!")] == [2, 6]


@pytest.mark.slow
def test_a_megabyte_of_blanks_is_counted_and_not_inflated() -> None:
    for text in (" " * 1_200_000, "\n" * 300_000, "a" + " \t" * 300_000 + "b"):
        assert 0 < count.tokens(text) < len(text)
    assert count.tokens(" " * 19_999) == len(count.encoding().encode_ordinary(" " * 19_999))


def test_the_chat_rule() -> None:
    assert count.count([{"role": "user", "content": "hello world"}]) == 3 + 3 + 1 + 2


@pytest.mark.parametrize("dialect", SOUND)
def test_texts_and_dialects_are_found(dialect: str) -> None:
    body = SOUND[dialect]()
    assert count.guess(body) == dialect
    found = "\n".join(count.texts(body))
    assert all(word in found for word in ("Be brief.", "wrote a", "path"))
    assert "AAAA" not in found
    stubbed = json.loads(json.dumps(body).replace("wrote a", "x"))
    assert count.count(stubbed, dialect) < count.count(body, dialect)


# --- against recordings ----------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_what_real_providers_accepted_passes(shared: Path) -> None:
    seen = 0
    for i, row in enumerate(recordings(shared)):
        if row["status"] == 200:
            judge, body = DIALECTS[row["dialect"]], row["request"]
            assert (i, judge.problems(body)) == (i, [])
            assert (i, judge.intact(body, copy.deepcopy(body))) == (i, [])
            seen += 1
    assert seen > 700


@pytest.mark.shared
def test_recorded_refusals_were_about_models_files_and_settings_not_about_shape(shared: Path) -> None:
    for row in recordings(shared):
        if row["status"] != 200:
            assert DIALECTS[row["dialect"]].problems(row["request"]) == []


@pytest.mark.shared
def test_a_recorded_request_that_loses_one_half_of_a_pair_is_refused(shared: Path) -> None:
    halves = ('"tool_result"', '"function_call_output"', '"tool_call_id"', "functionResponse", "function_response")
    seen = 0
    for i, row in enumerate(recordings(shared)):
        body, dialect = row["request"], row["dialect"]
        if row["status"] != 200 or body.get("previous_response_id") or body.get("conversation"):
            continue
        for n, item in enumerate(body[ITEMS.get(dialect, "messages")]):
            if isinstance(item, dict) and any(half in json.dumps(item) for half in halves):
                cut = copy.deepcopy(body)
                del cut[ITEMS.get(dialect, "messages")][n]
                assert (i, n, bool(DIALECTS[dialect].problems(cut))) == (i, n, True)
                assert (i, n, bool(DIALECTS[dialect].intact(body, cut))) == (i, n, True)
                seen += 1
    assert seen > 300


@pytest.mark.shared
def test_the_chat_rule_is_what_openai_bills(shared: Path) -> None:
    rows = [r for r in recordings(shared) if r["host"] == "api.openai.com" and r["dialect"] == "openai_chat"]
    plain = [
        r
        for r in rows
        if r["status"] == 200
        and "tools" not in r["request"]
        and r["request"]["model"].startswith("gpt-4o")
        and all(isinstance(m["content"], str) for m in r["request"]["messages"])
        and "usage" in (r.get("response") or {})
        and "search" not in r["request"]["model"]
    ]
    assert plain
    for r in plain:
        assert count.count(r["request"], "openai_chat") == r["response"]["usage"]["prompt_tokens"]


@pytest.mark.slow
@pytest.mark.shared
def test_recorded_trajectories_are_sound_chats(shared: Path) -> None:
    paths = sorted((shared / "data").glob("*/*.jsonl.gz"))
    assert len(paths) > 50
    for path in paths:
        messages = trajectory.to_openai(path)
        assert (path.name, DIALECTS["openai_chat"].problems(messages)) == (path.name, [])


@pytest.mark.slow
@pytest.mark.shared
def test_folds_of_recorded_trajectories_are_found_lawful_and_silent_ones_not(shared: Path) -> None:
    judge, random = DIALECTS["openai_chat"], Random(1)
    for path in sorted((shared / "data").glob("*/*.jsonl.gz"))[::4]:
        before = trajectory.to_openai(path)
        starts = [i for i, m in enumerate(before) if m["role"] != "tool" and i]
        if len(starts) < 3:
            continue
        cut = random.choice(starts[1:])
        system, rest = before[: before[0]["role"] == "system"], before[cut:]
        prompt = rest.pop(0)["content"] if rest[0]["role"] == "user" else before[0]["content"] if not system else ""
        after = [*system, {"role": "user", "content": f"{GIST}\n{prompt}"}, *rest]
        for i, m in enumerate(after):
            if m["role"] == "tool" and random.random() < 0.3:
                after[i] = {**m, "content": STUB}
        assert (path.name, judge.problems(after), judge.intact(before, after)) == (path.name, [], [])
        silent = [m if GIST not in str(m["content"]) else {**m, "content": prompt} for m in after]
        silent = [m for m in silent if m["content"] != ""]
        assert any("vanished" in reason for reason in judge.intact(before, silent))
