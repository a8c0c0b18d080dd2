"""Tool that searches files for a regular expression, in time linear in the files."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit import output_budget, text_files
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.edits import describe_missing
from yohaku.agent.toolkit.found_hits import DEFINITIONS, MAX_HITS, FoundHits, Hit, file_rank
from yohaku.agent.toolkit.globs import PathMatcher, compile_glob
from yohaku.agent.toolkit.long_search import LongSearch
from yohaku.agent.toolkit.ordinary_files import open_ordinary
from yohaku.agent.toolkit.output_budget import ref_note, save_in_thread
from yohaku.agent.toolkit.permissions import read_request, resolve_path
from yohaku.agent.toolkit.project_files import walk_files
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.recall.patterns import Finder, compile_pattern

MAX_HITS_PER_FILE, MAX_SMALL_HITS_PER_FILE = 20, 5
"""Hits shown of each file where several are searched; fewer to a small model."""
MAX_OUTLINED_FILES = 30
"""Source files whose definitions are shown where nothing was found."""
MAX_LINE_CHARS = 240
MAX_RESULT_BYTES = 128 * 1024
_WORDS = re.compile(r"\w{3,30}(?: \w{3,30}){1,5}")
"""Words side by side, and nothing that only a pattern has."""
BLOCK_BYTES = 4 * 1024 * 1024
TIMEOUT = 20.0
"""Seconds."""


class _FileSearch(NamedTuple):
    find: Finder
    wanted: PathMatcher
    end: float
    progress: LongSearch

    @property
    def over(self) -> bool:
        return self.progress.stopped or time.monotonic() > self.end


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    top = resolve_path(context, arguments.get("path", "."))
    request = read_request(context, "grep", top)
    if request and not await context.allow(request):
        return ToolResult(REFUSED, error=True)
    if not top.exists():
        raise BadArguments(describe_missing(context, top))
    if not top.is_dir() and not top.is_file():
        raise BadArguments(f"{context.files.name(top)} is no ordinary file: it cannot be searched.")
    progress = LongSearch()
    search = _FileSearch(
        compile_pattern(arguments["pattern"]),
        compile_glob(arguments.get("glob", "*")),
        time.monotonic() + TIMEOUT,
        progress,
    )
    return await progress.run(context, lambda: _grep(context, top, arguments["pattern"], search))


def _grep(context: ToolContext, top: Path, pattern: str, search: _FileSearch, *, instead: bool = True) -> ToolResult:
    """`instead`: show a small model something else where nothing is found."""
    per_file = MAX_HITS if top.is_file() else MAX_SMALL_HITS_PER_FILE if context.careful else MAX_HITS_PER_FILE
    skipped = 0
    with FoundHits(output_budget.max_bytes(MAX_RESULT_BYTES), per_file) as found:
        files = sorted(_files(context, top, search), key=lambda file: file_rank(file[0]))
        for name, path in search.progress.count(files, len(files)):
            if search.over or found.closed:
                break
            if holds_secrets(name) and path != top:
                skipped += 1
                continue
            found.add_file(name, _search_file(path, search))
        more = search.over or found.closed
        shown, left_out = found.select()
        notes = ["[not all files were searched: it took too long]"] if search.over and not left_out else []
        notes += [f"[{skipped} files that may hold secrets were not searched]"] if skipped else []
        if not found.count:
            if context.careful and instead and not notes:
                return _grep_instead(context, top, pattern, search)
            return ToolResult("\n".join([f"No line matches {pattern}.", *notes]))
        text = "\n".join([*shown, *notes])
        if not left_out and output_budget.fits(text):
            return ToolResult(text, cut=more)
        saved = save_in_thread(context, found.all())
    several = f"{found.count:,} hits{' or more' if more else ''}"
    note = f"[{several}, not all shown{ref_note(saved)}; or use a narrower pattern or path]"
    text, _ = output_budget.keep_head("\n".join([*shown, *notes, note]), note)
    return ToolResult(text, cut=True, output=saved)


def _grep_instead(context: ToolContext, top: Path, pattern: str, search: _FileSearch) -> ToolResult:
    """Search for single words, then for definitions: small models search for what stands nowhere, or in other words."""
    nothing = f"No line matches {pattern}."
    tries = (
        [("Lines with one of these words:", f"(?i){'|'.join(pattern.split())}")] if _WORDS.fullmatch(pattern) else []
    )
    files = itertools.islice(_files(context, top, search), MAX_OUTLINED_FILES + 1)
    if sum(file_rank(name) == 0 for name, _ in files) <= MAX_OUTLINED_FILES:
        tries.append(("What is defined there:", DEFINITIONS))
    for title, other in tries:
        found = _grep(context, top, other, search._replace(find=compile_pattern(other)), instead=False)
        if not found.text.startswith("No line matches "):
            return replace(found, text=f"{nothing} {title}\n{found.text}")
    return ToolResult(nothing)


def _files(context: ToolContext, top: Path, search: _FileSearch) -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file. Links are not followed: their target is found in its place, or is outside."""
    if top.is_file():
        yield context.files.name(top), top
        return
    for found in search.progress.count(walk_files(top, context.root.resolve())):
        if search.over:
            return
        if search.wanted(found.parts) and found.entry.is_file(follow_symlinks=False):
            path = top.joinpath(*found.parts)
            yield context.files.name(path), path


