"""Tool that asks the user."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import object_schema, string
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

NO_ANSWER = "Nobody is there to answer. Decide yourself, and say what you assumed."


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    answer = await context.question(arguments["question"], tuple(map(str, arguments.get("choices", ()))))
    return ToolResult(answer.strip() or NO_ANSWER)


TOOL = AgentTool(
    "ask_user",
    "Ask the user, in their language, when only they can decide and a wrong guess would cost much.",
    object_schema("question", question=string(), choices={"type": "array", "items": string()}),
    "inner",
    run,
    lambda arguments: f"Ask: {arguments.get('question', '')}",
)
