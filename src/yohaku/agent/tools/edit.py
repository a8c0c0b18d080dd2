"""Tool that replaces a piece of a file."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import boolean, object_schema, string
from yohaku.agent.toolkit.diffs import count_changed_lines
from yohaku.agent.toolkit.edits import open_for_edit, replace_text, save_edit
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    old, new = arguments["old_string"], arguments["new_string"]
    file = open_for_edit(context, arguments["path"], new=not old)
    text = replace_text(file, file.text, old, new, arguments.get("replace_all", False))
    saved = await save_edit(context, "edit", file, text)
    put, taken = count_changed_lines(file.text, text)
    return ToolResult(
        f"{'Edited' if file.data is not None else 'Created'} {file.name} (+{put} -{taken} lines).{saved.note}",
        diff=saved.diff,
    )


TOOL = AgentTool(
    "edit",
    "Replace old_string, which must stand exactly once in the file, by new_string. Copy it exactly as it is, with its "
    "indentation and without line numbers, and with enough lines around it to be unique.",
    object_schema(
        "path old_string new_string",
        path=string(),
        old_string=string(),
        new_string=string(),
        replace_all=boolean("Replace it wherever it stands"),
    ),
    "write",
    run,
    lambda arguments: f"Edit {arguments.get('path', '')}",
    brief="Replace old_string (exact, unique in the file) by new_string.",
)
