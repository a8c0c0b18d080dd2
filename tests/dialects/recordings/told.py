"""Writes a History down as each tool would, so that reading it back can be compared with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Part, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.json_values import arguments_object

Row = dict[str, Any]


def sample() -> History:
    """Two turns: parallel calls, one that failed, one that returned nothing, and a plain answer."""
    first = Step(
        (
            Text("I look at both."),
            ToolUse(Call("c1", "read", '{"path":"a.py"}'), Result((Text("print(1)"),))),
            ToolUse(Call("c2", "read", '{"path":"b.py"}'), Result((Text("no such file"),), error=True)),
        )
    )
    second = Step((ToolUse(Call("c3", "run", '{"command":"make","n":2}'), Result()),))
    turns = [Turn((Text("Fix the build."),), (first, second, Step((Text("Done."),)))), Turn((Text("ありがとう"),))]
    return history_of(turns, system=[Text("You are careful.")])


def jsonl(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "surrogatepass")


def trajectory(history: History) -> bytes:
    rows: list[Row] = [{"format": "trajectory-v1", "id": "x", "model": "m", "tools": []}]
    rows += [{"role": "system", "content": text(part)} for part in history.system]
    for turn in history.turns:
        rows += [{"role": spoken(part, "user"), "content": text(part)} for part in turn.prompt]
        for step in turn.steps:
            said: list[Row] = [
                {"role": "assistant", "content": text(item)} for item in step.items if isinstance(item, Text)
            ]
            if calls := [{"id": u.call.id, "name": u.call.name, "arguments": u.call.arguments} for u in step.uses]:
                said.append({"role": "assistant", "content": None, "tool_calls": calls})
            rows += said
            for use in step.uses:
                failed = {"error": True} if use.result.error else {}
                rows.append({"role": "tool", "tool_call_id": use.call.id, "content": use.result.text, **failed})
    return jsonl(rows)


def claude_code(history: History) -> bytes:
    return jsonl(_claude_lines(history))


def _claude_lines(history: History) -> Iterator[Row]:
    """Each block a line; each result hangs on the line of its call, and the next line on the last result only."""
    parent: str | None = None
    count = 0

    def line(kind: str, content: Any, under: str | None, **more: Any) -> Row:
        nonlocal count
        count += 1
        message = {"role": kind, "content": content, **more.pop("message", {})}
        return {
            "parentUuid": under,
            "uuid": f"u{count}",
            "isSidechain": False,
            "type": kind,
            "message": message,
            **more,
        }

    yield {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False}
    for number, turn in enumerate(history.turns):
        if number == 1:
            boundary = line("system", "", None, subtype="compact_boundary", logicalParentUuid=parent)
            summary = line("user", "This session is being continued …", boundary["uuid"], isCompactSummary=True)
            parent = summary["uuid"]
            yield from (boundary, summary)
        for part in turn.prompt:
            said = line("user", text(part), parent)
            yield said
            yield line("assistant", [{"type": "text", "text": "a sub-agent"}], said["uuid"], isSidechain=True)
            parent = said["uuid"]
        for step in turn.steps:
            hooks: list[Row] = []
            reply = f"msg_{count}"
            for item in step.items:
                said = line("assistant", [_claude_block(item)], parent, message={"id": reply, "model": "claude-x"})
                yield said
                parent = said["uuid"]
                if isinstance(item, ToolUse):
                    hooks.append(line("progress", "", parent))
                    failed = {"is_error": True} if item.result.error else {}
                    block = {"type": "tool_result", "tool_use_id": item.call.id, "content": item.result.text, **failed}
                    hooks.append(line("user", [block], parent))
            yield from hooks
            parent = hooks[-1]["uuid"] if hooks else parent


def _claude_block(item: Part | ToolUse) -> Row:
    if isinstance(item, ToolUse):
        return {
            "type": "tool_use",
            "id": item.call.id,
            "name": item.call.name,
            "input": arguments_object(item.call.arguments),
        }
    return {"type": "text", "text": text(item)}


def codex(history: History) -> bytes:
    return jsonl(_codex_lines(history))


def _codex_lines(history: History) -> Iterator[Row]:
    def said(**payload: Any) -> Row:
        return {"timestamp": "t", "type": "response_item", "payload": payload}

    def message(role: str, words: str) -> Row:
        kind = "output_text" if role == "assistant" else "input_text"
        return said(type="message", role=role, content=[{"type": kind, "text": words}])

    yield {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "cwd": "/", "instructions": None}}
    yield {"timestamp": "t", "type": "turn_context", "payload": {"model": "gpt-x"}}
    yield from (message("developer", text(part)) for part in history.system)
    for number, turn in enumerate(history.turns):
        if number == 1:
            replaced = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A summary."}]}]
            yield {"timestamp": "t", "type": "compacted", "payload": {"message": "", "replacement_history": replaced}}
        for part in turn.prompt:
            yield message({"system": "developer"}.get(spoken(part, "user"), "user"), text(part))
            yield {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message", "message": text(part)}}
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, ToolUse):
                    call = item.call
                    yield said(type="function_call", name=call.name, arguments=call.arguments, call_id=call.id)
                else:
                    yield message("assistant", text(item))
            for use in step.uses:
                yield said(type="function_call_output", call_id=use.call.id, output=use.result.text)


def gemini_cli(history: History) -> bytes:
    head = {"sessionId": "x", "projectHash": "y", "startTime": "t", "lastUpdated": "t"}
    return json.dumps({**head, "messages": list(_gemini_messages(history))}, ensure_ascii=False).encode()


def gemini_cli_lines(history: History) -> bytes:
    messages = list(_gemini_messages(history))
    update = {"$set": {"messages": [{"id": "s", "type": "user", "content": "A summary."}]}}
    return jsonl([{"sessionId": "x", "projectHash": "y", "startTime": "t"}, *messages, update])


def _gemini_messages(history: History) -> Iterator[Row]:
    count = 0
    for turn in history.turns:
        for part in turn.prompt:
            yield {"id": str(count := count + 1), "type": "user", "content": [{"text": text(part)}]}
        for step in turn.steps:
            said = [{"text": text(item)} for item in step.items if isinstance(item, Text)]
            calls = [_gemini_call(use) for use in step.uses]
            yield {
                "id": str(count := count + 1),
                "type": "gemini",
                "content": said,
                "toolCalls": calls,
                "model": "gemini-x",
            }
            yield {"id": str(count := count + 1), "type": "info", "content": "Update available"}


def _gemini_call(use: ToolUse) -> Row:
    call = use.call
    field = "error" if use.result.error else "output"
    response = {"functionResponse": {"id": call.id, "name": call.name, "response": {field: use.result.text}}}
    args = arguments_object(call.arguments)
    return {"id": call.id, "name": call.name, "args": args, "result": [response], "status": "success", "timestamp": "t"}


def text(part: Part | ToolUse) -> str:
    assert isinstance(part, Text)
    return part.text


def spoken(part: Part, otherwise: str) -> str:
    return (part.by if isinstance(part, Text) else "") or otherwise
