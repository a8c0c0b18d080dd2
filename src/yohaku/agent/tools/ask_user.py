"""Asks the user, where only they can decide."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import takes, text
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

NOBODY = "Nobody is there to answer. Decide yourself, and say what you assumed."


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    answer = await bench.question(given["question"], tuple(map(str, given.get("choices", ()))))
    return ToolResult(answer.strip() or NOBODY)


TOOL = AgentTool(
    "ask_user",
    "Ask the user, in their language, when only they can decide and a wrong guess would cost much.",
    takes("question", question=text(), choices={"type": "array", "items": text()}),
    "inner",
    run,
    lambda given: f"Ask: {given.get('question', '')}",
)
