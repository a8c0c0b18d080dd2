"""What the calls of a conversation did to which files.

Law: a tool is known by the words in its name and the names of its arguments, not by whose it is; what a failed call
was about to do is not done (`ok` is False), and no ledger tells of it. A path is told as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from yohaku.core.commands import arguments, command, failed, words_of
from yohaku.core.model import Turn, Use
from yohaku.core.shell import Simple, simple

How: TypeAlias = Literal["read", "created", "modified", "deleted"]
Lines: TypeAlias = tuple[int, int]
"""First and last, from 1; a last of -1 is the end of the file."""


class Touch(NamedTuple):
    path: str
    how: How
    lines: Lines | None = None
    """The lines that were read, where not all were."""
    ok: bool = True


@dataclass(frozen=True, slots=True)
class File:
    path: str
    state: How
    """What has become of it: "created" stays so when it is modified later; reading changes nothing."""
    ranges: tuple[Lines, ...]
    """The lines that were read, in order and joined; (1, -1) is all of it."""
    step: int
    """The number of the step that touched it last, from 0."""


def _verbs(**words: str) -> dict[str, How]:
    return {word: how for how, line in words.items() for word in line.split()}  # type: ignore[misc]


VERBS = _verbs(
    deleted="delete remove unlink rm",
    modified="edit multiedit editor replace update patch insert modify append overwrite undo",
    created="write create save new writer",
    read="read view open cat show load reader",
)
"""Words of a tool's name, or of its `command` argument, the strongest first."""

SEARCH = frozenset("grep search find glob list lsp diagnostics".split())

PATHS = (
    "filepath path file filename notebookpath targetfile absolutepath targetpath relativeworkspacepath pathname "
    "filepaths paths files absolutefilepath"
).split()
"""Names of arguments that hold a path, or a list of them, without case and underscores."""

SOURCES = "source sourcepath src oldpath from frompath".split()
TARGETS = "destination destinationpath dest dst newpath to topath".split()


def touches(use: Use) -> tuple[Touch, ...]:
    """What a call did to which files, in order."""
    given = arguments(use)
    ok = not failed(use)
    patched = tuple(_patched(given, ok))
    if patched:
        return patched
    ran = command(use)
    if ran is not None and _EDITS.match(ran):
        return tuple(_announced(use, ran, ok))  # what follows is text, not a command
    if ran is not None:
        return (*_by_shell(ran, use.result.text, ok), *_announced(use, ran, ok))
    return tuple(_by_tool(use, given, ok)) or tuple(_announced(use, use.call.name, ok))


# Tools


def _by_tool(use: Use, given: dict[str, Any], ok: bool) -> Iterator[Touch]:
    words = words_of(use.call.name)
    if words & {"move", "rename"} and (pair := _pair(given)):
        yield Touch(pair[0], "deleted", None, ok)
        yield Touch(pair[1], "created", None, ok)
        return
    how = _verb(words, given)
    if how is None:
        return
    if how == "created" and _REPLACED.search(use.result.text[:400]):
        how = "modified"
    for name in PATHS:
        for path in _paths(given[name]) if name in given else ():
            yield Touch(path, how, _lines(given) if how == "read" else None, ok)


def _pair(given: dict[str, Any]) -> tuple[str, str] | None:
    old = [given[name] for name in SOURCES if isinstance(given.get(name), str)]
    new = [given[name] for name in TARGETS if isinstance(given.get(name), str)]
    return (old[0], new[0]) if old and new else None


def _verb(words: frozenset[str], given: dict[str, Any]) -> How | None:
    said = given.get("command")
    asked = words_of(said) if isinstance(said, str) and len(said) < 24 else frozenset[str]()
    return _spoken(asked) or _spoken(words)


@lru_cache(512)
def _spoken(words: frozenset[str]) -> How | None:
    found = (how for word, how in VERBS.items() if word in words and (how != "read" or words.isdisjoint(SEARCH)))
    return next(found, None)


