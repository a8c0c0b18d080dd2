"""Writes a whole file."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import BadArguments, takes, text
from yohaku.agent.toolkit.diffs import counted
from yohaku.agent.toolkit.edits import draft, ended_like, save
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    was = draft(bench, given["path"], new=True)
    if was.data and not bench.files.knows(was.path):
        raise BadArguments(f"{was.name} is there already and you have not read it. Read it first, or use edit.")
    wanted = ended_like(given["content"], was.form)
    if was.data is not None and wanted == was.text:
        return ToolResult(f"{was.name} has exactly this content already.")
    told = await save(bench, "write", was, wanted)
    lines = wanted.count("\n") + (not wanted.endswith("\n")) if wanted else 0
    if was.data is None:
        return ToolResult(f"Created {was.name} ({lines:,} lines).", diff=told)
    put, taken = counted(was.text, wanted)
    return ToolResult(f"Overwritten {was.name} ({lines:,} lines; +{put} -{taken}).", diff=told)


TOOL = AgentTool(
    "write",
    "Create a file, or replace all of one that you have read. For changes in a file use edit.",
    takes("path content", path=text(), content=text()),
    "write",
    run,
    lambda given: f"Write {given.get('path', '')}",
    brief="Create or replace a whole file.",
)
