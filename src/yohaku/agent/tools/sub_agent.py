"""Hands a task to an agent with a window of its own; only what it brings back comes into this one."""

from __future__ import annotations

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, takes, text
from yohaku.agent.toolkit.save_output import keep
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    if not given["task"].strip():
        raise BadArguments("The task is empty.")
    said = await bench.delegate(given["task"])
    if output_budget.fits(said):
        return ToolResult(said or "It brought nothing back.")
    shown, cut = output_budget.head(said, f"[cut{await keep(bench, said)}]")
    return ToolResult(shown, cut=cut)


def _title(given: Arguments) -> str:
    said = " ".join(str(given.get("task", "")).split())
    return f"Sub-agent: {said if len(said) <= 80 else said[:79] + '…'}"


TOOL = AgentTool(
    "sub_agent",
    "Give a task to a helper with its own context, for work that needs much reading: it sees nothing of this "
    "conversation, so say everything it needs and what to report. Only its report comes back.",
    takes("task", task=text()),
    "inner",
    run,
    _title,
)
