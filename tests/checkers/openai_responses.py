"""OpenAI Responses: what a request body (or a bare list of input items) may look like.

Law: each call item has exactly one output item with its call_id after it, and the other way round; a reasoning item is
followed by what it led to. With previous_response_id or conversation the calls may lie on the server.
"""

from collections import Counter
from typing import Any

from . import alignment
from .alignment import Atom, Message, canonical, without
from .openai_chat import is_json_object, parsed

OUTPUT_OF = {  # output item -> the call item it answers
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "tool_search_output": "tool_search_call",
}
SERVED = {  # calls the provider answers itself
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools", "mcp_approval_request", "compaction",
}  # fmt: skip
REPLY = {"reasoning"} | set(OUTPUT_OF.values()) | SERVED
OTHER = {"item_reference", "mcp_approval_response", "additional_tools", "compaction_trigger", "compaction_summary"}
MEDIA = {"input_image", "input_file", "input_audio"}
PARTS = {"assistant": {"output_text", "refusal"}}
ROLES = {"user", "assistant", "system", "developer"}


def items_of(body: Any) -> Any:
    items = body if isinstance(body, list) else body.get("input")
    return [{"role": "user", "content": items}] if isinstance(items, str) else items


def type_of(item: dict[str, Any]) -> str:
    return str(item.get("type") or "message")


def problems(body: Any) -> list[str]:
    items = items_of(body)
    elsewhere = isinstance(body, dict) and bool(body.get("previous_response_id") or body.get("conversation"))
    if not isinstance(items, list) or (not items and not elsewhere):
        return ["input must be a string or a non-empty list"]
    found: list[str] = []
    for i, item in enumerate(items):
        found += [f"{i}: {reason}" for reason in _item(item)]
    return found or _pairs(items, elsewhere) + _reasoning(items)


def _item(item: Any) -> list[str]:
    if not isinstance(item, dict):
        return ["an item must be an object"]
    kind = type_of(item)
    if kind == "message":
        return _message(item)
    if kind not in REPLY | set(OUTPUT_OF) | OTHER:
        return [f"unknown item type {kind!r}"]
    if kind == "function_call":
        good = item.get("call_id") and item.get("name") and is_json_object(item.get("arguments"))
        return [] if good else ["function_call needs call_id, name and arguments as a JSON object in a string"]
    if kind == "custom_tool_call":
        good = item.get("call_id") and item.get("name") and isinstance(item.get("input"), str)
        return [] if good else ["custom_tool_call needs call_id, name and an input string"]
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        if not item.get("call_id"):
            return [f"{kind} without call_id"]
        if isinstance(output, list):
            return [reason for p in output for reason in _part(p, {"input_text"} | MEDIA)]
        return [] if isinstance(output, str) else ["output must be a string or a list"]
    if kind == "tool_search_output":
        return [] if isinstance(item.get("tools"), list) else ["tool_search_output needs tools"]
    if kind == "reasoning":
        return [] if isinstance(item.get("summary"), list) else ["reasoning needs a summary list"]
    return []


