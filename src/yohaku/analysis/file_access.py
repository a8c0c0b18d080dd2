"""Reader of the files that a tool call read, created, modified or deleted.

Sources, in this order: a patch among the arguments, a shell command, the tool's name with its path arguments, and
announcements in the result. Law: a tool is recognised by the words in its name and the names of its arguments, not by
its product. An access of a failed call has `ok=False`. Paths stay as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.tool_calls import find_command, has_failed, read_arguments, split_tool_name
from yohaku.core.model import ToolUse

AccessKind: TypeAlias = Literal["read", "created", "modified", "deleted"]
LineRange: TypeAlias = tuple[int, int]
"""First and last line, from 1; a last line of -1 is the end of the file."""


class FileAccess(NamedTuple):
    path: str
    kind: AccessKind
    lines: LineRange | None = None
    """The lines that were read; None for all."""
    ok: bool = True


def find_accesses(use: ToolUse) -> tuple[FileAccess, ...]:
    """Return the files a call accessed, in order."""
    arguments = read_arguments(use)
    ok = not has_failed(use)
    patched = tuple(_by_patch_arguments(arguments, ok))
    if patched:
        return patched
    command = find_command(use)
    if command is None:
        return tuple(_by_tool(use, arguments, ok)) or tuple(_by_result(use, use.call.name, ok))
    if _EDITOR_COMMAND.match(command):  # text for an editor follows, not a shell command
        return tuple(_by_result(use, command, ok))
    return (*_by_shell(command, use.result.text, ok), *_by_result(use, command, ok))


def clean_path(path: str) -> str:
    """Strip spaces, slashes at the end and `./` at the front."""
    path = path.strip().rstrip("/") or "/"
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path or "."


# By the name of a tool and its arguments


def _verbs(**words: str) -> dict[str, AccessKind]:
    return {word: kind for kind, line in words.items() for word in line.split()}  # type: ignore[misc]


ACCESS_VERBS = _verbs(
    deleted="delete remove unlink rm",
    modified="edit multiedit editor replace update patch insert modify append overwrite undo",
    created="write create save new writer",
    read="read view open cat show load reader",
)
"""Words in the name of a tool, or in its `command` argument; the first match decides."""

SEARCH_WORDS = frozenset("grep search find glob list lsp diagnostics".split())

PATH_ARGUMENTS = (
    "filepath path file filename notebookpath targetfile absolutepath targetpath relativeworkspacepath pathname "
    "filepaths paths files absolutefilepath"
).split()
"""Names of arguments that hold a path or a list of paths, without case and underscores."""

SOURCE_ARGUMENTS = "source sourcepath src oldpath from frompath".split()
TARGET_ARGUMENTS = "destination destinationpath dest dst newpath to topath".split()

MAX_SUBCOMMAND_CHARS = 24
"""A longer `command` argument is a shell command, not the subcommand of an editor tool."""

_REPLACED = re.compile(r"\b(?:overwritten|updated|modified|replaced)\b|上書き|更新", re.IGNORECASE)


def _by_tool(use: ToolUse, arguments: dict[str, Any], ok: bool) -> Iterator[FileAccess]:
    words = split_tool_name(use.call.name)
    if words & {"move", "rename"} and (move := _find_move(arguments)):
        yield FileAccess(move[0], "deleted", None, ok)
        yield FileAccess(move[1], "created", None, ok)
        return
    kind = _find_kind(words, arguments)
    if kind is None:
        return
    if kind == "created" and _REPLACED.search(use.result.text[:400]):
        kind = "modified"
    for name in PATH_ARGUMENTS:
        for path in _read_paths(arguments[name]) if name in arguments else ():
            yield FileAccess(path, kind, _read_line_range(arguments) if kind == "read" else None, ok)


def _find_move(arguments: dict[str, Any]) -> tuple[str, str] | None:
    old = [arguments[name] for name in SOURCE_ARGUMENTS if isinstance(arguments.get(name), str)]
    new = [arguments[name] for name in TARGET_ARGUMENTS if isinstance(arguments.get(name), str)]
    return (old[0], new[0]) if old and new else None


def _find_kind(words: frozenset[str], arguments: dict[str, Any]) -> AccessKind | None:
    subcommand = arguments.get("command")
    if isinstance(subcommand, str) and len(subcommand) < MAX_SUBCOMMAND_CHARS:
        return _kind_of_words(split_tool_name(subcommand)) or _kind_of_words(words)
    return _kind_of_words(words)


@lru_cache(512)
def _kind_of_words(words: frozenset[str]) -> AccessKind | None:
    searches = not words.isdisjoint(SEARCH_WORDS)
    kinds = (kind for word, kind in ACCESS_VERBS.items() if word in words and not (kind == "read" and searches))
    return next(kinds, None)


def _read_paths(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip() and "\n" not in value and "://" not in value.removeprefix("file://"):
            yield clean_path(value.removeprefix("file://"))
    elif isinstance(value, list):
        for item in value:
            yield from _read_paths(item.get("path") or item.get("file_path") if isinstance(item, dict) else item)


def _read_line_range(arguments: dict[str, Any]) -> LineRange | None:
    span = arguments.get("viewrange") or arguments.get("linerange") or arguments.get("range")
    if isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span):
        return span[0], span[1]
    first = _read_number(
        arguments, "offset", "startline", "startlineoneindexed", "linestart", "firstline", "linenumber"
    )
    last = _read_number(arguments, "endline", "endlineoneindexedinclusive", "lineend", "lastline")
    length = _read_number(arguments, "limit", "lines", "numlines", "maxlines")
    if last is None and length is not None:
        last = (first or 1) + length - 1
    return (first or 1, last or -1) if first is not None or last is not None else None


def _read_number(arguments: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (value := arguments.get(name)) is None:
            continue
        if type(value) is int or (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9):
            return int(value)
    return None


# By a patch

_PATCH_HEAD = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): ([^\n]{1,1000})$", re.MULTILINE)
_DIFF_HEAD = re.compile(r"^--- (?:a/)?([^\t\n]{1,1000})[^\n]*\n\+\+\+ (?:b/)?([^\t\n]{1,1000})", re.MULTILINE)
_PATCH_KINDS: dict[str, AccessKind] = {"Add File": "created", "Update File": "modified", "Delete File": "deleted"}


def _by_patch_arguments(arguments: dict[str, Any], ok: bool) -> Iterator[FileAccess]:
    for value in arguments.values():
        text = value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else ""
        if "*** Begin Patch" in text:
            yield from _by_patch(text, ok)
    for name in ("patch", "diff"):
        for old, new in _DIFF_HEAD.findall(arguments[name]) if isinstance(arguments.get(name), str) else ():
            kind: AccessKind = "created" if old == "/dev/null" else "deleted" if new == "/dev/null" else "modified"
            yield FileAccess(clean_path(old if kind == "deleted" else new), kind, None, ok)


def _by_patch(text: str, ok: bool) -> Iterator[FileAccess]:
    last = ""
    for head, name in _PATCH_HEAD.findall(text):
        path = clean_path(name)
        if head != "Move to":
            last = path
            yield FileAccess(path, _PATCH_KINDS[head], None, ok)
        elif last != path:
            yield FileAccess(last, "deleted", None, ok)
            yield FileAccess(path, "created", None, ok)


# By the result

_ANNOUNCED = re.compile(
    r"^(?:Applied edit to (?P<edit>[^\n]{1,400}?)|Added (?P<add>\S{1,400}) to the chat\.?"
    r"|Creat(?:ed|ing) (?:new |empty )?file (?P<new>\S{1,400}))[ \t]*$",
    re.MULTILINE,
)
_EDITOR_COMMAND = re.compile(r"(?:edit|insert|append)(?:\s|$)")
_OPEN_FILE = re.compile(r"^\[File: ([^\n]{1,400}?) \(\d+ lines total\)\]", re.MULTILINE)


def _by_result(use: ToolUse, command: str, ok: bool) -> Iterator[FileAccess]:
    """Yield files that only the result names: those of aider, and of editors that keep a file open between calls."""
    text = use.result.text
    for found in _ANNOUNCED.finditer(text[:20_000]):
        kind: AccessKind = "modified" if found["edit"] else "read" if found["add"] else "created"
        yield FileAccess(clean_path(found["edit"] or found["add"] or found["new"]), kind, None, ok)
    opened = _OPEN_FILE.search(text[:2_000])
    if opened and _EDITOR_COMMAND.match(command):
        done = ok and "introduced new syntax error" not in text[:400]
        yield FileAccess(clean_path(opened[1]), "modified", None, done)


# By a shell command

READ_COMMANDS = frozenset("cat head tail less more nl bat tac strings xxd open view get-content gc type ls".split())
DELETE_COMMANDS = frozenset("rm unlink rmdir remove-item trash".split())
CREATE_COMMANDS = frozenset("touch mkdir create new-item".split())
MOVE_COMMANDS = frozenset(("mv", "move-item"))
COPY_COMMANDS = frozenset(("cp", "copy-item", "ln"))
_SED_RANGE = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p")
_LINE_COUNT = re.compile(r"-n?(\d{1,9})$|--lines=(\d{1,9})$")
_NOT_A_FILE = re.compile(r"[*?\[\]{}$`]|^-|^/dev/(?!shm)|^&|^\d$")
_WORD_BREAK = re.compile(r"[\s'\"‘’`:]+")


def _by_shell(command: str, result: str, ok: bool) -> Iterator[FileAccess]:
    """Yield the files of a shell command.

    Failed are the files that the result reports as missing; if it reports none, those of the last part of a command
    that failed.
    """
    parts = split_commands(command)
    missing = _find_missing_words(result) if "No such file" in result or "cannot " in result else frozenset()
    for number, part in enumerate(parts):
        if part.words and part.words[0] == "cd":
            continue
        after = parts[number + 1] if number + 1 < len(parts) and parts[number + 1].piped else None
        done = ok or any(not later.piped for later in parts[number + 1 :])
        for path, kind, lines, _ in _by_simple_command(part, after):
            if not _NOT_A_FILE.search(path):
                yield FileAccess(clean_path(path), kind, lines, path not in missing if missing else done)


def _find_missing_words(result: str) -> frozenset[str]:
    """Return the words of the lines that report a missing file; its name is one of them."""
    lines = (line for line in result[:4_000].splitlines() if "No such file" in line or "cannot " in line)
    return frozenset(word for line in lines for word in _WORD_BREAK.split(line))


def _by_simple_command(part: ShellCommand, after: ShellCommand | None) -> Iterator[FileAccess]:
    yield from (FileAccess(path, "read") for path in part.reads)
    yield from _by_words(part.words, after) if part.words else ()
    yield from (FileAccess(path, "created") for path in part.writes)
    yield from (FileAccess(path, "modified") for path in part.appends)


def _by_words(words: tuple[str, ...], after: ShellCommand | None) -> Iterator[FileAccess]:
    name, rest = words[0].rsplit("/", 1)[-1].lower(), words[1:]
    if name == "git" and rest:
        yield from _by_git(*_split_git(rest))
        return
    files = _find_operands(rest)
    if name in READ_COMMANDS:
        lines = _head_range(rest) if name == "head" else _piped_range(after) if name != "ls" else None
        yield from (FileAccess(path, "read", lines) for path in files if not path.isdigit())
    elif name == "sed":
        yield from _by_sed(rest)
    elif name in DELETE_COMMANDS:
        yield from (FileAccess(path, "deleted") for path in files)
    elif name in CREATE_COMMANDS:
        yield from (FileAccess(path, "created") for path in files)
    elif name == "tee":
        yield from (FileAccess(path, "modified" if "-a" in rest else "created") for path in files)
    elif name in MOVE_COMMANDS | COPY_COMMANDS and len(files) > 1:
        yield from _by_move(files, "deleted" if name in MOVE_COMMANDS else "read")
    elif name in ("perl", "ruby") and any(re.match(r"-\w*i", word) for word in rest):
        yield from (FileAccess(path, "modified") for path in files[1:])
    elif name in ("curl", "wget"):
        saved = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-o", "-O", "--output")]
        yield from (FileAccess(path, "created") for path in saved if "://" not in path and path != "-")


def _split_git(rest: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the subcommand of git and its arguments."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c") else 1
    return (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())


def _by_git(subcommand: str, rest: tuple[str, ...]) -> Iterator[FileAccess]:
    files = _find_operands(rest)
    if subcommand == "rm" and "--cached" not in rest:
        yield from (FileAccess(path, "deleted") for path in files)
    elif subcommand == "mv" and len(files) > 1:
        yield from _by_move(files, "deleted")
    elif (subcommand == "checkout" and "--" in rest) or (subcommand == "restore" and "--staged" not in rest):
        restored = rest[rest.index("--") + 1 :] if "--" in rest else tuple(files)
        yield from (FileAccess(path, "modified") for path in restored if path != ".")


def _by_move(files: list[str], kind: AccessKind) -> Iterator[FileAccess]:
    """Yield the old files with `kind` and the new one; in a folder its path is not known, and it is left out."""
    *old, new = files
    for path in old:
        yield FileAccess(path, kind)
        into_folder = new.endswith("/") or len(old) > 1 or new in (".", "..")
        if not into_folder:
            yield FileAccess(new, "created")


def _by_sed(rest: tuple[str, ...]) -> Iterator[FileAccess]:
    scripts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-e", "--expression")]
    files = [word for word in _find_operands(rest) if word not in scripts]
    if not scripts:
        scripts, files = files[:1], files[1:]
    in_place = any(re.match(r"-[nErs]*i|--in-place", word) for word in rest)
    if in_place and rest[:1] == ("-i",) and files and not scripts[0]:
        scripts, files = files[:1], files[1:]  # sed of macOS takes a suffix after -i, often an empty one
    lines = _sed_range(scripts[0]) if scripts else None
    yield from (FileAccess(path, "modified" if in_place else "read", None if in_place else lines) for path in files)


def _sed_range(script: str) -> LineRange | None:
    ranges = [(int(a), -1 if b == "$" else int(b or a)) for a, b in _SED_RANGE.findall(script)]
    return (ranges[0][0], ranges[-1][1]) if ranges else None


def _head_range(rest: tuple[str, ...]) -> LineRange | None:
    for at, word in enumerate(rest):
        if word == "-n" and rest[at + 1 : at + 2] and rest[at + 1].isdigit():
            return 1, int(rest[at + 1])
        if found := _LINE_COUNT.match(word):
            return 1, int(found[1] or found[2])
    return 1, 10


def _piped_range(after: ShellCommand | None) -> LineRange | None:
    """Return the lines that the next command of a pipe lets through."""
    if after is None or not after.words:
        return None
    if after.words[0] == "sed" and "-n" in after.words:
        return next(filter(None, map(_sed_range, after.words[1:])), None)
    return _head_range(after.words[1:]) if after.words[0] == "head" else None


def _find_operands(rest: tuple[str, ...]) -> list[str]:
    """Return the words that are neither options nor the number of an option."""
    found: list[str] = []
    for at, word in enumerate(rest):
        number = at > 0 and rest[at - 1] in ("-n", "-c", "-m", "-A", "-B", "-C") and word.lstrip("+-").isdigit()
        if word and not number and (not word.startswith("-") or "--" in rest[:at]):
            found.append(word)
    return found
