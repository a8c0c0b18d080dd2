"""The frame of gpt-oss against its format: whole requests, written out as Harmony writes them.

Law: no request is weighed under what a host that follows the format puts before the model.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.weigh import weigh
from yohaku.dialects import dialect_named
from yohaku.meters import for_model
from yohaku.meters.bpe import encoder

MARK = re.compile(r"(<\|[a-z]+\|>)")
SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: 2026-01-01\n"
    "\nReasoning: medium\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message."
)
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Reads a file.\nOnly text.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Where."}, "mode": {"type": "string"}},
            "required": ["path"],
        },
    },
}
WRITTEN = (
    "// Reads a file.\n// Only text.\ntype read_file = (_: {\n// Where.\npath: string,\nmode?: string,\n}) => any;\n\n"
)


def written(request: dict[str, Any], json_mark: str) -> str:
    """A request with `TOOL` alone; `json_mark` is how the host says that arguments are JSON."""
    entries, tools = list(request["messages"]), len(request.get("tools", ()))
    calls = "\nCalls to these tools must go to the commentary channel: 'functions'." if tools else ""
    said = f"<|start|>system<|message|>{SYSTEM}{calls}<|end|>"
    head = [f"# Instructions\n\n{entries.pop(0)['content']}"] if entries[0]["role"] == "system" else []
    if tools:
        head.append(f"# Tools\n\n## functions\n\nnamespace functions {{\n\n{WRITTEN * tools}}} // namespace functions")
    if head:
        said += "<|start|>developer<|message|>" + "\n\n".join(head) + "<|end|>"
    return said + "".join(entry_written(entry, json_mark) for entry in entries) + "<|start|>assistant"


def entry_written(entry: dict[str, Any], json_mark: str) -> str:
    match entry:
        case {"role": "user", "content": text}:
            return f"<|start|>user<|message|>{text}<|end|>"
        case {"role": "tool", "content": text}:
            return f"<|start|>functions.read_file to=assistant<|channel|>commentary<|message|>{text}<|end|>"
        case {"tool_calls": calls}:
            thought = entry.get("reasoning")
            said = [("analysis", thought)] if thought else []
            said += [("commentary", entry["content"])] if entry.get("content") else []
            before = "".join(f"<|start|>assistant<|channel|>{where}<|message|>{text}<|end|>" for where, text in said)
            to = f"<|start|>assistant to=functions.read_file<|channel|>commentary {json_mark}<|message|>"
            return before + "".join(f"{to}{call['function']['arguments']}<|call|>" for call in calls)
    return f"<|start|>assistant<|channel|>final<|message|>{entry['content']}<|end|>"


def tokens(text: str) -> int:
    encode = encoder("gpt_oss")
    return sum(1 if MARK.fullmatch(piece) else len(encode(piece)) for piece in MARK.split(text) if piece)


def gap(request: dict[str, Any], json_mark: str = "json") -> int:
    history = dialect_named("openai_chat").read(request).history()
    return weigh(history, for_model("gpt-oss-120b", "openai_chat")).total - tokens(written(request, json_mark))


def asks(*entries: dict[str, Any], tools: int = 0) -> dict[str, Any]:
    return {"messages": list(entries), "tools": [TOOL] * tools} if tools else {"messages": list(entries)}


def says(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def uses(*paths: str, **beside: str) -> list[dict[str, Any]]:
    made = [
        {"id": path, "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
        for path in paths
    ]
    results = [{"role": "tool", "tool_call_id": path, "content": f"{path} is\n  empty"} for path in paths]
    return [{"role": "assistant", "tool_calls": made, **beside}, *results]


def test_the_preamble_is_over_by_the_heading_of_instructions_and_what_some_hosts_add() -> None:
    assert gap(asks(says("Hello."))) == 7
    assert gap(asks(says("Be brief.", "system"), says("Hello."))) == 4


@pytest.mark.parametrize("number", [1, 50])
def test_a_final_reply_is_weighed_to_the_token(number: int) -> None:
    talk = [says("Why?"), says("Because it is.", "assistant")] * number
    assert gap(asks(*talk, says("So?"))) == 7


@pytest.mark.parametrize("json_mark", ["json", "<|constrain|>json"])
def test_a_step_is_never_under_and_over_by_little_more_than_a_frame(json_mark: str) -> None:
    one, several = uses("a"), uses("a", "b", "c")
    spoken, thought = uses("a", content="I read it."), uses("a", reasoning="It must be there.")
    bare = gap(asks(says("Go."), tools=1))
    spare = [gap(asks(says("Go."), *step, tools=1), json_mark) - bare for step in (one, several, spoken, thought)]
    assert spare == ([3, 9, 2, 11] if json_mark == "json" else [1, 3, 0, 9])


@pytest.mark.parametrize("tools", [1, 30])
def test_a_tool_is_over_by_its_indents_and_the_mark_that_joins_two(tools: int) -> None:
    indents, joint = 3, 1
    assert 0 <= gap(asks(says("Go."), tools=tools)) - 7 <= 1 + (indents + joint) * tools


@given(
    st.lists(
        st.text(min_size=1, max_size=20).map(says)
        | st.text(min_size=1, max_size=20).map(lambda text: says(text, "assistant"))
        | st.sampled_from(["a", "日本"]).map(lambda path: uses(path, content="Reading.")),
        max_size=8,
    ),
    st.integers(0, 3),
)
def test_no_request_is_weighed_under_its_format(talk: list[Any], tools: int) -> None:
    entries = [entry for each in talk for entry in (each if isinstance(each, list) else [each])]
    assert gap(asks(says("Hello."), *entries, tools=tools), "<|constrain|>json") >= 0
