"""Tool that searches in what was folded or cut."""

from __future__ import annotations

from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools.tool_output_cache import open_saved
from yohaku.recall import tools as recall


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    return await open_saved(context, recall.GREP.name, arguments)


TOOL = AgentTool(
    recall.GREP.name,
    recall.GREP.description,
    recall.GREP.parameters,
    "inner",
    run,
    lambda arguments: f"Search {arguments.get('pattern', '')} in {arguments.get('ref_id', '')}",
)
