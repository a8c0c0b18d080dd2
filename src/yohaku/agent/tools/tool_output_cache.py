"""Opens what was folded away or left out, by its ref."""

from __future__ import annotations

import asyncio

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.recall import tools as recall


async def opened(bench: ToolContext, name: str, given: Arguments) -> ToolResult:
    if bench.session is None:
        raise BadArguments("Nothing is kept in this session.")
    said = await asyncio.to_thread(recall.call, bench.session.store, name, given)
    shown, cut = output_budget.head(
        said, "[cut; give a smaller limit, and go on from the line after the last one here]"
    )
    return ToolResult(shown, cut=cut)


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    return await opened(bench, recall.READ.name, given)


TOOL = AgentTool(
    recall.READ.name,
    recall.READ.description,
    recall.READ.parameters,
    "inner",
    run,
    lambda given: f"Recall {given.get('ref_id', '')}",
)
