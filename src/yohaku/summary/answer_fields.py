"""Parser of a model's answer into its fields: tags or JSON, whole or broken off, thoughts and code fences removed."""

from __future__ import annotations

import json
import re

FIELDS = ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan")
"""Fields of a snapshot."""
TAGS = ("retain", "summary", "state_snapshot", *FIELDS)
THOUGHT_TAGS = ("think", "thinking", "thought", "scratchpad", "analysis", "reasoning")

ANY_TAG = re.compile(rf"</?(?:{'|'.join(TAGS + THOUGHT_TAGS)})\b[^<>\n]{{0,80}}>", re.I)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Control characters and lone surrogates, which cannot be encoded."""
_FENCE_LINE = re.compile(r"^[ \t]*```\w*[ \t]*$\n?", re.M)
_JSON_STRING = re.compile(r'"(\w{3,20})"\s*:\s*"((?:[^"\\]|\\.)*)')


def strip_wrapping(answer: str) -> str:
    """Return the answer without thoughts, control characters and code fences."""
    return _FENCE_LINE.sub("", _CONTROL.sub("", _strip_thoughts(answer))).strip()


def _strip_thoughts(answer: str) -> str:
    for name in THOUGHT_TAGS:
        ends = list(re.finditer(rf"</{name}\s*>", answer, re.I))
        if ends:
            # A server that was given the beginning of a thought sends only its end.
            first = re.search(rf"<{name}\s*>", answer, re.I)
            before = answer[: first.start()] if first and first.start() < ends[0].start() else ""
            answer = before + answer[ends[-1].end() :]
        elif begin := re.search(
            rf"<{name}\s*>", answer, re.I
        ):  # a thought without an end hides all up to a tag of ours
            behind = re.search(r"<(?:summary|retain|state_snapshot)\s*>", answer[begin.end() :], re.I)
            answer = answer[: begin.start()] + (answer[begin.end() + behind.start() :] if behind else "")
    return answer


def read_summary(text: str) -> dict[str, str]:
    """Return the fields "retain" and "summary"; text without tags is the summary."""
    values = _read_json(text) or _read_tags(text, ("retain", "summary"))
    if "summary" not in values:
        rest = text.replace(values.get("retain", "\0"), "") if values else text
        values = {**values, "summary": rest}
    return {name: values[name] for name in ("retain", "summary") if name in values}


def read_snapshot(text: str) -> dict[str, str]:
    """Return the fields of a snapshot that are there; text without fields is one field without a name."""
    inner = _read_tag(text, "state_snapshot") or text
    values = _read_json(text) or _read_tags(inner, FIELDS)
    return {name: values[name] for name in FIELDS if name in values} or {"": inner}


def _read_tags(text: str, names: tuple[str, ...]) -> dict[str, str]:
    return {name: found for name in names if (found := _read_tag(text, name)) is not None}


def _read_tag(text: str, name: str) -> str | None:
    """Return the text between two tags; if one is missing, up to or from the nearest other tag of ours."""
    opened = re.search(rf"<{name}\b[^<>\n]{{0,80}}>", text, re.I)
    start = opened.end() if opened else 0
    closed = re.compile(rf"</{name}\s*>", re.I).search(text, start)
    if not opened and not closed:
        return None
    inside = text[start : closed.start()] if closed else text[start:]
    if (not closed or not opened) and name != "state_snapshot":  # the tags inside a snapshot belong to it
        others = list(ANY_TAG.finditer(inside))
        if others:
            inside = inside[others[-1].end() :] if not opened else inside[: others[0].start()]
    return inside


def _read_json(text: str) -> dict[str, str]:
    """Return the fields of an answer in JSON, even if it breaks off; {} if it is not JSON."""
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {name: _unescape(found) for name, found in _JSON_STRING.findall(text) if name in TAGS}
    value = value.get("state_snapshot", value) if isinstance(value, dict) else {}
    return {name: _flatten(found) for name, found in value.items() if name in TAGS} if isinstance(value, dict) else {}


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _flatten(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(f"- {_flatten(item)}" for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value is not None else ""
