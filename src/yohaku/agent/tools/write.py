"""Tool that writes a whole file."""

from __future__ import annotations

from collections import Counter

from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.diffs import count_changed_lines
from yohaku.agent.toolkit.edits import EditableFile, match_newlines, open_for_edit, save_edit
from yohaku.agent.toolkit.secrets import restore_secrets
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

MIN_REWRITTEN_LINES = 6
"""Lines that a file must have for most of it to be something to lose."""


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    file = open_for_edit(context, arguments["path"], new=True)
    if file.data and not context.files.knows(file.path):
        raise BadArguments(f"{file.name} is there already and you have not read it. Read it first, or use edit.")
    wanted = match_newlines(restore_secrets(arguments["content"], file.text), file.form)
    if file.data is not None and wanted == file.text:
        return ToolResult(f"{file.name} has exactly this content already.")
    if context.careful:
        _refuse_destruction(file, wanted)
    saved = await save_edit(context, "write", file, wanted)
    lines = wanted.count("\n") + (not wanted.endswith("\n")) if wanted else 0
    if file.data is None:
        return ToolResult(f"Created {file.name} ({lines:,} lines).{saved.note}", diff=saved.diff)
    put, taken = count_changed_lines(file.text, wanted)
    return ToolResult(f"Overwritten {file.name} ({lines:,} lines; +{put} -{taken}).{saved.note}", diff=saved.diff)


def _refuse_destruction(file: EditableFile, wanted: str) -> None:
    """Raise `BadArguments` where little of the file would be left, or where the content is a call written as text."""
    if _is_call(wanted):
        raise BadArguments("Refused, nothing was written: the content is a tool call. Give the text of the file.")
    old, new = _lines(file.text), _lines(wanted)
    kept = (old & new).total()
    if old.total() >= MIN_REWRITTEN_LINES and 2 * kept < old.total():
        raise BadArguments(
            f"Refused, nothing was written: {old.total() - kept} of the {old.total()} lines of {file.name} would be "
            "lost. Change only what has to change, with edit."
        )


def _lines(text: str) -> Counter[str]:
    return Counter(line for each in text.splitlines() if (line := each.strip()))


def _is_call(text: str) -> bool:
    from yohaku.agent.small_models.text_calls import find_calls
    from yohaku.agent.tools import FULL_TIER

    left, calls = find_calls(text, FULL_TIER)
    return bool(calls) and not left.strip("`<>/ \n")


TOOL = AgentTool(
    "write",
    "Create a file, or replace all of one that you have read. For changes in a file use edit.",
    object_schema("path content", path=string(), content=string()),
    "write",
    run,
    lambda arguments: f"Write {arguments.get('path', '')}",
    brief="Create or replace a whole file.",
)
