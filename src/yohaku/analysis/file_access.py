"""What the calls of a conversation did to which files.

Law: a tool is known by the words in its name and the names of its arguments, not by whose it is; what a failed call
was about to do is not done (`ok` is False). A path is told as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from yohaku.analysis.shell_files import by_shell
from yohaku.analysis.tool_calls import find_command, has_failed, read_arguments, split_tool_name
from yohaku.analysis.touch import AccessKind, FileAccess, LineRange, clean_path
from yohaku.core.model import ToolUse


def _verbs(**words: str) -> dict[str, AccessKind]:
    return {word: how for how, line in words.items() for word in line.split()}  # type: ignore[misc]


ACCESS_VERBS = _verbs(
    deleted="delete remove unlink rm",
    modified="edit multiedit editor replace update patch insert modify append overwrite undo",
    created="write create save new writer",
    read="read view open cat show load reader",
)
"""Words of a tool's name, or of its `command` argument, the strongest first."""

SEARCH_WORDS = frozenset("grep search find glob list lsp diagnostics".split())

PATH_ARGUMENTS = (
    "filepath path file filename notebookpath targetfile absolutepath targetpath relativeworkspacepath pathname "
    "filepaths paths files absolutefilepath"
).split()
"""Names of arguments that hold a path, or a list of them, without case and underscores."""

SOURCE_ARGUMENTS = "source sourcepath src oldpath from frompath".split()
TARGET_ARGUMENTS = "destination destinationpath dest dst newpath to topath".split()


def find_accesses(use: ToolUse) -> tuple[FileAccess, ...]:
    """What a call did to which files, in order."""
    given = read_arguments(use)
    ok = not has_failed(use)
    patched = tuple(_by_patch_arguments(given, ok))
    if patched:
        return patched
    ran = find_command(use)
    if ran is not None and _EDITS.match(ran):
        return tuple(_by_result(use, ran, ok))  # what follows is text, not a command
    if ran is not None:
        return (*by_shell(ran, use.result.text, ok), *_by_result(use, ran, ok))
    return tuple(_by_tool(use, given, ok)) or tuple(_by_result(use, use.call.name, ok))


def _by_tool(use: ToolUse, given: dict[str, Any], ok: bool) -> Iterator[FileAccess]:
    words = split_tool_name(use.call.name)
    if words & {"move", "rename"} and (pair := _find_move(given)):
        yield FileAccess(pair[0], "deleted", None, ok)
        yield FileAccess(pair[1], "created", None, ok)
        return
    how = _find_kind(words, given)
    if how is None:
        return
    if how == "created" and _REPLACED.search(use.result.text[:400]):
        how = "modified"
    for name in PATH_ARGUMENTS:
        for path in _read_paths(given[name]) if name in given else ():
            yield FileAccess(path, how, _read_line_range(given) if how == "read" else None, ok)


def _find_move(given: dict[str, Any]) -> tuple[str, str] | None:
    old = [given[name] for name in SOURCE_ARGUMENTS if isinstance(given.get(name), str)]
    new = [given[name] for name in TARGET_ARGUMENTS if isinstance(given.get(name), str)]
    return (old[0], new[0]) if old and new else None


def _find_kind(words: frozenset[str], given: dict[str, Any]) -> AccessKind | None:
    said = given.get("command")
    asked = split_tool_name(said) if isinstance(said, str) and len(said) < 24 else frozenset[str]()
    return _kind_of_words(asked) or _kind_of_words(words)


@lru_cache(512)
def _kind_of_words(words: frozenset[str]) -> AccessKind | None:
    found = (
        how for word, how in ACCESS_VERBS.items() if word in words and (how != "read" or words.isdisjoint(SEARCH_WORDS))
    )
    return next(found, None)


_REPLACED = re.compile(r"\b(?:overwritten|updated|modified|replaced)\b|上書き|更新", re.IGNORECASE)


def _read_paths(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip() and "\n" not in value and "://" not in value.removeprefix("file://"):
            yield clean_path(value.removeprefix("file://"))
    elif isinstance(value, list):
        for item in value:
            yield from _read_paths(item.get("path") or item.get("file_path") if isinstance(item, dict) else item)


def _read_line_range(given: dict[str, Any]) -> LineRange | None:
    span = given.get("viewrange") or given.get("linerange") or given.get("range")
    if isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span):
        return span[0], span[1]
    first = _read_number(given, "offset", "startline", "startlineoneindexed", "linestart", "firstline", "linenumber")
    last = _read_number(given, "endline", "endlineoneindexedinclusive", "lineend", "lastline")
    most = _read_number(given, "limit", "lines", "numlines", "maxlines")
    if last is None and most is not None:
        last = (first or 1) + most - 1
    return (first or 1, last or -1) if first is not None or last is not None else None


def _read_number(given: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (value := given.get(name)) is None:
            continue
        if type(value) is int or (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9):
            return int(value)
    return None


_HEAD = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): ([^\n]{1,1000})$", re.MULTILINE)
_DIFF = re.compile(r"^--- (?:a/)?([^\t\n]{1,1000})[^\n]*\n\+\+\+ (?:b/)?([^\t\n]{1,1000})", re.MULTILINE)
_PATCH: dict[str, AccessKind] = {"Add File": "created", "Update File": "modified", "Delete File": "deleted"}


def _by_patch_arguments(given: dict[str, Any], ok: bool) -> Iterator[FileAccess]:
    for value in given.values():
        text = value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else ""
        if "*** Begin Patch" in text:
            yield from _by_patch(text, ok)
    for name in ("patch", "diff"):
        for old, new in _DIFF.findall(given[name]) if isinstance(given.get(name), str) else ():
            how: AccessKind = "created" if old == "/dev/null" else "deleted" if new == "/dev/null" else "modified"
            yield FileAccess(clean_path(old if how == "deleted" else new), how, None, ok)


def _by_patch(text: str, ok: bool) -> Iterator[FileAccess]:
    last = ""
    for what, name in _HEAD.findall(text):
        path = clean_path(name)
        if what != "Move to":
            last = path
            yield FileAccess(path, _PATCH[what], None, ok)
        elif last != path:
            yield FileAccess(last, "deleted", None, ok)
            yield FileAccess(path, "created", None, ok)


_ANNOUNCED = re.compile(
    r"^(?:Applied edit to (?P<edit>[^\n]{1,400}?)|Added (?P<add>\S{1,400}) to the chat\.?"
    r"|Creat(?:ed|ing) (?:new |empty )?file (?P<new>\S{1,400}))[ \t]*$",
    re.MULTILINE,
)
_EDITS = re.compile(r"(?:edit|insert|append)(?:\s|$)")
_OPEN_FILE = re.compile(r"^\[File: ([^\n]{1,400}?) \(\d+ lines total\)\]", re.MULTILINE)


def _by_result(use: ToolUse, said: str, ok: bool) -> Iterator[FileAccess]:
    """Where the call names no file, but its result does: editors that keep one open, and aider."""
    text = use.result.text
    for found in _ANNOUNCED.finditer(text[:20_000]):
        how: AccessKind = "modified" if found["edit"] else "read" if found["add"] else "created"
        yield FileAccess(clean_path(found["edit"] or found["add"] or found["new"]), how, None, ok)
    shown = _OPEN_FILE.search(text[:2_000])
    if shown and _EDITS.match(said):
        yield FileAccess(clean_path(shown[1]), "modified", None, ok and "introduced new syntax error" not in text[:400])
