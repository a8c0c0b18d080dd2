"""Lists a folder: one level, folders first, files with their sizes."""

from __future__ import annotations

import os
from pathlib import Path

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, takes, text
from yohaku.agent.toolkit.edits import missing
from yohaku.agent.toolkit.permissions import REFUSED, place, reading
from yohaku.agent.toolkit.save_output import size
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

CAP = 500


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    path = place(bench, given.get("path", "."))
    ask = reading(bench, "list_dir", path)
    if ask and not await bench.allow(ask):
        return ToolResult(REFUSED, error=True)
    if not path.exists():
        raise BadArguments(missing(bench, path))
    if not path.is_dir():
        raise BadArguments(f"{bench.files.name(path)} is a file: read it.")
    return listing(bench, path)


def listing(bench: ToolContext, path: Path) -> ToolResult:
    with os.scandir(path) as scanned:
        entries = sorted(scanned, key=lambda entry: (not entry.is_dir(), entry.name))
    lines = [_line(entry) for entry in entries[:CAP]]
    more = [f"[and {len(entries) - CAP:,} more]"] if len(entries) > CAP else []
    head = f"{bench.files.name(path)}/" if bench.files.name(path) != "." else "./"
    shown, cut = output_budget.head("\n".join([head, *lines, *more]), f"[cut; {len(entries):,} entries: use glob]")
    return ToolResult(shown if entries else f"{head} is empty", cut=cut or bool(more))


def _line(entry: os.DirEntry[str]) -> str:
    try:
        link = f" -> {Path(entry.path).readlink()}" if entry.is_symlink() else ""
        if entry.is_dir():
            return f"  {entry.name}/{link}"
        return f"  {entry.name}{link} ({size(entry.stat(follow_symlinks=False).st_size)})"
    except OSError:
        return f"  {entry.name}"


TOOL = AgentTool(
    "list_dir",
    "List a folder: its folders, and its files with their sizes.",
    takes("", path=text("Default: the project")),
    "read",
    run,
    lambda given: f"List {given.get('path', '.')}",
)
