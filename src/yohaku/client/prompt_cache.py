"""Marks by which Anthropic's API knows what to keep for the next request: others keep it by themselves.

Law: a mark changes nothing of what is said, and stands on a copy: the conversation has none.
"""

from __future__ import annotations

from yohaku.client.endpoint import Endpoint
from yohaku.dialects.dialect import Json

MARK = {"cache_control": {"type": "ephemeral"}}
MARKABLE = ("text", "image", "document", "tool_use", "tool_result")
NEWEST = 2
"""Entries of the user that are marked, the newest: one finds what the last request kept, one keeps what is new."""


def marked(body: Json, endpoint: Endpoint) -> Json:
    """The body with marks behind the system prompt, which tools stand before, and behind the newest entries."""
    if endpoint.dialect != "anthropic" or endpoint.local:
        return body
    messages = list(body["messages"])
    spoken = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in spoken[-NEWEST:]:
        messages[index] = {**messages[index], "content": _marked(messages[index]["content"])}
    system = {"system": _marked(body["system"])} if body.get("system") else {}
    return {**body, **system, "messages": messages}


def _marked(content: Json) -> Json:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if blocks and blocks[-1].get("type") in MARKABLE:
        blocks[-1] = {**blocks[-1], **MARK}
    return blocks
