"""Hands a task to an agent with a window of its own; only what it brings back comes into this one."""

from __future__ import annotations

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.output_budget import save_output
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    if not arguments["task"].strip():
        raise BadArguments("The task is empty.")
    said = await context.delegate(arguments["task"])
    if output_budget.fits(said):
        return ToolResult(said or "It brought nothing back.")
    shown, cut = output_budget.keep_head(said, f"[cut{await save_output(context, said)}]")
    return ToolResult(shown, cut=cut)


def _title(arguments: Arguments) -> str:
    said = " ".join(str(arguments.get("task", "")).split())
    return f"Sub-agent: {said if len(said) <= 80 else said[:79] + '…'}"


TOOL = AgentTool(
    "sub_agent",
    "Give a task to a helper with its own context, for work that needs much reading: it sees nothing of this "
    "conversation, so say everything it needs and what to report. Only its report comes back.",
    object_schema("task", task=string()),
    "inner",
    run,
    _title,
)