_REPLACED = re.compile(r"\b(?:overwritten|updated|modified|replaced)\b|上書き|更新", re.IGNORECASE)


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip() and "\n" not in value and "://" not in value.removeprefix("file://"):
            yield _clean(value.removeprefix("file://"))
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item.get("path") or item.get("file_path") if isinstance(item, dict) else item)


def _clean(path: str) -> str:
    path = path.strip().rstrip("/") or "/"
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path or "."


def _lines(given: dict[str, Any]) -> Lines | None:
    span = given.get("viewrange") or given.get("linerange") or given.get("range")
    if isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span):
        return span[0], span[1]
    first = _number(given, "offset", "startline", "startlineoneindexed", "linestart", "firstline", "linenumber")
    last = _number(given, "endline", "endlineoneindexedinclusive", "lineend", "lastline")
    most = _number(given, "limit", "lines", "numlines", "maxlines")
    if last is None and most is not None:
        last = (first or 1) + most - 1
    return (first or 1, last or -1) if first is not None or last is not None else None


def _number(given: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (value := given.get(name)) is None:
            continue
        if type(value) is int or (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9):
            return int(value)
    return None


_HEAD = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): ([^\n]{1,1000})$", re.MULTILINE)
_DIFF = re.compile(r"^--- (?:a/)?([^\t\n]{1,1000})[^\n]*\n\+\+\+ (?:b/)?([^\t\n]{1,1000})", re.MULTILINE)
_PATCH: dict[str, How] = {"Add File": "created", "Update File": "modified", "Delete File": "deleted"}


def _patched(given: dict[str, Any], ok: bool) -> Iterator[Touch]:
    for value in given.values():
        text = value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else ""
        if "*** Begin Patch" in text:
            yield from _by_patch(text, ok)
    for name in ("patch", "diff"):
        for old, new in _DIFF.findall(given[name]) if isinstance(given.get(name), str) else ():
            how: How = "created" if old == "/dev/null" else "deleted" if new == "/dev/null" else "modified"
            yield Touch(_clean(old if how == "deleted" else new), how, None, ok)


def _by_patch(text: str, ok: bool) -> Iterator[Touch]:
    last = ""
    for what, name in _HEAD.findall(text):
        path = _clean(name)
        if what != "Move to":
            last = path
            yield Touch(path, _PATCH[what], None, ok)
        elif last != path:
            yield Touch(last, "deleted", None, ok)
            yield Touch(path, "created", None, ok)


_TOLD = re.compile(
    r"^(?:Applied edit to (?P<edit>[^\n]{1,400}?)|Added (?P<add>\S{1,400}) to the chat\.?"
    r"|Creat(?:ed|ing) (?:new |empty )?file (?P<new>\S{1,400}))[ \t]*$",
    re.MULTILINE,
)
_EDITS = re.compile(r"(?:edit|insert|append)(?:\s|$)")
_SHOWN = re.compile(r"^\[File: ([^\n]{1,400}?) \(\d+ lines total\)\]", re.MULTILINE)


def _announced(use: Use, said: str, ok: bool) -> Iterator[Touch]:
    """Where the call names no file, but its result does: editors that keep one open, and aider."""
    text = use.result.text
    for found in _TOLD.finditer(text[:20_000]):
        how: How = "modified" if found["edit"] else "read" if found["add"] else "created"
        yield Touch(_clean(found["edit"] or found["add"] or found["new"]), how, None, ok)
    shown = _SHOWN.search(text[:2_000])
    if shown and _EDITS.match(said):
        yield Touch(_clean(shown[1]), "modified", None, ok and "introduced new syntax error" not in text[:400])


# Shell commands

READERS = frozenset("cat head tail less more nl bat tac strings xxd open view get-content gc type ls".split())
DELETERS = frozenset("rm unlink rmdir remove-item trash".split())
MAKERS = frozenset("touch mkdir create new-item".split())
_RANGE = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p")
_COUNT = re.compile(r"-n?(\d{1,9})$|--lines=(\d{1,9})$")
_NO_FILE = re.compile(r"[*?\[\]{}$`]|^-|^/dev/(?!shm)|^&|^\d$")


