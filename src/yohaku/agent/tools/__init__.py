"""Registry of the agent's tools, one a file, and `run_tool`, which runs one.

To add a tool: a file here with `run` and `TOOL`, and its name in a tier below. A tool of another package is an
`AgentTool` registered with `yohaku.plugins.register("tools", name, tool)`, or an entry point in the group
"yohaku.tools"; it is offered in both tiers.
Law: bad arguments and errors of the system are results the model can read; a call never brings the agent down.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Literal

from yohaku import plugins
from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, repair_arguments
from yohaku.agent.toolkit.permissions import PermissionRefused
from yohaku.agent.toolkit.secrets import UnknownSecret, redact
from yohaku.agent.toolkit.seen_files import StaleFile
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.core.errors import BadSetting, YohakuError
from yohaku.core.model import Call, Result, Text, ToolUse
from yohaku.dialects import dialect_named
from yohaku.dialects.server_api import Signature
from yohaku.passes.one_line_results import summarise_use

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
    """Return the built-in tools of a tier and all registered ones. A built-in tool cannot be replaced."""
    names = SMALL_TIER if tier == "small" else FULL_TIER
    registered = (name for name in plugins.names("tools") if name not in FULL_TIER)
    return tuple(map(tool_named, (*names, *registered)))


def tool_named(name: str) -> AgentTool:
    if name in FULL_TIER:
        return _load_builtin(name)
    tool = plugins.find("tools", name)
    if not isinstance(tool, AgentTool):
        raise BadSetting(f"the tool {name!r} is not registered, or is not an AgentTool")
    return tool


@cache
def _load_builtin(name: str) -> AgentTool:
    tool: AgentTool = import_module(f"yohaku.agent.tools.{name}").TOOL
    return tool


def tool_definitions(tools: tuple[AgentTool, ...], dialect: str, brief: bool = False) -> list[dict[str, Any]]:
    """Return the `tools` field of a request. `brief`: short descriptions, for a small window."""
    described = (
        Signature(tool.name, tool.brief or tool.about if brief else tool.about, _schema(tool, brief)) for tool in tools
    )
    return dialect_named(dialect).tool_definitions(described)


def _schema(tool: AgentTool, brief: bool) -> dict[str, Any]:
    if not brief:
        return tool.parameters
    properties = {
        name: {key: value for key, value in each.items() if key != "description"}
        for name, each in tool.parameters["properties"].items()
    }
    return {**tool.parameters, "properties": properties}


async def run_tool(tool: AgentTool, context: ToolContext, arguments: Arguments | str) -> ToolResult:
    """Run a tool with a model's arguments. The result holds no secret, and its text is taken from the output budget."""
    try:
        result = await tool.run(context, repair_arguments(tool, arguments))
    except PermissionRefused:
        result = ToolResult(REFUSED, error=True)
    except (BadArguments, StaleFile, UnknownSecret, YohakuError) as why:
        result = ToolResult(str(why), error=True)
    except OSError as why:
        result = ToolResult(f"{why.strerror or why}: {why.filename or tool.name}", error=True)
    except (ValueError, RecursionError, MemoryError) as why:
        result = ToolResult(f"{tool.name} failed: {str(why) or type(why).__name__}", error=True)
    result = replace(result, text=redact(result.text), diff=redact(result.diff))
    output_budget.spend(result.text)
    return result


def summarize_call(name: str, arguments: Arguments | str, text: str, error: bool = False) -> str:
    """Return one line about a finished call: `Read: main.go (500 lines, Go)`."""
    call = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return summarise_use(ToolUse(Call("", name, call), Result((Text(text),), error)), text)
