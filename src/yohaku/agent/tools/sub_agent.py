"""Tool that runs a task in an agent with its own window; only the report comes back."""

from __future__ import annotations

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.output_budget import ref_note, save_output
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    if not arguments["task"].strip():
        raise BadArguments("The task is empty.")
    report = await context.delegate(arguments["task"])
    if output_budget.fits(report):
        return ToolResult(report or "It brought nothing back.")
    saved = await save_output(context, report)
    shown, cut = output_budget.keep_head(report, f"[the rest of the report is left out{ref_note(saved)}]")
    return ToolResult(shown, cut=cut, output=saved)


def _title(arguments: Arguments) -> str:
    task = " ".join(str(arguments.get("task", "")).split())
    return f"Sub-agent: {task if len(task) <= 80 else task[:79] + '…'}"


TOOL = AgentTool(
    "sub_agent",
    "Give a task to a helper with its own context, for work that needs much reading: it sees nothing of this "
    "conversation, so say everything it needs and what to report. Only its report comes back.",
    object_schema("task", task=string()),
    "inner",
    run,
    _title,
)
