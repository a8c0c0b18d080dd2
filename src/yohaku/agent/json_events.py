"""Events as JSON, one object a line: what `--json` prints, for programs.

Law: every event has a `type`, and a field once given keeps its name and its meaning.
"""

from __future__ import annotations

import json
from typing import Any

from yohaku.agent.events import (
    ConversationFolded,
    Event,
    Gauge,
    ReplyFinished,
    TextDelta,
    ThoughtDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    UserNotice,
)

GAUGE_FIELDS = (
    "used", "window", "system", "tools", "turns", "last", "reserve", "limit", "exact", "messages", "foldings", "cuts",
    "warnings", "coming", "level",
)  # fmt: skip


def to_json(event: Event) -> str:
    """ASCII, so that any pipe takes it."""
    return json.dumps(to_fields(event))


def to_fields(event: Event) -> dict[str, Any]:
    match event:
        case TextDelta(text):
            return {"type": "said", "text": text}
        case ThoughtDelta(text):
            return {"type": "thought", "text": text}
        case ToolStarted(call, title):
            return {"type": "calling", "id": call.id, "tool": call.name, "arguments": call.asked, "title": title}
        case ToolOutput(call, text):
            return {"type": "output", "id": call, "text": text}
        case ToolFinished(call, result, title, diff):
            facts = {"id": call.id, "tool": call.name, "title": title, "error": result.error}
            return {"type": "called", **facts, "text": result.text, "diff": diff}
        case ConversationFolded(receipt, manual):
            return {"type": "folded", "manual": manual, **receipt.report()}
        case Gauge():
            return {"type": "gauge", **{name: getattr(event, name) for name in GAUGE_FIELDS}}
        case UserNotice(text, kind):
            return {"type": "told", "kind": kind, "text": text}
        case ReplyFinished(usage, stop):
            told = {"prompt": usage.prompt, "total": usage.total} if usage else None
            return {"type": "replied", "stop": stop, "usage": told}
        case TurnEnded(why, text):
            return {"type": "ended", "why": why, "text": text}