def _by_shell(ran: str, said: str, ok: bool) -> Iterator[Touch]:
    """Where the result names files that are missing, those failed; else the last part of a command that failed."""
    parts = simple(ran)
    missing = _missing(said) if "No such file" in said or "cannot " in said else frozenset()
    for number, part in enumerate(parts):
        if part.words and part.words[0] == "cd":
            continue
        after = parts[number + 1] if number + 1 < len(parts) and parts[number + 1].piped else None
        done = ok or any(not later.piped for later in parts[number + 1 :])
        for touch in _by_command(part, after):
            if not _NO_FILE.search(touch.path):
                yield Touch(_clean(touch.path), touch.how, touch.lines, touch.path not in missing if missing else done)


def _missing(said: str) -> frozenset[str]:
    """The words of the lines that complain of a file; its name is one of them."""
    lines = (line for line in said[:4_000].splitlines() if "No such file" in line or "cannot " in line)
    return frozenset(word for line in lines for word in _APART.split(line))


_APART = re.compile(r"[\s'\"‘’`:]+")


def _by_command(part: Simple, after: Simple | None) -> Iterator[Touch]:
    yield from (Touch(path, "read") for path in part.reads)
    yield from _by_words(part.words, after) if part.words else ()
    yield from (Touch(path, "created") for path in part.writes)
    yield from (Touch(path, "modified") for path in part.appends)


def _by_words(words: tuple[str, ...], after: Simple | None) -> Iterator[Touch]:
    name, rest = words[0].rsplit("/", 1)[-1].lower(), words[1:]
    if name == "git" and rest:
        verb, rest = _git(rest)
        yield from _by_git(verb, rest)
        return
    files = _operands(rest)
    if name in READERS:
        lines = _head(rest) if name == "head" else _shown(after) if name != "ls" else None
        yield from (Touch(path, "read", lines) for path in files if not path.isdigit())
    elif name == "sed":
        yield from _by_sed(rest)
    elif name in DELETERS:
        yield from (Touch(path, "deleted") for path in files)
    elif name in MAKERS:
        yield from (Touch(path, "created") for path in files)
    elif name == "tee":
        yield from (Touch(path, "modified" if "-a" in rest else "created") for path in files)
    elif name in ("mv", "move-item", "cp", "copy-item", "ln") and len(files) > 1:
        yield from _by_move(files, {"mv": "deleted", "move-item": "deleted"}.get(name, "read"))
    elif name in ("perl", "ruby") and any(re.match(r"-\w*i", word) for word in rest):
        yield from (Touch(path, "modified") for path in files[1:])
    elif name in ("curl", "wget"):
        saved = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-o", "-O", "--output")]
        yield from (Touch(path, "created") for path in saved if "://" not in path and path != "-")


