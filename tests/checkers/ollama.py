"""Ollama /api/chat: what a request body may look like.

Law: the results of a reply's calls follow it directly, one for each; arguments are objects, contents are strings.
The server itself is laxer about pairs, but the chat templates of its models are not.
"""

from collections import Counter
from typing import Any

from . import alignment
from .alignment import Message, canonical, without

ROLES = {"system", "user", "assistant", "tool"}


def messages_of(body: Any) -> Any:
    return body if isinstance(body, list) else body.get("messages")


def problems(body: Any) -> list[str]:
    messages = messages_of(body)
    if not isinstance(messages, list) or not messages:
        return ["messages must be a non-empty list"]
    found: list[str] = []
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for i, m in enumerate(messages):
        wrong = _message(m)
        found += [f"{i}: {reason}" for reason in wrong]
        if wrong:
            continue
        if m["role"] == "tool":
            results.append(m)
            continue
        found += [f"before {i}: {reason}" for reason in _pairs(calls, results)]
        calls, results = list(m.get("tool_calls") or []), []
    return found + [f"at the end: {reason}" for reason in _pairs(calls, results)]


def _message(m: Any) -> list[str]:
    if not isinstance(m, dict) or m.get("role") not in ROLES:
        return [f"unknown role {m.get('role') if isinstance(m, dict) else m!r}"]
    found: list[str] = []
    calls, images, content = m.get("tool_calls"), m.get("images"), m.get("content")
    if not (isinstance(content, str) or (content is None and calls)):
        found.append("content must be a string")
    if images is not None and not (isinstance(images, list) and all(isinstance(x, str) and x for x in images)):
        found.append("images must be a list of base64 strings")
    if calls is None:
        return found
    if m["role"] != "assistant" or not isinstance(calls, list):
        return [*found, "tool_calls must be a list in an assistant message"]
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not function.get("name"):
            found.append("call without a function name")
        elif not isinstance(function.get("arguments"), dict):
            found.append("arguments must be an object")
    return found


def _pairs(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> list[str]:
    if len(calls) != len(results):
        return [f"{len(calls)} calls answered by {len(results)} tool messages"]
    names = [r.get("tool_name") or r.get("name") for r in results]
    if all(names) and Counter(names) != Counter(c["function"]["name"] for c in calls):
        return [f"tool names {names} are not those of the calls"]
    ids = [r.get("tool_call_id") for r in results]
    known = [c.get("id") for c in calls]
    if all(ids) and all(known) and Counter(ids) != Counter(known):
        return [f"tool_call_ids {ids} are not those of the calls {known}"]
    return []


def read(m: dict[str, Any]) -> Message:
    role = str(m.get("role"))
    if role == "tool":
        atom = alignment.result(
            m, without(m, "content", "images"), [m.get("content"), m.get("images")], m.get("tool_call_id")
        )
        return Message(role, canonical(m), canonical(role), (atom,), plain=False)
    atoms = [alignment.text(m["content"])] if isinstance(m.get("content"), str) else []
    thoughts = ["thinking"] if m.get("thinking") else []
    atoms += [alignment.thought(m[key]) for key in thoughts]
    atoms += [alignment.media(image) for image in m.get("images") or []]
    for c in m.get("tool_calls") or []:
        function = c.get("function") or {}
        frame = {**c, "function": without(function, "arguments")}
        atoms.append(alignment.call(c, frame, function.get("arguments"), c.get("id")))
    frame = {
        **without(m, "content", "images", "tool_calls", *thoughts),
        "shape": type(m.get("content")).__name__,
    }
    return Message(role, canonical(m), canonical(frame), tuple(atoms), plain=set(m) == {"role", "content"})


def intact(before: Any, after: Any, *, need_ref: bool = True, ignore: tuple[str, ...] = ()) -> list[str]:
    """What a fold may not change; `ignore` names fields the caller changed on purpose (options.num_ctx)."""
    if type(before) is not type(after):
        return ["a list became a body, or the other way round"]
    found = [] if isinstance(before, list) else alignment.fields(before, after, ("messages", *ignore))
    old, new = [read(m) for m in messages_of(before)], [read(m) for m in messages_of(after)]
    return found + alignment.compare(old, new, need_ref)
