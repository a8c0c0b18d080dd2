"""Anthropic Messages: what a request body may look like.

Law: the user turn after a reply with tool_use blocks begins with one tool_result for each of them. The API joins
neighbouring messages of one role before it checks, and so does this.
"""

import re
from collections.abc import Iterator
from typing import Any

from . import alignment
from .alignment import Atom, Message, canonical, without

ID = re.compile(r"[a-zA-Z0-9_-]+")
SERVER_USE = {"server_tool_use", "mcp_tool_use"}
THOUGHTS = {"thinking", "redacted_thinking"}
MEDIA = {"image", "document", "search_result", "container_upload"}
USER = {"text", "tool_result", "mid_conv_system"} | MEDIA
SYSTEM = {"text", "tool_addition", "tool_removal"}
REPLY = {"text", "tool_use", "compaction", "fallback"} | SERVER_USE | THOUGHTS


def messages_of(body: Any) -> Any:
    return body if isinstance(body, list) else body.get("messages")


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def problems(body: Any) -> list[str]:
    messages = messages_of(body)
    if not isinstance(messages, list) or not messages:
        return ["messages must be a non-empty list"]
    found: list[str] = []
    for i, m in enumerate(messages):
        found += [f"{i}: {reason}" for reason in _message(m, final=i == len(messages) - 1)]
    if found:
        return found
    found += _pairs(messages) + _system_places(messages)
    if isinstance(body, dict):
        found += _system(body.get("system")) + _thinking(body, messages)
    marks = sum(1 for _ in _marks(body))
    return [*found, f"{marks} cache marks, at most 4 are allowed"] if marks > 4 else found


def _message(m: Any, final: bool) -> list[str]:
    if not isinstance(m, dict) or m.get("role") not in ("user", "assistant", "system"):
        return [f"unknown role {m.get('role') if isinstance(m, dict) else m!r}"]
    role, content = m["role"], m.get("content")
    if not isinstance(content, str | list):
        return ["content must be a string or a list"]
    if not content:
        return [] if final and role == "assistant" else ["content is empty"]
    found: list[str] = []
    for block in blocks(m):
        kind = block.get("type") if isinstance(block, dict) else None
        served = role == "assistant" and str(kind).endswith("_tool_result")
        if not served and kind not in {"user": USER, "assistant": REPLY, "system": SYSTEM}[role]:
            found.append(f"block of type {kind!r} in a {role} message")
        else:
            found += _block(block)
    last = blocks(m)[-1]
    if role == "assistant" and last.get("type") in THOUGHTS:
        found.append("a reply cannot end with a thought")
    if role == "assistant" and final and str(last.get("text", "")) != str(last.get("text", "")).rstrip():
        found.append("the final reply ends with whitespace")
    return found


def _block(b: dict[str, Any]) -> list[str]:
    match b["type"]:
        case "text":
            return [] if isinstance(b.get("text"), str) and b["text"].strip() else ["text block is empty or blank"]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            good = ID.fullmatch(str(b.get("id"))) and b.get("name") and isinstance(b.get("input"), dict)
            return [] if good else [f"{b['type']} needs a lawful id, a name and an input object"]
        case "tool_result":
            content = b.get("content", "")
            if isinstance(content, str):
                return []
            if not isinstance(content, list):
                return ["content of a tool_result must be a string or a list"]
            kinds = {"text", "tool_reference"} | MEDIA
            found = [f"{c.get('type')!r} in a tool_result" for c in content if c.get("type") not in kinds]
            return found + [
                "empty text in a tool_result" for c in content if c.get("type") == "text" and not c.get("text")
            ]
        case "thinking":
            if "cache_control" in b:
                return ["cache mark on a thought"]
            good = isinstance(b.get("thinking"), str) and isinstance(b.get("signature"), str) and b["signature"]
            return [] if good else ["thought without its signature"]
        case "redacted_thinking":
            return [] if b.get("data") else ["redacted thought without data"]
        case "image" | "document":
            return [] if isinstance(b.get("source"), dict) else [f"{b['type']} without a source"]
    return []


