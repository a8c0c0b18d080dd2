"""Splitter of a shell command into simple commands: their words, and the files they read from or write to.

Not a shell: it knows quotes, heredocs, pipes, redirections and `sh -c`, and leaves expansions as they are. Time is
linear in the length of any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple


class ShellCommand(NamedTuple):
    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    appends: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """Files after `>`, `>>` and `<`."""
    piped: bool = False
    """It reads the output of the command before."""


SHELLS = frozenset("bash sh zsh dash ash ksh fish pwsh powershell".split())

PREFIX_WORDS = frozenset("sudo time nohup env command exec builtin then do else if while until ! { (".split())
"""Words that may stand before the name of a command."""

MAX_COMMAND_CHARS = 100_000
"""Characters of a command, without its heredocs, that are split."""

_HEREDOC = re.compile(r"<<-?[ \t]?(['\"]?)([A-Za-z_]\w*)\1")
_PIECE = re.compile(
    r"(?P<space>[ \t\r]+|\\\r?\n)"
    r"|(?P<quoted>'[^']*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")"
    r"|(?P<escaped>\\.)"
    r"|(?P<heredoc><<<|<<-?[ \t]?['\"]?\w+['\"]?)"
    r"|(?P<redirect>(?:[0-9]|&)?>>?[|&]?|<&?)"
    r"|(?P<op>&&|\|\|?&?|;;?|&|\n|[()])"
    r"|(?P<plain>[^\s'\"\\;&|<>()]+|.)",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"\w+=")
_DURATION = re.compile(r"-|\d+[smhd]?$")


@lru_cache(16)
def split_commands(command: str, depth: int = 2) -> tuple[ShellCommand, ...]:
    """Return the simple commands in order, with those inside `bash -c '…'` in its place."""
    found: list[ShellCommand] = []
    for one in _split(strip_heredocs(command)[:MAX_COMMAND_CHARS]):
        words = _strip_prefix(one.words)
        inner = _find_inner_command(words) if depth else None
        found += split_commands(inner, depth - 1) if inner is not None else [one._replace(words=words)]
    return tuple(found)


MAX_HEREDOCS = 32


def strip_heredocs(command: str) -> str:
    """Return the command without the bodies of its heredocs, also inside `$(…)`."""
    kept: list[str] = []
    at = 0
    for _ in range(MAX_HEREDOCS):
        opener = _HEREDOC.search(command, at)
        if not opener:
            break
        line = command.find("\n", opener.end())
        ends = re.compile(rf"^[ \t]*{opener[2]}(?=[ \t\r]*$|\))", re.MULTILINE)
        close = ends.search(command, line) if line > 0 else None
        if not close:
            kept.append(command[at : opener.end()])
            at = opener.end()
            continue
        kept.append(command[at:line])
        at = close.end()
    return "".join((*kept, command[at:]))


def _split(command: str) -> Iterator[ShellCommand]:
    """Yield the simple commands as they are written."""
    words: list[str] = []
    files: dict[str, list[str]] = {"w": [], "a": [], "r": []}
    word: str | None = None
    target: Literal["w", "a", "r", "skip", ""] = ""  # use of the next word: a file of `files`, nothing, an argument
    piped = False

    def end_word() -> None:
        nonlocal word, target
        if word is None:
            return
        if not target:
            words.append(word)
        elif target != "skip":
            files[target].append(word)
        word, target = None, ""

    comment = False
    for piece in _PIECE.finditer(command):
        kind, text = piece.lastgroup, piece[0]
        if comment and text != "\n":
            continue
        comment = False
        if kind == "space":
            end_word()
        elif kind == "heredoc":
            end_word()
            target = "skip" if text == "<<<" else ""
        elif kind == "redirect":
            end_word()
            target = _redirect_kind(text)
        elif kind == "op":
            end_word()
            target = ""
            if words or any(files.values()):
                yield ShellCommand(tuple(words), tuple(files["w"]), tuple(files["a"]), tuple(files["r"]), piped)
                words, files = [], {"w": [], "a": [], "r": []}
            piped = text in ("|", "|&")
        elif kind == "plain" and word is None and text.startswith("#"):
            comment = True
        else:
            word = (word or "") + _unquote(kind, text)
    end_word()
    if words or any(files.values()):
        yield ShellCommand(tuple(words), tuple(files["w"]), tuple(files["a"]), tuple(files["r"]), piped)


def _redirect_kind(redirect: str) -> Literal["w", "a", "r", "skip"]:
    if redirect.endswith("&"):
        return "skip"
    if redirect.startswith("<"):
        return "r"
    return "a" if ">>" in redirect else "w"


def _unquote(kind: str | None, text: str) -> str:
    if kind == "quoted":
        return text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1]
    return text[1:] if kind == "escaped" else text


def _strip_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """Strip assignments and commands that run another: `X=1 sudo timeout 5 cat f` becomes `cat f`."""
    at = 0
    while at < len(words):
        if words[at] in PREFIX_WORDS or _ASSIGNED.match(words[at]):
            at += 1
        elif words[at] == "timeout":
            at += 1
            while at < len(words) and _DURATION.match(words[at]):
                at += 1
        else:
            break
    return words[at:]


def _find_inner_command(words: tuple[str, ...]) -> str | None:
    """Return the command that a shell is given to run."""
    if not words or words[0].rsplit("/", 1)[-1] not in SHELLS:
        return None
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-\w{0,3}c|-Command", word):
            return words[at + 1]
        if not word.startswith("-"):
            return None
    return None
