"""The tools of the agent, one a file: which there are in which tier, how a model is told of them, how one is used.

Law: what a model got wrong, and what the outside refused, is told to it; a call never brings the agent down.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any, Literal

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, repair_arguments
from yohaku.agent.toolkit.permissions import REFUSED, PermissionRefused
from yohaku.agent.toolkit.secrets import redact
from yohaku.agent.toolkit.seen_files import StaleFile
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.core.errors import YohakuError
from yohaku.core.model import Call, Result, Text, ToolUse
from yohaku.dialects import dialect_named
from yohaku.dialects.server_api import Signature
from yohaku.passes.one_line_results import line

SMALL_TIER = ("bash", "read", "write", "edit", "glob", "grep")
FULL_TIER = (
    *SMALL_TIER,
    "list_dir",
    "multi_edit",
    "notebook_edit",
    "todo",
    "web_fetch",
    "sub_agent",
    "ask_user",
    "tool_output_cache",
    "tool_output_cache_grep",
)


def tools_for(tier: Literal["small", "full"]) -> tuple[AgentTool, ...]:
    return tuple(map(tool_named, SMALL_TIER if tier == "small" else FULL_TIER))


@cache
def tool_named(name: str) -> AgentTool:
    tool: AgentTool = import_module(f"yohaku.agent.tools.{name}").TOOL
    return tool


def tool_definitions(tools: tuple[AgentTool, ...], dialect: str, brief: bool = False) -> list[dict[str, Any]]:
    """The `tools` of a request in this dialect. Brief ones say what a small window has room for."""
    described = (
        Signature(tool.name, tool.brief or tool.about if brief else tool.about, _schema(tool, brief)) for tool in tools
    )
    return dialect_named(dialect).tool_definitions(described)


def _schema(tool: AgentTool, brief: bool) -> dict[str, Any]:
    if not brief:
        return tool.parameters
    said = {
        name: {key: value for key, value in each.items() if key != "description"}
        for name, each in tool.parameters["properties"].items()
    }
    return {**tool.parameters, "properties": said}


async def run_tool(tool: AgentTool, context: ToolContext, arguments: Arguments | str) -> ToolResult:
    """Runs a tool on what a model gave it. What is told is free of secrets, and taken from the room."""
    try:
        result = await tool.run(context, repair_arguments(tool, arguments))
    except PermissionRefused:
        result = ToolResult(REFUSED, error=True)
    except (BadArguments, StaleFile, YohakuError) as why:
        result = ToolResult(str(why), error=True)
    except OSError as why:
        result = ToolResult(f"{why.strerror or why}: {why.filename or tool.name}", error=True)
    except (ValueError, RecursionError, MemoryError) as why:
        result = ToolResult(f"{tool.name} failed: {str(why) or type(why).__name__}", error=True)
    result = ToolResult(redact(result.text), result.error, redact(result.diff), result.cut, result.media)
    output_budget.spend(result.text)
    return result


def summarize_call(name: str, arguments: Arguments | str, text: str, error: bool = False) -> str:
    """What a call did, in one line: `Read: main.go (500 lines, Go)`."""
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return line(ToolUse(Call("", name, said), Result((Text(text),), error)), text)
