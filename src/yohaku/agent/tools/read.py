"""Reads a file: numbered lines, as many as there is room for; a big source file by its structure; images.

What was folded is read in the same way, by its ref: so a small model needs no tool of its own for that.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from pathlib import Path

from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, number, takes, text
from yohaku.agent.toolkit.edits import missing
from yohaku.agent.toolkit.file_lines import FileLines, clipped, page, split
from yohaku.agent.toolkit.permissions import REFUSED, place, reading
from yohaku.agent.toolkit.save_output import size
from yohaku.agent.toolkit.source_outline import outline, sketch
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools.list_dir import listing
from yohaku.core.errors import UnknownRef

CAP = 2000
"""Lines."""
BYTES = 256 * 1024
IMAGE = 5 * 1024 * 1024
IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
SHAPES = ((50, 80), (50, 40), (25, 40), (10, 20), (5, 10))
"""Lines shown at either end, and parts of the structure: the first that there is room for."""


SAID = re.compile(r"\W*ref[=:]\s*[\w-]{8,64}(?::\d*)*\W*")
REF = re.compile(r"[a-z2-7]{12}")


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    path = place(bench, given["path"])
    if not path.exists() and _is_ref(bench, given["path"]):
        from yohaku.agent.tools.tool_output_cache import run as recalled  # and with it the search in what is kept

        names = {"path": "ref_id", "offset": "offset", "limit": "limit"}
        return await recalled(bench, {name: given[ours] for ours, name in names.items() if ours in given})
    ask = reading(bench, "read", path)
    if ask and not await bench.allow(ask):
        return ToolResult(REFUSED, error=True)
    if path.is_dir():
        return listing(bench, path)
    if not path.exists():
        raise BadArguments(missing(bench, path))
    if not path.is_file():
        raise BadArguments(f"{bench.files.name(path)} is no ordinary file: it cannot be read.")
    return await asyncio.to_thread(_read, bench, path, given)


def _is_ref(bench: ToolContext, said: str) -> bool:
    """Whether what was folded is meant; by a bare ref only where something is kept under it."""
    if SAID.fullmatch(said):
        return True
    from yohaku.recall.ref import place_in

    ref = place_in(said).ref
    try:
        return bool(bench.session and REF.fullmatch(ref) and bench.session.store.about(ref))
    except UnknownRef:
        return False


def _read(bench: ToolContext, path: Path, given: Arguments) -> ToolResult:
    name = bench.files.name(path)
    if image := _image(path):
        return image
    first, most = max(1, given.get("offset", 1)), given.get("limit", CAP)
    if most < 1:
        raise BadArguments("limit must be 1 or more.")
    found = page(path, first, min(most, CAP), output_budget.size(BYTES))
    if found is None:
        about = f"{size(path.stat().st_size)}{_kind(path)}"
        raise BadArguments(f"{name} is not text ({about}): use a command that understands it.")
    bench.files.saw(path, found.data)
    whole = "offset" not in given and "limit" not in given
    if whole and path.suffix == ".ipynb" and (cells := _notebook(found.text)):
        shown, cut = output_budget.head(cells, "[cut; use bash with jq for the rest]")
        return ToolResult(shown, cut=cut)
    if not found.lines:
        return ToolResult(
            "[empty file]" if not found.total else f"[{name} has {found.total} lines, none from {first} on]"
        )
    text = _numbered(found)
    if whole and (found.more or not output_budget.fits(text)) and (drawn := _sketched(found, name)):
        return ToolResult(drawn, cut=True)
    return _headed(found, text, cut=whole and bool(found.more))


def _numbered(found: FileLines) -> str:
    lines = "\n".join(f"{at}\t{clipped(line)}" for at, line in enumerate(found.lines, found.first))
    return lines if found.form.encoding == "utf-8" else f"{lines}\n[{found.form.name}]"


def _headed(found: FileLines, text: str, cut: bool) -> ToolResult:
    """The lines, or as many as there is room for, and where to go on."""
    of = f" of {found.total:,}" if found.total is not None else ""
    note = _going_on(found, len(found.lines), of)
    shown, less = (text, False) if output_budget.fits(f"{text}\n{note}") else output_budget.head(text, note)
    if not less:
        return ToolResult(f"{text}\n{_going_on(found, len(found.lines), of)}" if found.more else text, cut=cut)
    lines = shown.removesuffix(note).rstrip("\n")
    return ToolResult(f"{lines}\n{_going_on(found, max(1, lines.count(chr(10)) + 1), of)}", cut=True)


def _going_on(found: FileLines, shown: int, of: str) -> str:
    last = found.first + shown - 1
    return f"[lines {found.first}-{last}{of}; go on with offset={last + 1}]"


def _sketched(found: FileLines, name: str) -> str | None:
    if not found.text:
        return None
    lines = [clipped(line) for line in split(found.text, found.form.newline)]
    for ends, most in SHAPES:
        drawn = sketch(lines, outline(found.text, name, most), ends)
        if drawn and output_budget.fits(drawn):
            return drawn
    return None


def _image(path: Path) -> ToolResult | None:
    with path.open("rb") as file:
        begins = file.read(16)
    mime = next((mime for mark, mime in IMAGES.items() if begins.startswith(mark)), "")
    mime = "image/webp" if begins[:4] == b"RIFF" and begins[8:12] == b"WEBP" else mime
    if not mime:
        return None
    length = path.stat().st_size
    if length > IMAGE:
        raise BadArguments(
            f"The image has {size(length)}; at most {size(IMAGE)} can be looked at: make it smaller first."
        )
    return ToolResult(f"[{mime}, {size(length)}]", media=((mime, b64encode(path.read_bytes()).decode()),))


def _kind(path: Path) -> str:
    return f", {path.suffix[1:]}" if path.suffix else ""


def _notebook(text: str) -> str:
    """Its cells, with their numbers, and the beginning of what they print; empty where it is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        shown: list[str] = []
        for number, cell in enumerate(cells):
            shown.append(f"[cell {number}, {cell['cell_type']}]\n{''.join(cell['source'])}")
            for output in cell.get("outputs", ()):
                said = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
                shown += [f"[output]\n{''.join(said)[:1000]}"] if said else []
        return "\n".join(shown)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _title(given: Arguments) -> str:
    first, most = given.get("offset", 1), given.get("limit")
    if isinstance(first, int) and isinstance(most, int):
        return f"Read {given.get('path', '')} {first}-{first + most - 1}"
    return f"Read {given.get('path', '')}" + (f" from {first}" if first != 1 else "")


TOOL = AgentTool(
    "read",
    "Read a file as numbered lines. Of a big source file you get both ends and its structure with line ranges: then "
    "read what you need by offset and limit. Shows images and notebooks too. Read a file before you edit it.",
    takes("path", path=text(), offset=number("First line, from 1"), limit=number("How many lines")),
    "read",
    run,
    _title,
    brief="Read a file, or limit lines from offset. Big files: ends and structure first. path may be a ref=…",
)
