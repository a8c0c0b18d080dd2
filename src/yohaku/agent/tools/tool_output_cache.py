"""Tool that opens what was folded or cut, by its ref."""

from __future__ import annotations

import asyncio

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.recall import tools as recall


async def open_saved(context: ToolContext, name: str, arguments: Arguments) -> ToolResult:
    if context.session is None:
        raise BadArguments("Nothing is kept in this session.")
    text = await asyncio.to_thread(recall.call, context.session.store, name, arguments)
    shown, cut = output_budget.keep_head(
        text, "[cut; give a smaller limit, and go on from the line after the last one here]"
    )
    return ToolResult(shown, cut=cut)


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    return await open_saved(context, recall.READ.name, arguments)


TOOL = AgentTool(
    recall.READ.name,
    recall.READ.description,
    recall.READ.parameters,
    "inner",
    run,
    lambda arguments: f"Recall {arguments.get('ref_id', '')}",
)
