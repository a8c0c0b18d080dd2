"""Opens what was folded away or left out, by its ref."""

from __future__ import annotations

import asyncio

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import Wrong
from yohaku.agent.toolkit.tool import Arguments, Bench, Given, Tool
from yohaku.recall import tools as recall


async def opened(bench: Bench, name: str, given: Arguments) -> Given:
    if bench.session is None:
        raise Wrong("Nothing is kept in this session.")
    said = await asyncio.to_thread(recall.call, bench.session.store, name, given)
    shown, cut = output_budget.head(
        said, "[cut; give a smaller limit, and go on from the line after the last one here]"
    )
    return Given(shown, cut=cut)


async def run(bench: Bench, given: Arguments) -> Given:
    return await opened(bench, recall.READ.name, given)


TOOL = Tool(
    recall.READ.name,
    recall.READ.description,
    recall.READ.parameters,
    "inner",
    run,
    lambda given: f"Recall {given.get('ref_id', '')}",
)
