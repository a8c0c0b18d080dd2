"""Tree of a bash command line: scripts, commands, and words of which each piece knows whether it was quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias


class WordPiece(NamedTuple):
    """Part of a word."""

    kind: Literal["text", "quoted", "variable", "command", "process", "arithmetic"]
    """`text` is unquoted: wildcards, braces and `~` in it mean something."""
    value: str = ""
    """The characters; of a variable what stands within `${…}`."""
    quoted: bool = False
    """Whether an expansion stands in double quotes."""
    script: Script | None = None
    """Commands of a substitution."""


Word: TypeAlias = tuple[WordPiece, ...]


class Assignment(NamedTuple):
    name: str
    values: tuple[Word, ...]
    append: bool = False


@dataclass(slots=True)
class Redirect:
    operator: str
    target: Word = ()
    descriptor: str = ""
    body: str = ""
    """Text of a heredoc."""


class SimpleCommand(NamedTuple):
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(NamedTuple):
    commands: tuple[Node, ...]
    negated: bool = False
    """Whether it begins with `!` or `time`."""


class Compound(NamedTuple):
    kind: Literal["subshell", "group", "if", "loop", "for", "case", "function"]
    parts: tuple[Script, ...]
    words: tuple[Word, ...] = ()
    """Values of a `for`, subject of a `case`."""
    name: str = ""
    """Variable of a `for`, name of a function."""
    redirects: tuple[Redirect, ...] = ()


Node: TypeAlias = "SimpleCommand | Pipeline | Compound"


class Item(NamedTuple):
    node: Node
    connector: str
    """Operator after it: `;` (also for a line feed), `&`, `&&` or `||`."""


class Script(NamedTuple):
    items: tuple[Item, ...]
    exact: bool = True
    """Whether all of it was understood as bash understands it."""


def plain_text(word: Word) -> str | None:
    """Return a word without quotes; None where something in it is expanded."""
    if any(piece.kind not in ("text", "quoted") for piece in word):
        return None
    return "".join(piece.value for piece in word)


def bare_text(word: Word) -> str:
    """Return a word that has neither quotes nor expansions; else an empty string."""
    return word[0].value if len(word) == 1 and word[0].kind == "text" else ""
