"""The plan: a list the model keeps, and the user sees."""

from __future__ import annotations

from typing import Any

from yohaku.agent.toolkit.arguments import BadArguments, takes, text
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

STATUS = ("pending", "doing", "done")
_ALSO = {"in_progress": "doing", "in-progress": "doing", "active": "doing", "completed": "done", "complete": "done",
         "todo": "pending", "open": "pending"}  # fmt: skip
MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    bench.todo[:] = [_item(one) for one in given["items"]]
    return ToolResult("\n".join(f"{MARKS[status]} {said}" for status, said in bench.todo) or "The list is empty.")


def _item(one: Any) -> tuple[str, str]:
    if isinstance(one, str):
        return "pending", one
    one = one if isinstance(one, dict) else {}
    said = next((one[name] for name in ("text", "content", "title", "task") if name in one), None)
    status = str(one.get("status", "pending")).lower()
    status = _ALSO.get(status, status)
    if not isinstance(said, str) or status not in STATUS:
        raise BadArguments(f"Each item needs a text and a status: {', '.join(STATUS)}.")
    return status, said


TOOL = AgentTool(
    "todo",
    "Write down the plan for work of several steps; each call gives the whole list. Have one item in doing.",
    takes("items", items={"type": "array", "items": takes("text status", text=text(), status=text(enum=list(STATUS)))}),
    "inner",
    run,
    lambda given: f"Plan ({len(given.get('items') or ())} items)",
)
