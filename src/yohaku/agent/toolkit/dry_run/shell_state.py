"""State of the shell in a dry run: its folder, variables, functions, and the files a command has written."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from yohaku.agent.toolkit.dry_run.values import (
    ANY,
    FIRST_EXPANSION,
    SOME,
    TILDE,
    drop_marks,
    expand_braces,
    is_unknown,
    limit,
    mark_unquoted,
    mark_wildcards,
    remove_affix,
    unmark,
)  # fmt: skip
from yohaku.analysis.bash_syntax import parse_word
from yohaku.analysis.bash_tree import Script, Word, WordPiece

OnSubstitution = Callable[[Script, "ShellState"], list[str]]
"""Runs the commands of a substitution and returns what they may print."""

_NUMBERS = frozenset("? $ # ! - RANDOM SECONDS UID EUID PPID LINENO BASHPID HOSTNAME OSTYPE MACHTYPE HOSTTYPE".split())
_PARAMETER = re.compile(r"([#!]?)([A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[[^\]]*\])?", re.ASCII)
_OPERATOR = re.compile(r":?[-=?+]|%%?|##?")
_TILDE = re.compile(f"{TILDE}([A-Za-z0-9_.+-]*)(?=[/ ]|$)")


@dataclass
class ShellState:
    home: str
    root: str
    environ: Mapping[str, str]
    folders: list[str]
    """Working folders it may be in, with their links resolved."""
    previous: list[str] = field(default_factory=list)
    pushed: list[list[str]] = field(default_factory=list)
    variables: dict[str, list[str]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    functions: dict[str, Script] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)
    """Texts of files the command itself writes."""
    made: set[str] = field(default_factory=set)
    """Folders the command itself makes."""
    sourced: bool = False
    """Whether a file may have set any variable."""
    uncertain: bool = False
    """Whether it is behind `&&`, or in a branch, that may not be reached."""
    in_branch: bool = False
    from_disk: bool = False
    """Whether what runs stands in a script on the disk."""
    script: str = ""
    """Its path."""
    links: dict[str, str] = field(default_factory=dict)
    """Links the command itself makes, and where they lead."""

    def fork(self) -> ShellState:
        """Return the state of a subshell."""
        return replace(
            self, folders=[*self.folders], variables={**self.variables},
            aliases={**self.aliases}, pushed=[*self.pushed],
        )  # fmt: skip

    def assign(self, name: str, values: Iterable[str], *, append: bool = False) -> None:
        new = list(values)
        old = self.variables.get(name, [])
        if append:
            new = [*new, *(before + after for before in old for after in new)]
        self.variables[name] = limit([*old, *new] if self.uncertain or append else new)

    def resolve(self, path: str) -> list[str]:
        """Return the absolute paths a word may mean."""
        found = [normalize(path if path.startswith("/") else f"{folder}/{path}") for folder in self.folders]
        return [self.follow(each) for each in found] if self.links else found

    def follow(self, path: str) -> str:
        """Return where a path leads by the links that the command itself made."""
        for link, target in self.links.items():
            if path == link or path.startswith(f"{link}/"):
                return normalize(target + path.removeprefix(link))
        return path


def normalize(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else posixpath.normpath(path)


class WordExpander:
    """Expands the words of one state."""

    def __init__(self, state: ShellState, on_substitution: OnSubstitution) -> None:
        self._state, self._substitute = state, on_substitution

    def expand_all(self, words: Iterable[Word]) -> list[str]:
        return [value for word in words for value in self.expand(word)]

    def expand(self, word: Word) -> list[str]:
        """Return the values of a word: several where it has braces, is split, or is not certain."""
        marked, expansions = self._mark(word)
        keeps_empty = any(piece.kind == "quoted" or piece.quoted for piece in word)
        found: list[str] = []
        for text in expand_braces(marked):
            found += self._replace(self._expand_tilde(text), expansions)
        return limit(value for value in found if value or keeps_empty)

    def expand_value(self, word: Word) -> list[str]:
        """Return the values of what is assigned: neither split nor matched against files."""
        marked, expansions = self._mark(word)
        quoted = [(values, True) for values, _ in expansions]
        text = re.sub(f"(?:^|(?<=:)){_TILDE.pattern}", lambda found: self._home_of(found[1]), marked)
        return [unmark(value) for value in self._replace(text, quoted)] or [""]

    def _mark(self, word: Word) -> tuple[str, list[tuple[list[str], bool]]]:
        text = ""
        expansions: list[tuple[list[str], bool]] = []
        for piece in word:
            if piece.kind == "text":
                text += mark_unquoted(drop_marks(piece.value))
            elif piece.kind == "quoted":
                text += drop_marks(piece.value)
            elif len(expansions) < 0xFFFF:
                expansions.append((self._values_of(piece), piece.quoted))
                text += chr(FIRST_EXPANSION + len(expansions) - 1)
        return text, expansions

    def _replace(self, text: str, expansions: list[tuple[list[str], bool]]) -> list[str]:
        complete: list[str] = []
        open_ends = [""]
        separators = r"[\s:;,|]+" if "IFS" in self._state.variables else r"\s+"
        for at, literal in enumerate(re.split("([\U000f0000-\U000fffff])", text)):
            if at % 2 == 0:
                open_ends = [begun + literal for begun in open_ends]
                continue
            values, quoted = expansions[ord(literal) - FIRST_EXPANSION]
            following: list[str] = []
            for value in values:
                parts = [value] if quoted else re.split(separators, mark_wildcards(value))
                complete += [begun + parts[0] for begun in open_ends] if len(parts) > 1 else []
                complete += parts[1:-1]
                following += [parts[-1]] if len(parts) > 1 else [begun + parts[0] for begun in open_ends]
            open_ends = limit(following)
        return limit([*complete, *open_ends])

    def _expand_tilde(self, text: str) -> str:
        before = "(?<=[= ])" if re.match(r"[A-Za-z_]\w*=", text) else "^"  # `declare a=(~ b)` is one word here
        text = re.sub(before + _TILDE.pattern, lambda found: self._home_of(found[1]), text)
        return text.replace(TILDE, "~")

    def _home_of(self, user: str) -> str:
        if user == "+":
            return self._state.folders[0]
        if user == "-":
            return self._state.previous[0] if self._state.previous else ANY
        if not user:
            return self._state.variables.get("HOME", [self._state.home])[0]
        home = os.path.expanduser("~" + user)  # noqa: PTH111 - a name, not a path
        return home if not home.startswith("~") else "~" + user

    # Expansions

    def _values_of(self, piece: WordPiece) -> list[str]:
        if piece.kind == "variable":
            return self._parameter(piece.value)
        if piece.kind == "process":
            pipe = f"/dev/fd/{63 - len(self._state.written)}"
            self._state.written[pipe] = self._substitute(piece.script, self._state.fork()) if piece.script else []
            return [pipe]
        printed = self._substitute(piece.script, self._state.fork()) if piece.script else []
        if piece.kind == "arithmetic":
            return [SOME]
        return [value.rstrip("\n") for value in printed] or [""]

    def _parameter(self, text: str) -> list[str]:
        """Return the values of `${text}`; none where bash would stop."""
        found = _PARAMETER.match(text)
        if text == "#":
            return [SOME]
        if not found or found[1]:
            return [SOME] if found and found[1] == "#" else [ANY]
        values = self._lookup(found[2])
        rest = text[found.end() :]
        if not rest:
            return [""] if values is None else values
        operator = _OPERATOR.match(rest)
        if not operator:
            return [ANY]
        return self._apply(found[2], values, operator[0], self.expand_value(parse_word(rest[operator.end() :])))

    def _apply(self, name: str, values: list[str] | None, operator: str, words: list[str]) -> list[str]:
        if operator[0] in "#%":
            return limit(remove_affix(value, word, operator) for value in values or [""] for word in words)
        known = values or []
        filled = [value for value in known if value] if operator[0] == ":" else known
        complete = len(filled) == len(known) and bool(known) and not any(map(is_unknown, known))
        match operator[-1]:
            case "?":
                return filled
            case "+":
                return [*(words if filled else []), *([] if complete else [""])]
        if operator[-1] == "=" and not complete:
            self._state.assign(name, [*filled, *words])
        return filled if complete else limit([*filled, *words])

    def _lookup(self, name: str) -> list[str] | None:
        """Return the values of a variable; None if it is not set."""
        state = self._state
        if name in ("@", "*"):
            return state.arguments
        if name.isdigit():
            number = int(name)
            return [self._state.script or "bash"] if not number else state.arguments[number - 1 : number] or None
        if name in state.variables:
            return state.variables[name]
        match name:
            case "PWD":
                return state.folders
            case "OLDPWD" if state.previous:
                return state.previous
            case "HOME":
                return [state.home]
            case "_":
                return [ANY]
            case "IFS":
                return [" "]
            case "BASH":
                return ["/bin/bash"]
        if name in _NUMBERS:
            return [SOME]
        if state.sourced:
            return [ANY]
        return [drop_marks(state.environ[name])] if name in state.environ else None
