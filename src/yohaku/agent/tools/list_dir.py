"""Tool that lists a folder: one level, folders first, files with their sizes."""

from __future__ import annotations

import os
from pathlib import Path

from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.edits import describe_missing
from yohaku.agent.toolkit.ordinary_files import show_name
from yohaku.agent.toolkit.output_budget import format_size, ref_note, save_in_thread
from yohaku.agent.toolkit.permissions import read_request, resolve_path
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

MAX_ENTRIES = 500


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    path = resolve_path(context, arguments.get("path", "."))
    request = read_request(context, "list_dir", path)
    if request and not await context.allow(request):
        return ToolResult(REFUSED, error=True)
    if not path.exists():
        raise BadArguments(describe_missing(context, path))
    if not path.is_dir():
        raise BadArguments(f"{context.files.name(path)} is a file: read it.")
    return list_folder(context, path)


def list_folder(context: ToolContext, path: Path) -> ToolResult:
    with os.scandir(path) as scanned:
        entries = sorted(scanned, key=lambda entry: (not entry.is_dir(), entry.name))
    head = f"{context.files.name(path)}/" if context.files.name(path) != "." else "./"
    if not entries:
        return ToolResult(f"{head} is empty")
    text = "\n".join([head, *map(_line, entries)])
    if len(entries) <= MAX_ENTRIES and output_budget.fits(text):
        return ToolResult(text)
    saved = save_in_thread(context, text)
    note = f"[{len(entries):,} entries, not all shown{ref_note(saved)}; or use glob]"
    shown, _ = output_budget.keep_head("\n".join([*text.split("\n")[: MAX_ENTRIES + 1], note]), note)
    return ToolResult(shown, cut=True, output=saved)


def _line(entry: os.DirEntry[str]) -> str:
    name = show_name(entry.name)
    try:
        link = f" -> {show_name(str(Path(entry.path).readlink()))}" if entry.is_symlink() else ""
        if entry.is_dir():
            return f"  {name}/{link}"
        return f"  {name}{link} ({format_size(entry.stat(follow_symlinks=False).st_size)})"
    except OSError:
        return f"  {name}"


TOOL = AgentTool(
    "list_dir",
    "List a folder: its folders, and its files with their sizes.",
    object_schema("", path=string("Default: the project")),
    "read",
    run,
    lambda arguments: f"List {arguments.get('path', '.')}",
)
