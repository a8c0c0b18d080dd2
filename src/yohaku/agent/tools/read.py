"""Tool that reads a file: numbered lines within the budget, a big source file as an outline, images, notebooks.

A ref in place of a path reads what was folded, so that a small model needs no other tool for that.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import BadArguments, integer, object_schema, string
from yohaku.agent.toolkit.edits import describe_missing
from yohaku.agent.toolkit.file_lines import FileLines, clip_line, read_lines, split_lines
from yohaku.agent.toolkit.ordinary_files import open_ordinary, read_ordinary
from yohaku.agent.toolkit.output_budget import format_size, ref_note, save_in_thread
from yohaku.agent.toolkit.permissions import read_request, resolve_path
from yohaku.agent.toolkit.source_outline import outline_source, render_sketch
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools.list_dir import list_folder
from yohaku.core.errors import UnknownRef
from yohaku.messages import say

MAX_LINES = 2000
MAX_BYTES = 256 * 1024
MAX_IMAGE_BYTES = 5 * 1024 * 1024
IMAGE_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
SKETCH_SIZES = ((50, 80), (50, 40), (25, 40), (10, 20), (5, 10))
"""Lines shown at either end, and sections of the outline; the first pair that fits is used."""

REF_PHRASE = re.compile(r"\W*ref[=:]\s*[\w-]{8,64}(?::\d*)*\W*")
BARE_REF = re.compile(r"[a-z2-7]{12}")


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    path = resolve_path(context, arguments["path"])
    if not path.exists() and _is_ref(context, arguments["path"]):
        from yohaku.agent.tools.tool_output_cache import run as run_recall  # loads the search in originals

        names = {"path": "ref_id", "offset": "offset", "limit": "limit"}
        return await run_recall(context, {name: arguments[ours] for ours, name in names.items() if ours in arguments})
    request = read_request(context, "read", path)
    if request and not await context.allow(request):
        return ToolResult(REFUSED, error=True)
    if path.is_dir():
        return list_folder(context, path)
    if not path.exists():
        raise BadArguments(describe_missing(context, path))
    if not path.is_file():
        raise BadArguments(f"{context.files.name(path)} is no ordinary file: it cannot be read.")
    return await asyncio.to_thread(_read_file, context, path, arguments)


def _is_ref(context: ToolContext, name: str) -> bool:
    """Return whether a ref is meant; a bare one only where something is stored under it."""
    if REF_PHRASE.fullmatch(name):
        return True
    from yohaku.recall.ref import parse_ref

    ref = parse_ref(name).ref
    try:
        return bool(context.session and BARE_REF.fullmatch(ref) and context.session.store.about(ref))
    except UnknownRef:
        return False


def _read_file(context: ToolContext, path: Path, arguments: Arguments) -> ToolResult:
    name = context.files.name(path)
    if image := _read_image(path):
        return image
    first, most = max(1, arguments.get("offset", 1)), arguments.get("limit", MAX_LINES)
    if most < 1:
        raise BadArguments("limit must be 1 or more.")
    found = read_lines(path, first, min(most, MAX_LINES), output_budget.max_bytes(MAX_BYTES))
    if found is None:
        about = f"{format_size(path.stat().st_size)}{_describe_suffix(path)}"
        raise BadArguments(f"{name} is not text ({about}): use a command that understands it.")
    context.files.saw(path, found.data)
    whole = "offset" not in arguments and "limit" not in arguments
    if whole and path.suffix == ".ipynb" and (cells := _render_notebook(found.text)):
        if output_budget.fits(cells):
            return ToolResult(cells)
        saved = save_in_thread(context, cells)
        shown, _ = output_budget.keep_head(cells, f"[cut; use bash with jq for the rest{ref_note(saved)}]")
        return ToolResult(shown, cut=True, output=saved)
    if not found.lines:
        return ToolResult(
            "[empty file]" if not found.total else f"[{name} has {found.total} lines, none from {first} on]"
        )
    text = _number_lines(found)
    if whole and (found.more or not output_budget.fits(text)) and (sketch := _render_sketch(found, name)):
        lines = found.total or found.text.count("\n") + 1
        told = say("loop_sketched", context.lang, name=name, lines=lines)
        return ToolResult(sketch, cut=True, notice=told, output=save_in_thread(context, text))
    given = _cut_to_budget(found, text, cut=whole and bool(found.more))
    return given if given.text.startswith(text) else replace(given, output=save_in_thread(context, text))


def _number_lines(found: FileLines) -> str:
    lines = "\n".join(f"{at}\t{clip_line(line)}" for at, line in enumerate(found.lines, found.first))
    return lines if found.form.encoding == "utf-8" else f"{lines}\n[{found.form.name}]"


def _cut_to_budget(found: FileLines, text: str, cut: bool) -> ToolResult:
    """Return the lines that fit, and a note where to continue."""
    of = f" of {found.total:,}" if found.total is not None else ""
    note = _continuation_note(found, len(found.lines), of)
    shown, less = (text, False) if output_budget.fits(f"{text}\n{note}") else output_budget.keep_head(text, note)
    if not less:
        return ToolResult(f"{text}\n{_continuation_note(found, len(found.lines), of)}" if found.more else text, cut=cut)
    lines = shown.removesuffix(note).rstrip("\n")
    return ToolResult(f"{lines}\n{_continuation_note(found, max(1, lines.count(chr(10)) + 1), of)}", cut=True)


def _continuation_note(found: FileLines, shown: int, of: str) -> str:
    last = found.first + shown - 1
    return f"[lines {found.first}-{last}{of}; go on with offset={last + 1}]"


def _render_sketch(found: FileLines, name: str) -> str | None:
    if not found.text:
        return None
    lines = [clip_line(line) for line in split_lines(found.text, found.form.newline)]
    for ends, most in SKETCH_SIZES:
        sketch = render_sketch(lines, outline_source(found.text, name, most), ends)
        if sketch and output_budget.fits(sketch):
            return sketch
    return None


def _read_image(path: Path) -> ToolResult | None:
    with open_ordinary(path) as file:
        begins = file.read(16)
    mime = next((mime for mark, mime in IMAGE_SIGNATURES.items() if begins.startswith(mark)), "")
    mime = "image/webp" if begins[:4] == b"RIFF" and begins[8:12] == b"WEBP" else mime
    if not mime:
        return None
    length = path.stat().st_size
    if length > MAX_IMAGE_BYTES:
        raise BadArguments(
            f"The image has {format_size(length)}; at most {format_size(MAX_IMAGE_BYTES)} can be looked at: "
            "make it smaller first."
        )
    return ToolResult(f"[{mime}, {format_size(length)}]", media=((mime, b64encode(read_ordinary(path)).decode()),))


def _describe_suffix(path: Path) -> str:
    return f", {path.suffix[1:]}" if path.suffix else ""


def _render_notebook(text: str) -> str:
    """Return numbered cells with the beginning of their outputs; empty if it is not a notebook."""
    try:
        cells = json.loads(text)["cells"]
        shown: list[str] = []
        for number, cell in enumerate(cells):
            shown.append(f"[cell {number}, {cell['cell_type']}]\n{''.join(cell['source'])}")
            for output in cell.get("outputs", ()):
                text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
                shown += [f"[output]\n{''.join(text)[:1000]}"] if text else []
        return "\n".join(shown)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _title(arguments: Arguments) -> str:
    first, most = arguments.get("offset", 1), arguments.get("limit")
    if isinstance(first, int) and isinstance(most, int):
        return f"Read {arguments.get('path', '')} {first}-{first + most - 1}"
    return f"Read {arguments.get('path', '')}" + (f" from {first}" if first != 1 else "")


TOOL = AgentTool(
    "read",
    "Read a file as numbered lines. Of a big source file you get both ends and its structure with line ranges: then "
    "read what you need by offset and limit. Shows images and notebooks too. Read a file before you edit it.",
    object_schema("path", path=string(), offset=integer("First line, from 1"), limit=integer("How many lines")),
    "read",
    run,
    _title,
    brief="Read a file, or limit lines from offset. Big files: ends and structure first. path may be a ref=…",
)
