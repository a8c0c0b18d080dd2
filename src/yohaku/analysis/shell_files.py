"""What shell commands did to which files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.touch import FileAccess, LineRange, clean_path

READERS = frozenset("cat head tail less more nl bat tac strings xxd open view get-content gc type ls".split())
DELETERS = frozenset("rm unlink rmdir remove-item trash".split())
MAKERS = frozenset("touch mkdir create new-item".split())
_RANGE = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p")
_COUNT = re.compile(r"-n?(\d{1,9})$|--lines=(\d{1,9})$")
_NO_FILE = re.compile(r"[*?\[\]{}$`]|^-|^/dev/(?!shm)|^&|^\d$")


def by_shell(ran: str, said: str, ok: bool) -> Iterator[FileAccess]:
    """Where the result names files that are missing, those failed; else the last part of a command that failed."""
    parts = split_commands(ran)
    missing = _find_missing_words(said) if "No such file" in said or "cannot " in said else frozenset()
    for number, part in enumerate(parts):
        if part.words and part.words[0] == "cd":
            continue
        after = parts[number + 1] if number + 1 < len(parts) and parts[number + 1].piped else None
        done = ok or any(not later.piped for later in parts[number + 1 :])
        for touch in _by_command(part, after):
            if not _NO_FILE.search(touch.path):
                yield FileAccess(
                    clean_path(touch.path), touch.how, touch.lines, touch.path not in missing if missing else done
                )


def _find_missing_words(said: str) -> frozenset[str]:
    """The words of the lines that complain of a file; its name is one of them."""
    lines = (line for line in said[:4_000].splitlines() if "No such file" in line or "cannot " in line)
    return frozenset(word for line in lines for word in _APART.split(line))


_APART = re.compile(r"[\s'\"‘’`:]+")


def _by_command(part: ShellCommand, after: ShellCommand | None) -> Iterator[FileAccess]:
    yield from (FileAccess(path, "read") for path in part.reads)
    yield from _by_words(part.words, after) if part.words else ()
    yield from (FileAccess(path, "created") for path in part.writes)
    yield from (FileAccess(path, "modified") for path in part.appends)


def _by_words(words: tuple[str, ...], after: ShellCommand | None) -> Iterator[FileAccess]:
    name, rest = words[0].rsplit("/", 1)[-1].lower(), words[1:]
    if name == "git" and rest:
        verb, rest = _split_git(rest)
        yield from _by_git(verb, rest)
        return
    files = _find_operands(rest)
    if name in READERS:
        lines = _head_range(rest) if name == "head" else _piped_range(after) if name != "ls" else None
        yield from (FileAccess(path, "read", lines) for path in files if not path.isdigit())
    elif name == "sed":
        yield from _by_sed(rest)
    elif name in DELETERS:
        yield from (FileAccess(path, "deleted") for path in files)
    elif name in MAKERS:
        yield from (FileAccess(path, "created") for path in files)
    elif name == "tee":
        yield from (FileAccess(path, "modified" if "-a" in rest else "created") for path in files)
    elif name in ("mv", "move-item", "cp", "copy-item", "ln") and len(files) > 1:
        yield from _by_move(files, {"mv": "deleted", "move-item": "deleted"}.get(name, "read"))
    elif name in ("perl", "ruby") and any(re.match(r"-\w*i", word) for word in rest):
        yield from (FileAccess(path, "modified") for path in files[1:])
    elif name in ("curl", "wget"):
        saved = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-o", "-O", "--output")]
        yield from (FileAccess(path, "created") for path in saved if "://" not in path and path != "-")


def _split_git(rest: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """What git does, and with what."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c") else 1
    return (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())


def _by_git(verb: str, rest: tuple[str, ...]) -> Iterator[FileAccess]:
    files = _find_operands(rest)
    if verb == "rm" and "--cached" not in rest:
        yield from (FileAccess(path, "deleted") for path in files)
    elif verb == "mv" and len(files) > 1:
        yield from _by_move(files, "deleted")
    elif (verb == "checkout" and "--" in rest) or (verb == "restore" and "--staged" not in rest):
        chosen = rest[rest.index("--") + 1 :] if "--" in rest else tuple(files)
        yield from (FileAccess(path, "modified") for path in chosen if path != ".")


def _by_move(files: list[str], fate: str) -> Iterator[FileAccess]:
    *old, new = files
    for path in old:
        yield FileAccess(path, "deleted" if fate == "deleted" else "read")
        into = new.endswith("/") or len(old) > 1 or new in (".", "..")
        if not into:  # else its new path was never said
            yield FileAccess(new, "created")


def _by_sed(rest: tuple[str, ...]) -> Iterator[FileAccess]:
    scripts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-e", "--expression")]
    files = [word for word in _find_operands(rest) if word not in scripts]
    if not scripts:
        scripts, files = files[:1], files[1:]
    in_place = any(re.match(r"-[nErs]*i|--in-place", word) for word in rest)
    if in_place and rest[:1] == ("-i",) and files and not scripts[0]:
        scripts, files = files[:1], files[1:]  # the sed of macOS wants a suffix after -i, often an empty one
    lines = _sed_range(scripts[0]) if scripts else None
    yield from (FileAccess(path, "modified" if in_place else "read", None if in_place else lines) for path in files)


def _sed_range(script: str) -> LineRange | None:
    spans = [(int(a), -1 if b == "$" else int(b or a)) for a, b in _RANGE.findall(script)]
    return (spans[0][0], spans[-1][1]) if spans else None


def _head_range(rest: tuple[str, ...]) -> LineRange | None:
    for at, word in enumerate(rest):
        if word == "-n" and rest[at + 1 : at + 2] and rest[at + 1].isdigit():
            return 1, int(rest[at + 1])
        if found := _COUNT.match(word):
            return 1, int(found[1] or found[2])
    return 1, 10


def _piped_range(after: ShellCommand | None) -> LineRange | None:
    """What of a file comes through the next command of a pipe."""
    if after is None or not after.words:
        return None
    if after.words[0] == "sed" and "-n" in after.words:
        return next(filter(None, map(_sed_range, after.words[1:])), None)
    return _head_range(after.words[1:]) if after.words[0] == "head" else None


def _find_operands(rest: tuple[str, ...]) -> list[str]:
    """The words that are not options, nor the number that belongs to one."""
    found: list[str] = []
    for at, word in enumerate(rest):
        number = at > 0 and rest[at - 1] in ("-n", "-c", "-m", "-A", "-B", "-C") and word.lstrip("+-").isdigit()
        if word and not number and (not word.startswith("-") or "--" in rest[:at]):
            found.append(word)
    return found