def _search_file(path: Path, search: _FileSearch) -> Iterator[Hit]:
    try:
        for first, block in _blocks(path):
            yield from _search_block(block, first, search)
            if search.over:
                return
    except OSError:  # deleted, or not readable
        return


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the text in UTF-8 in blocks of whole lines, with the number of the first line; none for a binary file."""
    number, held, form = 1, b"", None
    with open_ordinary(path) as file:
        while block := file.read(BLOCK_BYTES):
            form = form or text_files.detect_format(block)
            if form is None:
                return
            if form.wide:
                block = form.decode(block + file.read(BLOCK_BYTES * 8)).encode()
            block = held + block
            cut = block.rfind(b"\n") + 1 or len(block)
            whole, held = block[:cut], block[cut:]
            yield number, _to_utf8(whole, form)
            number += whole.count(b"\n")
    if held and form:
        yield number, _to_utf8(held, form)


def _to_utf8(data: bytes, form: text_files.TextFormat) -> bytes:
    if form.encoding == "utf-8" or form.wide:
        return data.removeprefix(form.bom)
    return data.decode(form.encoding, "replace").encode()


def _search_block(block: bytes, number: int, search: _FileSearch) -> Iterator[Hit]:
    counted = at = 0
    while at < len(block) and (match := search.find(block, at)) is not None and match < len(block):
        begin = block.rfind(b"\n", 0, match) + 1
        stop = block.find(b"\n", match)
        stop = len(block) if stop < 0 else stop
        number += block.count(b"\n", counted, begin)
        counted, at = begin, stop + 1
        yield Hit(number, _excerpt(block[begin:stop], match - begin))
        if search.over:
            return


def _excerpt(line: bytes, match: int) -> str:
    """Return the line, or of a long one the part around the match."""
    if len(line) <= MAX_LINE_CHARS:
        return line.decode("utf-8", "replace").strip()
    start = max(0, match - MAX_LINE_CHARS // 4)
    shown = line[start : start + 4 * MAX_LINE_CHARS].decode("utf-8", "replace").strip("\ufffd")[:MAX_LINE_CHARS]
    return f"{'…' if start else ''}{shown.strip()}…"


TOOL = AgentTool(
    "grep",
    "Search file contents by a regular expression; gives paths, line numbers and lines. (?i) ignores case. What "
    ".gitignore names is left out.",
    object_schema("pattern", pattern=string(), path=string("File or folder"), glob=string("Only files such as *.py")),
    "read",
    run,
    lambda arguments: (
        f"Search {arguments.get('pattern', '')}" + (f" in {arguments['path']}" if arguments.get("path") else "")
    ),
    brief="Search file contents by regex; glob limits the files.",
)
