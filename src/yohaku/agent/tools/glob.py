"""Tool that finds files by a path pattern, the newest first."""

from __future__ import annotations

import heapq
import time
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.globs import compile_glob
from yohaku.agent.toolkit.long_search import LongSearch
from yohaku.agent.toolkit.output_budget import ref_note, save_in_thread
from yohaku.agent.toolkit.permissions import read_request, resolve_path
from yohaku.agent.toolkit.project_files import ProjectFile, walk_files
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

MAX_FILES = 300
MAX_NAMES_IN_MEMORY = 1024 * 1024
"""Bytes; more go to a temporary file."""
TIMEOUT = 20.0
"""Seconds."""


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    top, pattern = split_base(context, arguments.get("path", "."), arguments["pattern"])
    request = read_request(context, "glob", top)
    if request and not await context.allow(request):
        return ToolResult(REFUSED, error=True)
    if not top.is_dir():
        raise BadArguments(f"{context.files.name(top)} is no folder.")
    search = LongSearch()
    return await search.run(context, lambda: _find(context, top, pattern, search))


def split_base(context: ToolContext, path: str, pattern: str) -> tuple[Path, str]:
    """Return folder and pattern: the folders before the first wildcard may lead out of the project."""
    if not pattern.strip():
        raise BadArguments("The pattern is empty.")
    parts = pattern.strip().split("/")
    plain = next((at for at, part in enumerate(parts[:-1]) if any(mark in part for mark in "*?[{")), len(parts) - 1)
    if parts[0] in ("", "~", "..") or ".." in parts[:plain]:
        return resolve_path(context, "/".join(parts[:plain]) or "/"), "/".join(parts[plain:])
    return resolve_path(context, path), pattern.strip()


def _find(context: ToolContext, top: Path, pattern: str, search: LongSearch) -> ToolResult:
    matches, end = compile_glob(pattern), time.monotonic() + TIMEOUT
    timed_out, seen = False, 0
    newest: list[tuple[int, str]] = []
    base = context.files.name(top)
    prefix = "" if base == "." else f"{base}/"
    with SpooledTemporaryFile(MAX_NAMES_IN_MEMORY) as every:
        for found in search.count(walk_files(top, context.root.resolve())):
            timed_out = time.monotonic() > end
            if timed_out or search.stopped:
                break
            if not matches(found.parts):
                continue
            seen += 1
            every.write(f"{prefix}{found.name}\n".encode("utf-8", "surrogateescape"))
            entry = (_mtime(found), found.name)
            (heapq.heappush if len(newest) < MAX_FILES else heapq.heappushpop)(newest, entry)
        if not seen:
            return ToolResult(f"No file matches {pattern}.")
        paths = [f"{prefix}{name}" for _, name in sorted(newest, key=lambda one: (-one[0], one[1]))]
        text = "\n".join(paths)
        if seen == len(paths) and not timed_out and output_budget.fits(text):
            return ToolResult(text)
        every.seek(0)
        saved = save_in_thread(context, cast(IO[bytes], every))
    several = f"{seen:,}{' or more' if timed_out else ''}"
    note = f"[the newest of {several} files; all of them{ref_note(saved)}; or use a narrower pattern]"
    shown, _ = output_budget.keep_head(f"{text}\n{note}", note)
    return ToolResult(shown, cut=True, output=saved)


def _mtime(found: ProjectFile) -> int:
    try:
        return found.entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


TOOL = AgentTool(
    "glob",
    "Find files by a pattern of their path, such as src/**/*.py; the newest first. What .gitignore names is left out.",
    object_schema("pattern", pattern=string(), path=string("Folder to look in")),
    "read",
    run,
    lambda arguments: f"Find {arguments.get('pattern', '')}",
    brief="Find files by pattern, as src/**/*.py; newest first.",
)
