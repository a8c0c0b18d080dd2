"""Searches in what was folded away or left out."""

from __future__ import annotations

from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools.tool_output_cache import opened
from yohaku.recall import tools as recall


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    return await opened(bench, recall.GREP.name, given)


TOOL = AgentTool(
    recall.GREP.name,
    recall.GREP.description,
    recall.GREP.parameters,
    "inner",
    run,
    lambda given: f"Search {given.get('pattern', '')} in {given.get('ref_id', '')}",
)