def _git(rest: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """What git does, and with what."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c") else 1
    return (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())


def _by_git(verb: str, rest: tuple[str, ...]) -> Iterator[Touch]:
    files = _operands(rest)
    if verb == "rm" and "--cached" not in rest:
        yield from (Touch(path, "deleted") for path in files)
    elif verb == "mv" and len(files) > 1:
        yield from _by_move(files, "deleted")
    elif (verb == "checkout" and "--" in rest) or (verb == "restore" and "--staged" not in rest):
        chosen = rest[rest.index("--") + 1 :] if "--" in rest else tuple(files)
        yield from (Touch(path, "modified") for path in chosen if path != ".")


def _by_move(files: list[str], fate: str) -> Iterator[Touch]:
    *old, new = files
    for path in old:
        yield Touch(path, "deleted" if fate == "deleted" else "read")
        into = new.endswith("/") or len(old) > 1 or new in (".", "..")
        if not into:  # else its new path was never said
            yield Touch(new, "created")


def _by_sed(rest: tuple[str, ...]) -> Iterator[Touch]:
    scripts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-e", "--expression")]
    files = [word for word in _operands(rest) if word not in scripts]
    if not scripts:
        scripts, files = files[:1], files[1:]
    in_place = any(re.match(r"-[nErs]*i|--in-place", word) for word in rest)
    if in_place and rest[:1] == ("-i",) and files and not scripts[0]:
        scripts, files = files[:1], files[1:]  # the sed of macOS wants a suffix after -i, often an empty one
    lines = _printed(scripts[0]) if scripts else None
    yield from (Touch(path, "modified" if in_place else "read", None if in_place else lines) for path in files)


def _printed(script: str) -> Lines | None:
    spans = [(int(a), -1 if b == "$" else int(b or a)) for a, b in _RANGE.findall(script)]
    return (spans[0][0], spans[-1][1]) if spans else None


def _head(rest: tuple[str, ...]) -> Lines | None:
    for at, word in enumerate(rest):
        if word == "-n" and rest[at + 1 : at + 2] and rest[at + 1].isdigit():
            return 1, int(rest[at + 1])
        if found := _COUNT.match(word):
            return 1, int(found[1] or found[2])
    return 1, 10


def _shown(after: Simple | None) -> Lines | None:
    """What of a file comes through the next command of a pipe."""
    if after is None or not after.words:
        return None
    if after.words[0] == "sed" and "-n" in after.words:
        return next(filter(None, map(_printed, after.words[1:])), None)
    return _head(after.words[1:]) if after.words[0] == "head" else None


def _operands(rest: tuple[str, ...]) -> list[str]:
    """The words that are not options, nor the number that belongs to one."""
    found: list[str] = []
    for at, word in enumerate(rest):
        number = at > 0 and rest[at - 1] in ("-n", "-c", "-m", "-A", "-B", "-C") and word.lstrip("+-").isdigit()
        if word and not number and (not word.startswith("-") or "--" in rest[:at]):
            found.append(word)
    return found


# The ledger


def files(turns: Iterable[Turn]) -> dict[str, File]:
    """Each file that was touched, by path, in the order of its last touch. What failed is left out."""
    steps = (step for turn in turns for step in turn.steps)
    return ledger((number, touch) for number, step in enumerate(steps) for use in step.uses for touch in touches(use))


def ledger(touches: Iterable[tuple[int, Touch]]) -> dict[str, File]:
    """The same of touches that are known, each with the number of its step, in order."""
    done = [(number, touch) for number, touch in touches if touch.ok]
    whole = _whole({touch.path for _, touch in done})
    found: dict[str, File] = {}
    for number, touch in done:
        path = whole.get(touch.path, touch.path)
        found[path] = touched(found.pop(path, None), touch._replace(path=path), number)
    return found


def _whole(paths: set[str]) -> dict[str, str]:
    """For a relative path the absolute one it is the end of, where there is just one: they are the same file."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        if path.startswith(("/", "~")):
            by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    found: dict[str, str] = {}
    for path in paths:
        if not path.startswith(("/", "~", "..")):
            same = [known for known in by_name.get(path.rsplit("/", 1)[-1], ()) if known.endswith("/" + path)]
            if len(same) == 1:
                found[path] = same[0]
    return found


def touched(before: File | None, touch: Touch, step: int) -> File:
    state, ranges = (before.state, before.ranges) if before else (touch.how, ())
    if touch.how == "read":
        return File(touch.path, state, joined((*ranges, touch.lines or (1, -1))), step)
    if touch.how == "modified" and state in ("created", "modified"):
        return File(touch.path, state, ranges, step)
    if touch.how == "created" and before and state in ("read", "modified"):
        return File(touch.path, "modified", ranges, step)
    return File(touch.path, touch.how, ranges, step)


def joined(ranges: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """Ranges in order, those that meet made one."""
    done: list[Lines] = []
    for first, last in sorted(ranges):
        if done and (done[-1][1] == -1 or first <= done[-1][1] + 1):
            done[-1] = done[-1][0], -1 if -1 in (last, done[-1][1]) else max(last, done[-1][1])
        else:
            done.append((first, last))
    return tuple(done)
