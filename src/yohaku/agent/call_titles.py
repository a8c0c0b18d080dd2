"""A call in one line for people, also one of an earlier session or of another program's. Law: it never raises."""

from __future__ import annotations

import json

from yohaku.core.model import Call

MOST = 200


def call_title(call: Call) -> str:
    """As the tool itself says it, where it is one of ours; else its name and what it was asked."""
    from yohaku.agent.tools import tools_for

    tool = next((tool for tool in tools_for("full") if tool.name == call.name), None)
    try:
        asked = json.loads(call.arguments)
        if tool and isinstance(asked, dict) and set(tool.parameters.get("required", ())) <= asked.keys():
            return tool.title(asked)[:MOST]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # arguments of another make
        pass
    return f"{call.name} {call.arguments}"[:MOST]
