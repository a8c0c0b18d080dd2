"""Texts that common programs print, as far as they follow from their words."""

from __future__ import annotations

import base64
import posixpath
import re

from yohaku.agent.toolkit.dry_run.find_roots import find_roots, has_filter
from yohaku.agent.toolkit.dry_run.program import program_name
from yohaku.agent.toolkit.dry_run.shell_state import ShellState
from yohaku.agent.toolkit.dry_run.values import ANY, SOME, STAR, drop_marks, has_wildcard, is_unknown, limit

_FILTERS = frozenset("cat sort uniq head tail grep egrep fgrep rg tee tac shuf tr".split())
"""Programs that print some of what they read."""
_NAMES = frozenset(
    "date whoami hostname uname id nproc seq wc uuidgen arch getconf tty logname stat du expr openssl md5sum sha1sum "
    "sha256sum cksum tput ps pgrep pidof nvm node python python3 go git".split()
)
"""Programs taken to print words without a slash."""


def printed(words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
    """Return the texts a program may print; an unknown one where its words do not tell."""
    name, rest = program_name(words[0]), words[1:]
    operands = [word for word in rest if not word.startswith("-")]
    match name:
        case "echo":
            while rest and re.fullmatch(r"-[neE]+", rest[0]):
                rest = rest[1:]
            return [" ".join(rest)]
        case "printf":
            return _printed_by_printf(operands)
        case "pwd":
            return [*state.folders]
        case "mktemp":
            return [f"/tmp/{SOME}"]
        case "dirname":
            return [posixpath.dirname(word) or "." for word in operands]
        case "basename":
            return [posixpath.basename(word.rstrip("/")) or "/" for word in operands[:1]]
        case "realpath" | "readlink":
            return limit(path for word in operands for path in state.resolve(word))
        case "which" | "type":
            return operands
        case "command" if "-v" in rest or "-V" in rest:
            return operands
        case "find":
            return [root + (f"/{SOME}" if has_filter(words) else "") for root in find_roots(words)]
        case "ls":
            listed = any(re.match(r"-\w*d", word) for word in rest)
            named = [word for word in operands if has_wildcard(word)]
            return operands if listed else [*named, *([STAR] if len(named) < len(operands) or not operands else [])]
        case "base64" if any(re.match(r"-[dD]|--d", word) for word in rest):
            return [_decode_base64(text) for text in stdin or ()] or [ANY]
        case "git" if "--show-toplevel" in rest:
            return [state.root]
    if name in _FILTERS and (
        stdin is not None and (name in ("tr", "tee", "grep", "egrep", "fgrep", "rg") or not operands)
    ):
        return stdin if name != "tr" else [ANY]
    if name in ("true", "false", "test", "[", "[[", "mkdir", "rm", "mv", "cp", "touch", "exit", "return"):
        return []
    return [SOME] if name in _NAMES and name not in ("python", "python3", "node") else [ANY]


def _decode_base64(text: str) -> str:
    try:
        return ANY if is_unknown(text) else drop_marks(base64.b64decode(text.strip()).decode().strip())
    except ValueError:
        return ANY


def _printed_by_printf(operands: list[str]) -> list[str]:
    if not operands:
        return []
    form, values = operands[0], operands[1:]
    form = re.sub(r"\\[nt]", " ", form)
    if "\\" in form or re.search(r"%(?![sqd%])", form):
        return [ANY]
    if "%" not in form:
        return [form.strip()]
    given = iter(values)
    return [" ".join([re.sub(r"%[sqd]", lambda _: next(given, ""), form).strip(), *given])]
