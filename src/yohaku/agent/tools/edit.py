"""Exchanges one piece of a file for another."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import flag, takes, text
from yohaku.agent.toolkit.diffs import counted
from yohaku.agent.toolkit.edits import draft, replaced, save
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    old, new = given["old_string"], given["new_string"]
    was = draft(bench, given["path"], new=not old)
    text = replaced(was, was.text, old, new, given.get("replace_all", False))
    told = await save(bench, "edit", was, text)
    put, taken = counted(was.text, text)
    return ToolResult(
        f"{'Edited' if was.data is not None else 'Created'} {was.name} (+{put} -{taken} lines).", diff=told
    )


TOOL = AgentTool(
    "edit",
    "Replace old_string, which must stand exactly once in the file, by new_string. Copy it exactly as it is, with its "
    "indentation and without line numbers, and with enough lines around it to be unique.",
    takes(
        "path old_string new_string",
        path=text(),
        old_string=text(),
        new_string=text(),
        replace_all=flag("Replace it wherever it stands"),
    ),
    "write",
    run,
    lambda given: f"Edit {given.get('path', '')}",
    brief="Replace old_string (exact, unique in the file) by new_string.",
)
