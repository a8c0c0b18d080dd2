"""Searches in files for a regular expression, in time that grows with the files and not with the pattern."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit import output_budget, text_files
from yohaku.agent.toolkit.arguments import BadArguments, takes, text
from yohaku.agent.toolkit.edits import missing
from yohaku.agent.toolkit.globs import Matches, glob
from yohaku.agent.toolkit.permissions import REFUSED, place, reading
from yohaku.agent.toolkit.project_files import walk
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.recall.patterns import Seek, seek

CAP = 500
"""Hits."""
WIDTH = 240
"""Characters of a line that are shown."""
BYTES = 128 * 1024
BLOCK = 4 * 1024 * 1024
SECONDS = 20.0


class Hit(NamedTuple):
    number: int
    text: str


class _Search(NamedTuple):
    find: Seek
    wanted: Matches
    end: float
    stopped: Callable[[], bool]

    @property
    def over(self) -> bool:
        return self.stopped() or time.monotonic() > self.end


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    top = place(bench, given.get("path", "."))
    ask = reading(bench, "grep", top)
    if ask and not await bench.allow(ask):
        return ToolResult(REFUSED, error=True)
    if not top.exists():
        raise BadArguments(missing(bench, top))
    stop = threading.Event()
    search = _Search(seek(given["pattern"]), glob(given.get("glob", "*")), time.monotonic() + SECONDS, stop.is_set)
    try:
        return await asyncio.to_thread(_grep, bench, top, given["pattern"], search)
    finally:
        stop.set()


def _grep(bench: ToolContext, top: Path, pattern: str, search: _Search) -> ToolResult:
    lines: list[str] = []
    hits, size, skipped, full = 0, output_budget.size(BYTES), 0, False
    for name, path in _files(bench, top, search):
        if search.over or full:
            break
        if holds_secrets(name) and path != top:
            skipped += 1
            continue
        for number, hit in enumerate(_hits(path, search)):
            full = hits >= CAP or size < 0
            if full:
                break
            lines += [name] * (number == 0) + [f"{hit.number}: {hit.text}"]
            hits, size = hits + 1, size - len(hit.text.encode()) - 8
    late = search.over
    notes = [f"[stopped after {hits:,} hits; use a narrower pattern or path]"] if full else []
    notes += ["[not all files were searched: it took too long]"] if late and not full else []
    notes += [f"[{skipped} files that may hold secrets were not searched]"] if skipped else []
    if not hits:
        return ToolResult("\n".join([f"No line matches {pattern}.", *notes]))
    shown, cut = output_budget.head(
        "\n".join([*lines, *notes]), f"[cut; {hits:,} hits or more: use a narrower pattern or path]"
    )
    return ToolResult(shown, cut=cut or full or late)


def _files(bench: ToolContext, top: Path, search: _Search) -> Iterator[tuple[str, Path]]:
    """Links are not followed: what they lead to is found where it is, or is not ours."""
    if top.is_file():
        yield bench.files.name(top), top
        return
    for found in walk(top, bench.root.resolve()):
        if search.over:
            return
        if search.wanted(found.parts) and found.entry.is_file(follow_symlinks=False):
            path = top.joinpath(*found.parts)
            yield bench.files.name(path), path


def _hits(path: Path, search: _Search) -> Iterator[Hit]:
    try:
        for first, block in _blocks(path):
            yield from _in_block(block, first, search)
            if search.over:
                return
    except OSError:  # gone, or not for us
        return


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The text in UTF-8, in blocks of whole lines, each with the number of its first; nothing for what is no text."""
    number, held, form = 1, b"", None
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            form = form or text_files.form_of(block)
            if form is None:
                return
            if form.wide:
                block = form.decode(block + file.read(BLOCK * 8)).encode()
            block = held + block
            cut = block.rfind(b"\n") + 1 or len(block)
            whole, held = block[:cut], block[cut:]
            yield number, _utf8(whole, form)
            number += whole.count(b"\n")
    if held and form:
        yield number, _utf8(held, form)


def _utf8(data: bytes, form: text_files.TextFormat) -> bytes:
    if form.encoding == "utf-8" or form.wide:
        return data.removeprefix(form.bom)
    return data.decode(form.encoding, "replace").encode()


def _in_block(block: bytes, number: int, search: _Search) -> Iterator[Hit]:
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
    """The line, or of a long one what stands around the match."""
    if len(line) <= WIDTH:
        return line.decode("utf-8", "replace").strip()
    start = max(0, match - WIDTH // 4)
    shown = line[start : start + 4 * WIDTH].decode("utf-8", "replace").strip("\ufffd")[:WIDTH]
    return f"{'…' if start else ''}{shown.strip()}…"


TOOL = AgentTool(
    "grep",
    "Search file contents by a regular expression; gives paths, line numbers and lines. (?i) ignores case. What "
    ".gitignore names is left out.",
    takes("pattern", pattern=text(), path=text("File or folder"), glob=text("Only files such as *.py")),
    "read",
    run,
    lambda given: f"Search {given.get('pattern', '')}" + (f" in {given['path']}" if given.get("path") else ""),
    brief="Search file contents by regex; glob limits the files.",
)