def _turns(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for m in messages:
        if turns and turns[-1][0] == m["role"]:
            turns[-1][1].extend(blocks(m))
        else:
            turns.append((m["role"], list(blocks(m))))
    return turns


def _pairs(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    served: set[str] = set()
    waiting: list[str] = []
    for n, (role, content) in enumerate(_turns(messages)):
        results = [b["tool_use_id"] for b in content if b["type"] == "tool_result" and "tool_use_id" in b]
        if sorted(results) != sorted(waiting):
            found.append(f"turn {n} ({role}): calls {waiting} answered by {results}")
        elif any(b["type"] != "tool_result" for b in content[: len(results)]):
            found.append(f"turn {n}: tool_result blocks must come first")
        waiting = [b["id"] for b in content if b["type"] == "tool_use"]
        for b in content:
            if b["type"] in SERVER_USE:
                served.add(b["id"])
            elif b["type"].endswith("_tool_result") and b.get("tool_use_id") not in served:
                found.append(f"turn {n}: {b['type']} without its call before it")
        if len(set(waiting)) < len(waiting):  # a later turn may use an id again: the API takes that
            found.append(f"turn {n}: a tool_use id is used twice in {waiting}")
    return [*found, f"calls {waiting} not answered at the end"] if waiting else found


def _system_places(messages: list[dict[str, Any]]) -> list[str]:
    """A system message stands after a user turn (or a reply that ends in a served tool), and last or before a reply."""
    found: list[str] = []
    for i, m in enumerate(messages):
        if m["role"] != "system":
            continue
        before = messages[i - 1] if i else {"role": "start"}
        served = before["role"] == "assistant" and blocks(before)[-1]["type"].endswith(("_tool_use", "_tool_result"))
        if before["role"] != "user" and not served:
            found.append(f"{i}: system message after {before['role']}")
        if i + 1 < len(messages) and messages[i + 1]["role"] != "assistant":
            found.append(f"{i}: system message before {messages[i + 1]['role']}")
    return found


def _system(system: Any) -> list[str]:
    if system is None or isinstance(system, str):
        return []
    if not isinstance(system, list):
        return ["system must be a string or a list"]
    return ["system: not a text" for b in system if b.get("type") != "text" or not str(b.get("text", "")).strip()]


def _thinking(body: dict[str, Any], messages: list[dict[str, Any]]) -> list[str]:
    """With thinking on, the reply whose calls were just answered must begin with the thought that led to them."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return []
    loop: list[dict[str, Any]] = []
    for m in reversed(messages):
        if m["role"] == "user" and not any(b["type"] == "tool_result" for b in blocks(m)):
            break
        loop += [m] if m["role"] == "assistant" else []
    lost = loop and messages[-1]["role"] != "assistant" and not any(blocks(m)[0]["type"] in THOUGHTS for m in loop)
    return ["thinking is on, but the open tool loop holds no thought"] if lost else []


def _marks(value: Any) -> Iterator[Any]:
    """Cache marks on blocks, tools and the body itself; the same word inside an input or a schema means nothing."""
    if isinstance(value, list):
        for v in value:
            yield from _marks(v)
    elif isinstance(value, dict):
        if value.get("cache_control"):
            yield value["cache_control"]
        for key in ("messages", "content", "system", "tools"):
            yield from _marks(value.get(key))


def read(m: dict[str, Any]) -> Message:
    content = m.get("content")
    atoms = [alignment.text(content)] if isinstance(content, str) else [_atom(b) for b in content or []]
    frame = {**without(m, "content"), "shape": type(content).__name__}
    return Message(
        str(m.get("role")), canonical(m), canonical(frame), tuple(atoms), plain=set(m) == {"role", "content"}
    )


def _atom(b: dict[str, Any]) -> Atom:
    match b.get("type"):
        case "text":
            return alignment.text(b)
        case "tool_use":
            return alignment.call(b, without(b, "input"), b.get("input"), b.get("id"))
        case "tool_result":
            return alignment.result(b, without(b, "content"), b.get("content"), b.get("tool_use_id"))
        case "thinking" | "redacted_thinking":
            return alignment.thought(b)
        case kind:
            return alignment.media(b) if kind in MEDIA else alignment.opaque(b)


def _prompt(body: dict[str, Any]) -> Message | None:
    return read({"role": "system", "content": body["system"]}) if body.get("system") else None


def intact(before: Any, after: Any, *, need_ref: bool = True, ignore: tuple[str, ...] = ()) -> list[str]:
    """What a fold may not change; `ignore` names fields the caller changed on purpose (a clamped max_tokens)."""
    if type(before) is not type(after):
        return ["a list became a body, or the other way round"]
    found: list[str] = []
    if isinstance(before, dict):
        found += alignment.fields(before, after, ("messages", "system", *ignore))
        found += alignment.compare_system(_prompt(before), _prompt(after), need_ref)
    old, new = [read(m) for m in messages_of(before)], [read(m) for m in messages_of(after)]
    return found + alignment.compare(old, new, need_ref)
