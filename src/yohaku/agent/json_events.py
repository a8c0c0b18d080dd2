"""Events as JSON, one object a line: what `--json` prints, for programs.

Law: every event has a `type`, and a field once given keeps its name and its meaning.
"""

from __future__ import annotations

import json
from typing import Any

from yohaku.agent.events import Called, Calling, Ended, Event, Folded, Gauge, Output, Replied, Said, Thought, Told

GAUGE = (
    "used", "window", "system", "tools", "turns", "last", "reserve", "limit", "exact", "messages", "foldings", "cuts",
    "warnings", "coming", "level",
)  # fmt: skip


def line(event: Event) -> str:
    """ASCII, so that any pipe takes it."""
    return json.dumps(fields(event))


def fields(event: Event) -> dict[str, Any]:
    match event:
        case Said(text):
            return {"type": "said", "text": text}
        case Thought(text):
            return {"type": "thought", "text": text}
        case Calling(call, title):
            return {"type": "calling", "id": call.id, "tool": call.name, "arguments": call.asked, "title": title}
        case Output(call, text):
            return {"type": "output", "id": call, "text": text}
        case Called(call, result, title, diff):
            facts = {"id": call.id, "tool": call.name, "title": title, "error": result.error}
            return {"type": "called", **facts, "text": result.text, "diff": diff}
        case Folded(receipt, manual):
            return {"type": "folded", "manual": manual, **receipt.report()}
        case Gauge():
            return {"type": "gauge", **{name: getattr(event, name) for name in GAUGE}}
        case Told(text, kind):
            return {"type": "told", "kind": kind, "text": text}
        case Replied(usage, stop):
            told = {"prompt": usage.prompt, "total": usage.total} if usage else None
            return {"type": "replied", "stop": stop, "usage": told}
        case Ended(why, text):
            return {"type": "ended", "why": why, "text": text}
