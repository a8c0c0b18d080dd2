"""OpenAI Chat Completions (and the many servers that speak it): what a request body may look like.

Law: every call of an assistant message is answered by exactly one tool message, directly after it.
"""

import json
from typing import Any

from . import alignment
from .alignment import Atom, Message, canonical, without

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
MEDIA = {"image_url", "input_audio", "file", "document_url", "video_url"}
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
PARTS = {
    "user": {"text"} | MEDIA,
    "assistant": {"text", "refusal", "thinking", "reference"},
    "tool": {"text", "image_url"},
}


def messages_of(body: Any) -> Any:
    return body if isinstance(body, list) else body.get("messages")


def problems(body: Any) -> list[str]:
    messages = messages_of(body)
    if not isinstance(messages, list) or not messages:
        return ["messages must be a non-empty list"]
    found: list[str] = []
    open_calls: list[str] = []
    for i, m in enumerate(messages):
        if not isinstance(m, dict) or m.get("role") not in ROLES:
            found.append(f"{i}: unknown role {m.get('role') if isinstance(m, dict) else m!r}")
            continue
        role = m["role"]
        if role == "tool":
            call_id = m.get("tool_call_id")
            if call_id not in open_calls:
                found.append(f"{i}: tool message for {call_id!r}, which is no open call of the message before")
            else:
                open_calls.remove(call_id)
        else:
            if open_calls:
                found.append(f"{i}: calls {open_calls} not answered before this {role} message")
            open_calls = []
        found += [f"{i}: {reason}" for reason in _content(m) + _calls(m)]
        if role == "assistant":
            open_calls = [
                c["id"] for c in m.get("tool_calls") or [] if isinstance(c, dict) and isinstance(c.get("id"), str)
            ]
    if open_calls:
        found.append(f"calls {open_calls} not answered at the end")
    return found


def _content(m: dict[str, Any]) -> list[str]:
    role, content = m["role"], m.get("content")
    if content is None:
        spoken = any(m.get(k) for k in ("tool_calls", "function_call", "refusal", "audio"))
        return [] if role == "assistant" and spoken else ["content is missing"]
    if isinstance(content, str):
        return []
    if not isinstance(content, list):
        return ["content must be a string or a list"]
    if not content:  # Mistral's client sends [] beside calls, and Mistral takes it
        return [] if role == "assistant" and m.get("tool_calls") else ["content is an empty list"]
    allowed, found = PARTS.get(role, {"text"}), []
    for p in content:
        kind = p.get("type") if isinstance(p, dict) else None
        if kind not in allowed:
            found.append(f"part of type {kind!r} in a {role} message")
        elif kind == "text" and not isinstance(p.get("text"), str):
            found.append("text part without a text")
        elif kind in MEDIA and not p.get(kind):
            found.append(f"{kind} part without its data")
    return found


def _calls(m: dict[str, Any]) -> list[str]:
    calls = m.get("tool_calls")
    if calls is None:
        return []
    if m["role"] != "assistant":
        return [f"tool_calls in a {m['role']} message"]
    if not isinstance(calls, list) or not calls:
        # an empty list passes at Mistral only; `prefix` is a field of its client
        return [] if calls == [] and "prefix" in m else ["tool_calls must be a non-empty list"]
    found, ids = [], set()
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        custom = call.get("custom") if isinstance(call, dict) else None
        call_id = call.get("id") if isinstance(call, dict) else None
        if not isinstance(call_id, str) or not call_id or call_id in ids:
            found.append(f"call id {call_id!r} missing or used twice")
        ids.add(call_id)
        if call.get("type") == "custom" and isinstance(custom, dict):
            if not custom.get("name") or not isinstance(custom.get("input"), str):
                found.append("custom call needs a name and an input string")
        elif call.get("type") != "function" or not isinstance(function, dict) or not function.get("name"):
            found.append("call needs type function and a name")
        elif not is_json_object(function.get("arguments")):
            found.append("arguments must be a JSON object in a string")
    return found


def is_json_object(arguments: Any) -> bool:
    if arguments == "":  # what models write for a call without arguments
        return True
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def parsed(arguments: Any) -> Any:
    return json.loads(arguments) if arguments and is_json_object(arguments) else arguments


def read(m: dict[str, Any]) -> Message:
    role, content = str(m.get("role")), m.get("content")
    if role in ("tool", "function"):
        atom = alignment.result(m, without(m, "content"), content, m.get("tool_call_id"))
        return Message(role, canonical(m), canonical(role), (atom,), plain=False)
    atoms = [alignment.text(content)] if isinstance(content, str) else [_part(p) for p in content or []]
    thoughts = [key for key in THOUGHTS if m.get(key)]
    atoms += [alignment.thought({key: m[key]}) for key in thoughts]
    for c in m.get("tool_calls") or []:
        function = c.get("function") or {}
        frame = {**c, "function": without(function, "arguments")}
        atoms.append(alignment.call(c, frame, parsed(function.get("arguments")), c.get("id")))
    frame = {
        **without(m, "content", "tool_calls", *thoughts),
        "shape": [k in m and type(m[k]).__name__ for k in ("content", "tool_calls")],
    }
    return Message(role, canonical(m), canonical(frame), tuple(atoms), plain=set(m) == {"role", "content"})


def _part(p: Any) -> Atom:
    kind = p.get("type") if isinstance(p, dict) else None
    if kind == "text":
        return alignment.text(p)
    return alignment.media(p) if kind in MEDIA else alignment.opaque(p)


def intact(before: Any, after: Any, *, need_ref: bool = True, ignore: tuple[str, ...] = ()) -> list[str]:
    """What a fold may not change; `ignore` names fields the caller changed on purpose (a clamped max_tokens)."""
    if type(before) is not type(after):
        return ["a list became a body, or the other way round"]
    found = [] if isinstance(before, list) else alignment.fields(before, after, ("messages", *ignore))
    old, new = [read(m) for m in messages_of(before)], [read(m) for m in messages_of(after)]
    return found + alignment.compare(old, new, need_ref)
