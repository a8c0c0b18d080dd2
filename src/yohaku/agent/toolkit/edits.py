"""Edits of a file: open it, replace text, ask the user, write.

Law: a file is written whole or not at all, in its own encoding and line ends, and only if it has not changed since it
was opened; the user sees the diff first. An edit after which the file no longer parses is refused to a small model,
and told to every other. One that takes out a definition the user did not name, or all of the text, is refused to a
small model.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit import seen_files, text_files
from yohaku.agent.toolkit.arguments import BadArguments
from yohaku.agent.toolkit.diffs import unified_diff
from yohaku.agent.toolkit.lost_definitions import describe_loss
from yohaku.agent.toolkit.ordinary_files import read_ordinary, show_name
from yohaku.agent.toolkit.permissions import PermissionRefused, read_request, resolve_path, write_request
from yohaku.agent.toolkit.secrets import restore_secrets
from yohaku.agent.toolkit.syntax_errors import find_breakage
from yohaku.agent.toolkit.text_files import TextFormat
from yohaku.agent.toolkit.tool import ToolContext

MAX_FILE_BYTES = 32 * 1024 * 1024
_LINE_NUMBER = re.compile(r"^[ \t]{0,8}\d{1,7}(?:\t|→)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EditableFile:
    path: Path
    name: str
    data: bytes | None
    """None for a new file."""
    text: str
    form: TextFormat


class SavedEdit(NamedTuple):
    diff: str
    note: str = ""
    """For the model, where the file does not parse."""


def open_for_edit(context: ToolContext, name: str, *, new: bool = False) -> EditableFile:
    """Read a file that is to be edited. `new`: it need not exist."""
    path = resolve_path(context, name)
    name = context.files.name(path)
    closed = not context.files.knows(path) and read_request(context, "edit", path) is not None
    if closed and not (new and not path.exists()):  # the message of a failed edit would show its content
        raise BadArguments(f"{name} has not been read, and may not be without asking: read it first.")
    if path.is_dir():
        raise BadArguments(f"{name} is a folder: give a file.")
    if not path.exists():
        if new:
            return EditableFile(path, name, None, "", TextFormat())
        raise BadArguments(describe_missing(context, path))
    if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
        raise BadArguments(f"{name} is no ordinary file, or too large to edit here: use a command.")
    data = read_ordinary(path)
    found = text_files.decode_file(data)
    if found is None:
        raise BadArguments(f"{name} is not text: it cannot be edited here.")
    context.files.check(path, data)
    return EditableFile(path, name, data, *found)


async def save_edit(context: ToolContext, tool: str, file: EditableFile, text: str) -> SavedEdit:
    """Ask the user and write the file."""
    note = await _check_syntax(context, file, text)
    try:
        data = file.form.encode(text)
    except UnicodeEncodeError as why:
        letter = text[why.start : why.start + 1]
        raise BadArguments(f"{file.name} is in {file.form.name}, which has no {letter!r}: leave it out.") from None
    if context.careful and not context.files.had(file.path, data):
        loss = await asyncio.to_thread(describe_loss, file.text, text, file.name, context.prompt)
        if loss:
            raise BadArguments(f"Refused, nothing was changed: {loss} Change only what has to change.")
    diff = unified_diff(file.text, text, file.name) if file.data is not None else unified_diff("", text, file.name)
    if not await context.allow(write_request(context, tool, file.path, diff)):
        raise PermissionRefused
    if file.path.resolve() != file.path:
        raise BadArguments(f"{file.name} leads elsewhere by now: nothing was written.")
    now = read_ordinary(file.path) if file.path.exists() else None
    if now != file.data:  # the user took their time, and something else wrote
        context.files.forget(file.path)
        raise BadArguments(f"{file.name} has changed just now. Read it again, then edit.")
    seen_files.write_atomically(file.path, data)
    context.files.saw(file.path, data)
    return SavedEdit(diff, note)


async def _check_syntax(context: ToolContext, file: EditableFile, text: str) -> str:
    """Return a note for the model if the file would not parse; for a small model `BadArguments` if it did before."""
    before = file.text if file.data is not None else None
    broken = await asyncio.to_thread(find_breakage, before, text, file.path.name)
    if broken is None:
        return ""
    told = broken.describe(file.name, text)
    if context.careful and broken.new and broken.was_there:
        raise BadArguments(f"Refused, nothing was changed. With this edit {told} Correct it and try again.")
    return f"\nWarning: {told} Correct it."


def replace_text(file: EditableFile, text: str, old: str, new: str, everywhere: bool = False) -> str:
    """Return the text with `old` replaced; `BadArguments` where it is missing, or ambiguous."""
    if old == new:
        raise BadArguments("old_string and new_string are the same: nothing to change.")
    old, new = restore_secrets(old, file.text), restore_secrets(new, file.text)
    if not old:
        if text:
            raise BadArguments(f"old_string is empty, but {file.name} is not: give the lines to replace.")
        return new
    for ours, theirs in _variants(old, new, file.form.newline):
        count = text.count(ours)
        if count == 1 or (count and everywhere):
            return text.replace(ours, theirs)
        if count:
            lines = _lines_with(text, ours)
            raise BadArguments(
                f"old_string stands {count} times in {file.name}, at lines {lines}. Give more lines around it so that "
                "it is unique, or set replace_all."
            )
    raise BadArguments(f"old_string is not in {file.name}. {_describe_nearest(text, old)}")


def _variants(old: str, new: str, newline: str) -> list[tuple[str, str]]:
    """Return the pairs to try: as given, with the file's line ends, without the line numbers that `read` adds."""
    pairs = [(old, new)]
    lines = old.splitlines()
    if lines and all(_LINE_NUMBER.match(line) for line in lines if line.strip()):
        pairs.append((_LINE_NUMBER.sub("", old), _LINE_NUMBER.sub("", new)))
    if newline != "\n":
        pairs += [(_set_newlines(a, newline), _set_newlines(b, newline)) for a, b in pairs]
        pairs = pairs[len(pairs) // 2 :] + pairs[: len(pairs) // 2]
    return pairs


def _set_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def match_newlines(text: str, form: TextFormat) -> str:
    """Return a text with the line ends of the file it goes into."""
    return _set_newlines(text, form.newline) if form.newline != "\n" else text


def _lines_with(text: str, piece: str, most: int = 8) -> str:
    found: list[str] = []
    at = text.find(piece)
    line, counted = 1, 0
    while at >= 0 and len(found) < most:
        line += text.count("\n", counted, at)
        counted = at
        found.append(str(line))
        at = text.find(piece, at + len(piece))
    return ", ".join(found) + (" …" if at >= 0 else "")


def find_nearest_line(text: str, old: str) -> int | None:
    """Return the number of the line that is most like the beginning of `old`; None where nothing is like it."""
    wanted = [line.strip() for line in old.splitlines() if line.strip()][:50]
    lines = text.splitlines()[:100_000]
    at = _find_similar([line.strip() for line in lines], wanted) if wanted and lines else None
    return None if at is None else at + 1


def _describe_nearest(text: str, old: str) -> str:
    """Return a sentence with the lines most like `old`."""
    wanted = [line.strip() for line in old.splitlines() if line.strip()][:50]
    lines = text.splitlines()[:100_000]
    if not wanted or not lines:
        return "The file is empty." if not lines else "Read the file again."
    at = _find_similar([line.strip() for line in lines], wanted)
    if at is None:
        return "Nothing in it is like that: read the file again."
    first = max(0, at - 1)
    near = lines[first : min(at + len(old.splitlines()) + 1, first + 20)]
    shown = "\n".join(f"{number}\t{line[:400]}" for number, line in enumerate(near, first + 1))
    return f"The nearest lines are (compare spaces and indentation):\n{shown}"


def _find_similar(lines: list[str], wanted: list[str]) -> int | None:
    """Return the line where most of the wanted lines stand together, else the line most like the longest of them."""
    where: dict[str, int] = {}
    for number, line in enumerate(wanted):
        where.setdefault(line, number)
    votes: dict[int, int] = {}
    for number, line in enumerate(lines):
        if line in where and len(line) > 2:
            votes[number - where[line]] = votes.get(number - where[line], 0) + 1
    if votes:
        return max(0, max(votes, key=lambda at: votes[at]))
    longest = max(wanted, key=len)
    words = set(re.findall(r"\w+", longest[:400]))
    best = max(range(len(lines)), key=lambda at: _similarity(lines[at], words))
    return max(0, best - where[longest]) if 2 * _similarity(lines[best], words) > 1 else None


def _similarity(line: str, words: set[str]) -> float:
    """Return the share of words two lines have in common."""
    others = set(re.findall(r"\w+", line[:400]))
    return len(words & others) / len(words | others) if words and others else 0.0


def describe_missing(context: ToolContext, path: Path) -> str:
    """Return a sentence that a file does not exist, with similar names in its folder."""
    from difflib import get_close_matches

    name = context.files.name(path)
    try:
        beside = [show_name(other.name) for other in list(path.parent.iterdir())[:5_000]]
    except OSError:
        return f"{name} does not exist, nor does its folder. Look for it with glob."
    near = get_close_matches(path.name, beside, 3, 0.5)
    folder = context.files.name(path.parent)
    maybe = f" In that folder there is {', '.join(near)}." if near else ""
    return f"{name} does not exist.{maybe or f' Look in {folder} with glob.'}"
