"""Tool that writes the plan: a list the model keeps and the user sees."""

from __future__ import annotations

from typing import Any

from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

STATUSES = ("pending", "doing", "done")
_STATUS_ALIASES = {
    "in_progress": "doing", "in-progress": "doing", "active": "doing", "completed": "done", "complete": "done",
    "todo": "pending", "open": "pending",
}  # fmt: skip
MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    context.todo[:] = [_item(one) for one in arguments["items"]]
    return ToolResult("\n".join(f"{MARKS[status]} {text}" for status, text in context.todo) or "The list is empty.")


def _item(one: Any) -> tuple[str, str]:
    if isinstance(one, str):
        return "pending", one
    one = one if isinstance(one, dict) else {}
    text = next((one[name] for name in ("text", "content", "title", "task") if name in one), None)
    status = str(one.get("status", "pending")).lower()
    status = _STATUS_ALIASES.get(status, status)
    if not isinstance(text, str) or status not in STATUSES:
        raise BadArguments(f"Each item needs a text and a status: {', '.join(STATUSES)}.")
    return status, text


TOOL = AgentTool(
    "todo",
    "Write down the plan for work of several steps; each call gives the whole list. Have one item in doing.",
    object_schema(
        "items",
        items={
            "type": "array",
            "items": object_schema("text status", text=string(), status=string(enum=list(STATUSES))),
        },
    ),
    "inner",
    run,
    lambda arguments: f"Plan ({len(arguments.get('items') or ())} items)",
)
