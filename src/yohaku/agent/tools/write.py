"""Tool that writes a whole file."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.diffs import count_changed_lines
from yohaku.agent.toolkit.edits import match_newlines, open_for_edit, save_edit
from yohaku.agent.toolkit.secrets import restore_secrets
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    file = open_for_edit(context, arguments["path"], new=True)
    if file.data and not context.files.knows(file.path):
        raise BadArguments(f"{file.name} is there already and you have not read it. Read it first, or use edit.")
    wanted = match_newlines(restore_secrets(arguments["content"], file.text), file.form)
    if file.data is not None and wanted == file.text:
        return ToolResult(f"{file.name} has exactly this content already.")
    diff = await save_edit(context, "write", file, wanted)
    lines = wanted.count("\n") + (not wanted.endswith("\n")) if wanted else 0
    if file.data is None:
        return ToolResult(f"Created {file.name} ({lines:,} lines).", diff=diff)
    put, taken = count_changed_lines(file.text, wanted)
    return ToolResult(f"Overwritten {file.name} ({lines:,} lines; +{put} -{taken}).", diff=diff)


TOOL = AgentTool(
    "write",
    "Create a file, or replace all of one that you have read. For changes in a file use edit.",
    object_schema("path content", path=string(), content=string()),
    "write",
    run,
    lambda arguments: f"Write {arguments.get('path', '')}",
    brief="Create or replace a whole file.",
)
