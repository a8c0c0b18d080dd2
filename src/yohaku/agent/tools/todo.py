"""Tool that writes the plan: a list the model keeps and the user sees."""

from __future__ import annotations

from typing import Any, TypeAlias

from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

STATUSES = ("pending", "doing", "done")
_STATUS_ALIASES = {
    "in_progress": "doing", "in-progress": "doing", "active": "doing", "completed": "done", "complete": "done",
    "todo": "pending", "open": "pending",
}  # fmt: skip
TodoItem: TypeAlias = tuple[str, str]
"""Status and text."""
MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    context.todo[:] = read_items(arguments)
    return ToolResult("\n".join(map(format_item, context.todo)) or "The list is empty.")


def read_items(arguments: Arguments) -> list[TodoItem]:
    return [_item(one) for one in arguments["items"]]


def format_item(item: TodoItem) -> str:
    status, text = item
    return f"{MARKS[status]} {text}"


def _item(one: Any) -> TodoItem:
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
