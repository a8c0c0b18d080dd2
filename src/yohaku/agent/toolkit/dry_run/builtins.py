"""Builtin commands of bash that change the state of the shell."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from yohaku.agent.toolkit.dry_run.program import CommandRunner, as_source
from yohaku.agent.toolkit.dry_run.script_files import scripts_of
from yohaku.agent.toolkit.dry_run.shell_state import ShellState, normalize
from yohaku.agent.toolkit.dry_run.values import ANY, SOME, SOMEWHERE, has_wildcard, is_unknown, limit, unmark

_DECLARATIONS = frozenset("export declare local readonly typeset".split())
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*$", re.ASCII)


def apply_builtin(
    runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None
) -> list[str] | None:
    """Run a builtin that changes the state; return what it prints, or None for any other program."""
    name, rest = words[0], words[1:]
    if name in ("cd", "chdir", "pushd", "popd"):
        _change_folder(name, rest, state)
    elif name in _DECLARATIONS:
        _declare(rest, state)
    elif name == "set":
        if "--" in rest:
            state.arguments = rest[rest.index("--") + 1 :]
        elif rest and not rest[0].startswith(("-", "+")):
            state.arguments = rest
    elif name == "shift":
        state.arguments = state.arguments[1:]
    elif name == "unset":
        state.variables.update({word: [""] for word in rest if _NAME.match(word)})
    elif name == "alias":
        state.aliases.update(dict(word.split("=", 1) for word in rest if "=" in word))
    elif name in ("read", "mapfile", "readarray", "getopts", "let"):
        _read(rest, state, stdin if name != "let" else None)
    elif name == "printf" and rest[:1] == ["-v"] and len(rest) > 2:
        state.assign(rest[1], runner.run_words(["printf", *rest[2:]], state.fork()))
    elif name in ("source", "."):
        return _source(runner, rest, state, stdin)
    elif name == "eval":
        return runner.run_text(as_source(" ".join(rest)), state, stdin)
    elif name == "trap":
        return runner.run_text(as_source(rest[0]), state) if len(rest) > 1 else []
    elif name == "ln":
        _link(rest, state)
        return None
    elif name == "mkdir":
        state.made.update(path for word in rest if not word.startswith("-") for path in state.resolve(unmark(word)))
    else:
        return None
    return []


def _link(rest: list[str], state: ShellState) -> None:
    """Take note of a link that is made."""
    operands = [word for word in rest if not word.startswith("-")]
    if len(operands) == 2 and any(re.match(r"-\w*s|--symbolic$", word) for word in rest):
        target, name = operands
        for link in state.resolve(unmark(name)):
            base = posixpath.dirname(link)
            state.links[link] = normalize(target if target.startswith("/") else f"{base}/{target}")


def _change_folder(name: str, rest: list[str], state: ShellState) -> None:
    operands = [word for word in rest if word == "-" or not word.startswith("-")]
    before = state.folders
    if name == "popd":
        target = state.pushed.pop() if state.pushed else before
    elif not operands and name == "pushd":
        target = state.pushed.pop() if state.pushed else before
        state.pushed.append(before)
    elif not operands:
        target = state.variables.get("HOME", [state.home])
    else:
        target = limit(path for word in operands for path in _enter(word, state))
        if name == "pushd":
            state.pushed.append(before)
    state.previous = before
    state.folders = limit([*target, *before]) if state.in_branch else target or before


def _enter(word: str, state: ShellState) -> list[str]:
    if word == "-":
        return state.previous or [SOMEWHERE]
    if is_unknown(word) and not word.rstrip(ANY).endswith("/"):
        return [SOMEWHERE]
    if has_wildcard(word):
        head, _, last = word.rstrip("/").rpartition("/")
        if not has_wildcard(head):
            return [
                normalize(f"{path}/{SOME if unmark(last) != last else last}") for path in state.resolve(head or ".")
            ]
        return [SOMEWHERE]
    return [path for logical in state.resolve(word.replace(ANY, SOME)) for path in {logical, _real(logical)}]


def _real(path: str) -> str:
    try:
        return str(Path(path).resolve()) if "\0" not in path else path
    except (OSError, RuntimeError):
        return path


def _declare(rest: list[str], state: ShellState) -> None:
    values: dict[tuple[str, bool], list[str]] = {}
    for word in rest:
        found = _ASSIGNED.match(word)
        if found:
            value = word[found.end() :]
            parts = value.split() if value.endswith(" ") else [value]  # an array, which the parser made one word
            values.setdefault((found[1], bool(found[2])), []).extend(parts)
    for (name, append), given in values.items():
        state.assign(name, [ANY] if "-n" in rest else given, append=append)


def _read(rest: list[str], state: ShellState, stdin: list[str] | None) -> None:
    values = [ANY] if stdin is None else stdin
    marks = "".join(state.variables.get("IFS", []))
    between = re.compile(rf"[{re.escape(marks)}]" if marks.strip() and not is_unknown(marks) else r"\s+")
    parts = limit([*values, *(part for value in values for part in between.split(value.strip()))])
    names = [word for word in rest if _NAME.match(word)] or ["REPLY", "MAPFILE"]
    for name in names:
        state.assign(name, parts)


def _source(runner: CommandRunner, rest: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
    on_disk = state.from_disk
    texts = [text for word in rest[:1] for text in scripts_of(word, state)]
    if rest[:1] in (["/dev/stdin"], ["/dev/fd/0"]):
        texts = stdin or []
    if not texts or state.from_disk or any(map(is_unknown, texts)):
        state.sourced = True
    found = [value for text in texts for value in runner.run_text(as_source(text), state)]
    state.from_disk = on_disk
    return found


def folder_exists(path: str, state: ShellState) -> bool:
    """Return whether a `cd` to this folder succeeds, as far as can be told."""
    if path in state.made or posixpath.dirname(path) in state.made:
        return True
    try:
        return Path(path).is_dir() if "\0" not in path else False
    except (OSError, ValueError):
        return False
