"""Chat entries on the wire: their texts, their tokens, and a check that every provider would accept them.

Independent of the package's own reader, so that it can judge what that produces. Law: each call is answered once,
directly after it, batches whole; the user speaks before the model; nothing is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from yohaku.core.meter import Meter
from yohaku.core.model import Opaque
from yohaku.dialects.json_values import media_from_url
from yohaku.lab.identifiers import argument_texts

Entry: TypeAlias = dict[str, Any]


def content_texts(entry: Entry) -> list[str]:
    content = entry.get("content")
    if isinstance(content, list):
        return [block["text"] for block in content if block.get("type") == "text"]
    return [content] if content else []


def call_texts(entry: Entry) -> list[str]:
    """Return the name and the argument values of each call."""
    return [
        "\n".join([call["function"]["name"], *argument_texts(call["function"]["arguments"])])
        for call in entry.get("tool_calls") or ()
    ]


def texts_of(entry: Entry) -> list[str]:
    return content_texts(entry) + call_texts(entry)


def weigh(entry: Entry, meter: Meter) -> int:
    """Count the tokens of one entry."""
    frame = meter.frame
    tokens = sum(map(meter.count, content_texts(entry))) + sum(map(meter.weigh, _media(entry)))
    if entry["role"] == "tool":
        return tokens + frame.result
    calls = entry.get("tool_calls") or ()
    for call in calls:
        function = call["function"]
        tokens += frame.call + sum(map(meter.count, frame.invoke(function["name"], function["arguments"])))
    return tokens + frame.message + (frame.parallel * len(calls) if len(calls) > 1 else 0)


def _media(entry: Entry) -> Iterator[Opaque]:
    """Yield the images, sounds, documents and videos beside the texts."""
    blocks = entry.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        match block:
            case {"type": "image_url", "image_url": {"url": url, **rest}}:
                yield media_from_url("image", url, (), str(rest.get("detail", "")))
            case {"type": "input_audio", "input_audio": {"data": data, "format": form}}:
                yield Opaque("audio", data, "base64", f"audio/{form}")
            case {"type": "file", "file": {"file_data": url}}:
                yield media_from_url("document", url, ())
            case {"type": "video_url", "video_url": {"url": url}}:
                yield media_from_url("video", url, ())


def problem(entries: list[Entry], begins: str = "user", empty: frozenset[str] = frozenset()) -> str:
    """Return the first violation, or "". `begins`: role of the first entry; `empty`: calls recorded with no output."""
    if not entries:
        return "there is nothing in it"
    waiting: list[str] = []
    first = True
    for number, entry in enumerate(entries):
        role = entry.get("role")
        if role == "tool":
            if not waiting or entry.get("tool_call_id") != waiting[0]:
                return f"{number}: a result that answers no call before it"
            if not has_text(entry.get("content")) and waiting[0] not in empty:
                return f"{number}: an empty result"
            del waiting[0]
            continue
        if waiting:
            return f"{number}: a call before this has no result"
        if first and role != "system":
            first = False
            if role not in ("user", begins):
                return f"{number}: it begins with the {role}"
        wrong, waiting = _check_speaker(entry)
        if wrong:
            return f"{number}: {wrong}"
    return "the last call has no result" if waiting else ""


def _check_speaker(entry: Entry) -> tuple[str, list[str]]:
    """Check an entry of the system, the user or the model. Return the violation, or "", and the ids of its calls."""
    role = entry.get("role")
    if role not in ("system", "user", "assistant"):
        return f"nobody is called {role!r}", []
    calls = [call.get("id") for call in entry.get("tool_calls") or ()]
    if calls and role != "assistant":
        return f"a call by the {role}", []
    if len(set(calls)) < len(calls) or not all(calls):
        return "calls that cannot be told apart", []
    content = entry.get("content")
    if not has_text(content) and not (calls and content is None):
        return f"an empty {role} text", []
    return "", calls


def has_text(content: Any) -> bool:
    if isinstance(content, list):
        return bool(content) and all(block.get("type") != "text" or has_text(block.get("text")) for block in content)
    return isinstance(content, str) and bool(content.strip())
