"""Gemini generateContent: what a request body may look like, in camelCase and in snake_case.

Law: the content after the function calls of a model turn holds one function response for each of them, by name.
Neighbouring model contents are one turn, as the API sees it.
"""

from collections import Counter
from typing import Any

from . import alignment
from .alignment import Atom, Message, canonical, without

DATA = {
    "text": "text",
    "inlineData": "media",
    "fileData": "media",
    "functionCall": "call",
    "functionResponse": "response",
    "executableCode": "opaque",
    "codeExecutionResult": "opaque",
    "toolCall": "opaque",
    "toolResponse": "opaque",
}


def camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def data_of(part: Any) -> list[tuple[str, str]]:
    """The data fields of a part: (key as written, kind). A lawful part has exactly one."""
    return (
        [(k, DATA[camel(k)]) for k, v in part.items() if camel(k) in DATA and v is not None]
        if isinstance(part, dict)
        else []
    )


def contents_of(body: Any) -> Any:
    return body if isinstance(body, list) else body.get("contents")


def role_of(content: dict[str, Any]) -> str:
    return str(content.get("role") or "user")


def problems(body: Any) -> list[str]:
    contents = contents_of(body)
    if not isinstance(contents, list) or not contents:
        return ["contents must be a non-empty list"]
    found: list[str] = []
    for i, c in enumerate(contents):
        if not isinstance(c, dict) or role_of(c) not in ("user", "model", "function"):
            found.append(f"{i}: unknown role {c.get('role') if isinstance(c, dict) else c!r}")
        else:
            found += [f"{i}: {reason}" for reason in _parts(c)]
    if found:
        return found
    if role_of(contents[0]) != "user":
        found.append("the first content must be from the user")
    if isinstance(body, dict):
        for key in ("systemInstruction", "system_instruction"):
            system = body.get(key)
            if system is not None and (not isinstance(system, dict) or not system.get("parts")):
                found.append(f"{key} needs parts")
    return found + _pairs(contents)


def _parts(content: dict[str, Any]) -> list[str]:
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        return ["content without parts"]
    found: list[str] = []
    for p in parts:
        data = data_of(p)
        if len(data) != 1:
            found.append(f"a part needs exactly one kind of data, has {[k for k, _ in data]}")
            continue
        (key, kind), value = data[0], p[data[0][0]]
        if kind == "text":
            found += [] if isinstance(value, str) else ["text must be a string"]
        elif not isinstance(value, dict):
            found.append(f"{key} must be an object")
        elif kind == "call":
            good = role_of(content) == "model" and value.get("name") and isinstance(value.get("args") or {}, dict)
            found += [] if good else ["a function call needs role model, a name and args that are an object"]
        elif kind == "response":
            good = role_of(content) != "model" and value.get("name") and isinstance(value.get("response"), dict)
            found += [] if good else ["a function response needs role user, a name and a response that is an object"]
        elif kind == "media":
            source = {camel(k) for k in value}
            found += [] if "mimeType" in source or "fileUri" in source else [f"{key} without a type"]
    return found


def _named(content: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [p[key] for p in content["parts"] for key, k in data_of(p) if k == kind]


def _pairs(contents: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    waiting: list[dict[str, Any]] = []
    for i, c in enumerate(contents):
        responses = _named(c, "response")
        if role_of(c) == "model":
            waiting += _named(c, "call")
            continue
        if Counter(r["name"] for r in responses) != Counter(w["name"] for w in waiting):
            found.append(f"{i}: calls {[w['name'] for w in waiting]} answered by {[r['name'] for r in responses]}")
        elif all(x.get("id") for x in responses + waiting) and {r["id"] for r in responses} != {
            w["id"] for w in waiting
        }:
            found.append(f"{i}: ids of the responses are not those of the calls")
        waiting = []
    return [*found, f"calls {[w['name'] for w in waiting]} not answered at the end"] if waiting else found


def read(content: dict[str, Any]) -> Message:
    atoms = tuple(_atom(p) for p in content.get("parts") or [])
    plain = set(content) == {"role", "parts"}
    return Message(role_of(content), canonical(content), canonical(without(content, "parts")), atoms, plain)


def _atom(p: dict[str, Any]) -> Atom:
    data = data_of(p)
    if p.get("thought"):
        return alignment.thought(p, bound=any(camel(key) == "thoughtSignature" for key in p))
    if len(data) != 1:
        return alignment.opaque(p)
    key, kind = data[0]
    if kind == "text":
        return alignment.text(p, key)
    if kind == "call":
        return alignment.call(p, {**p, key: without(p[key], "args")}, p[key].get("args"), p[key].get("id"))
    if kind == "response":
        shown = {k: p[key][k] for k in ("response", "parts") if k in p[key]}
        return alignment.result(p, {**p, key: without(p[key], *shown)}, shown, p[key].get("id"))
    return alignment.media(p) if kind == "media" else alignment.opaque(p)


def intact(before: Any, after: Any, *, need_ref: bool = True, ignore: tuple[str, ...] = ()) -> list[str]:
    """What a fold may not change; `ignore` names fields the caller changed on purpose."""
    if type(before) is not type(after):
        return ["a list became a body, or the other way round"]
    found: list[str] = []
    if isinstance(before, dict):
        keys = ("systemInstruction", "system_instruction")
        found += alignment.fields(before, after, ("contents", *keys, *ignore))
        for key in keys:
            old_system, new_system = (read(b[key]) if b.get(key) else None for b in (before, after))
            found += alignment.compare_system(old_system, new_system, need_ref)
    old, new = [read(c) for c in contents_of(before)], [read(c) for c in contents_of(after)]
    return found + alignment.compare(old, new, need_ref)