def _message(item: dict[str, Any]) -> list[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        return [f"unknown role {role!r}"]
    if isinstance(content, str):
        return []
    if not isinstance(content, list) or not content:
        return ["content must be a string or a non-empty list"]
    return [reason for p in content for reason in _part(p, PARTS.get(role, {"input_text"} | MEDIA))]


def _part(p: Any, allowed: set[str]) -> list[str]:
    kind = p.get("type") if isinstance(p, dict) else None
    if kind not in allowed:
        return [f"part of type {kind!r}, allowed here: {sorted(allowed)}"]
    return ["text part without a text"] if kind.endswith("_text") and not isinstance(p.get("text"), str) else []


def _call_key(item: dict[str, Any]) -> tuple[str, Any] | None:
    """What pairs a call with its output; None for a call the server answered, which need not be paired."""
    kind = OUTPUT_OF.get(type_of(item), type_of(item))
    if kind not in OUTPUT_OF.values() or item.get("execution") == "server":
        return None
    return kind, item.get("call_id") or item.get("id")


def _pairs(items: list[dict[str, Any]], elsewhere: bool) -> list[str]:
    found: list[str] = []
    elsewhere = elsewhere or any(type_of(item) == "item_reference" for item in items)
    calls: Counter[tuple[str, Any]] = Counter()
    answered: Counter[tuple[str, Any]] = Counter()
    for i, item in enumerate(items):
        key = _call_key(item)
        if type_of(item) in OUTPUT_OF:
            if key is None:
                if not any(type_of(c) == "tool_search_call" and c.get("execution") == "server" for c in items[:i]):
                    found.append(f"{i}: served tool_search_output without its call")
                continue
            answered[key] += 1
            if key not in calls and not elsewhere:
                found.append(f"{i}: output {key[1]!r} without its call before it")
            if answered[key] > 1:
                found.append(f"{i}: call {key[1]!r} answered twice")
        elif key is not None:
            calls[key] += 1
            if calls[key] > 1:
                found.append(f"{i}: call_id {key[1]!r} used twice")
    return found + [f"call {key[1]!r} has no output" for key in calls if key not in answered]


def _is_reply(item: dict[str, Any]) -> bool:
    return type_of(item) in REPLY or (type_of(item) == "message" and item.get("role") == "assistant")


def _reasoning(items: list[dict[str, Any]]) -> list[str]:
    return [
        f"{i}: reasoning without the item it led to"
        for i, item in enumerate(items)
        if type_of(item) == "reasoning" and not (i + 1 < len(items) and _is_reply(items[i + 1]))
    ]


def read(item: dict[str, Any]) -> Message:
    kind, whole = type_of(item), canonical(item)
    if kind == "message":
        content = item.get("content")
        atoms = [alignment.text(content)] if isinstance(content, str) else [_atom(p) for p in content or []]
        frame = canonical({**without(item, "content"), "shape": type(content).__name__})
        plain = set(item) <= {"type", "role", "content"}
        return Message(str(item.get("role")), whole, frame, tuple(atoms), plain)
    if kind == "function_call":
        args = parsed(item.get("arguments"))
        atom = alignment.call(item, without(item, "arguments"), args, item.get("call_id"))
    elif kind == "custom_tool_call":
        atom = alignment.call(item, without(item, "input"), {"input": item.get("input")}, item.get("call_id"))
    elif kind in OUTPUT_OF and "output" in item:
        atom = alignment.result(item, without(item, "output"), item["output"], item.get("call_id"))
    else:
        atom = alignment.opaque(item)
    return Message("assistant" if kind in REPLY else "tool", whole, canonical(kind), (atom,), plain=False)


def _atom(p: dict[str, Any]) -> Atom:
    kind = p.get("type")
    if kind in ("input_text", "output_text"):
        return alignment.text(p)
    return alignment.media(p) if kind in MEDIA else alignment.opaque(p)


def _thoughts_kept(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """An item the server knows by id is refused when the reasoning it came from is left out."""

    def cause(items: list[dict[str, Any]]) -> dict[str, str]:
        causes: dict[str, str] = {}
        thought = ""
        for item in items:
            if type_of(item) == "reasoning":
                thought = str(item.get("id"))
            elif not _is_reply(item):
                thought = ""
            elif item.get("id") and thought:
                causes[item["id"]] = thought
        return causes

    now, ids = cause(after), {item.get("id") for item in after}
    return [
        f"item {key} lost its reasoning {thought}"
        for key, thought in cause(before).items()
        if key in ids and now.get(key) != thought
    ]


def _prompt(body: dict[str, Any]) -> Message | None:
    return read({"role": "system", "content": body["instructions"]}) if body.get("instructions") else None


def intact(before: Any, after: Any, *, need_ref: bool = True, ignore: tuple[str, ...] = ()) -> list[str]:
    """What a fold may not change; `ignore` names fields the caller changed on purpose."""
    if type(before) is not type(after):
        return ["a list became a body, or the other way round"]
    found: list[str] = []
    if isinstance(before, dict):
        found += alignment.fields(before, after, ("input", "instructions", *ignore))
        if type(before.get("input")) is not type(after.get("input")):
            found.append("input changed between string and list")
        found += alignment.compare_system(_prompt(before), _prompt(after), need_ref)
    old, new = items_of(before), items_of(after)
    if [item for item in old if lasting(item)] != [item for item in new if lasting(item)]:
        found.append("tools given on the way, or a server's own compaction, were changed")
    said = [[item for item in side if not lasting(item)] for side in (old, new)]
    found += alignment.compare([read(m) for m in said[0]], [read(m) for m in said[1]], need_ref)
    return found + _thoughts_kept(old, new)


def lasting(item: Any) -> bool:
    """What stays in force for the rest of the conversation, so no fold may take it away."""
    return isinstance(item, dict) and item.get("type") in ("additional_tools", "compaction", "compaction_summary")
