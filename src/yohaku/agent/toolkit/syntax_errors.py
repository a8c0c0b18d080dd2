"""Syntax errors of source and data files, by Python's own parsers or by a grammar, and what an edit does to them.

Law: an error is only reported where the parser is to be trusted: comments in JSON and macros in C are not one, so there
the file must have been without an error before. The parsers run in the process of `source_parser`.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import PurePath
from typing import Any, NamedTuple

PYTHON_SUFFIXES = (".py", ".pyi")
DATA_SUFFIXES = (".json", ".ipynb", ".toml")
SURE_SUFFIXES = (*PYTHON_SUFFIXES, ".toml")
"""Of files in which an error is one, whatever stood there before."""
MACRO_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh")
COMMENTED_JSON = ("tsconfig", "jsconfig", "settings", "launch", "tasks", "devcontainer", ".eslintrc", "babel")
"""Beginnings of names of JSON files that tools read with comments."""
MAX_CHECKED_CHARS = 2 * 1024 * 1024
MAX_WHY_CHARS = 120
MAX_LINE_CHARS = 200


class SyntaxFault(NamedTuple):
    line: int
    why: str


class Breakage(NamedTuple):
    """An error in a file after it was changed."""

    fault: SyntaxFault
    new: bool
    """True where the file had no error before, or was not there."""
    was_there: bool

    def describe(self, name: str, text: str) -> str:
        """Return a sentence for the model, with the line."""
        lines = text.split("\n")
        line = lines[self.fault.line - 1].strip("\r")[:MAX_LINE_CHARS] if self.fault.line <= len(lines) else ""
        state = "does not parse" if not self.was_there else "no longer parses" if self.new else "still does not parse"
        shown = f"\n{self.fault.line}\t{line}" if line.strip() else ""
        return f"{name} {state}: line {self.fault.line}: {self.fault.why}.{shown}"


def find_breakage(before: str | None, after: str, name: str) -> Breakage | None:
    """Return the error in a changed text; None where there is none, or it cannot be told. `before`: None if new."""
    from yohaku.agent.toolkit.source_parser import find_syntax_error

    suffix = PurePath(name).suffix.lower()
    if len(after) > MAX_CHECKED_CHARS or (
        before is None and not _is_known_when_new(PurePath(name).name.lower(), suffix)
    ):
        return None
    fault = find_syntax_error(after, suffix) if after.strip() else None
    if fault is None:
        return None
    broken_before = before is not None and before.strip() and find_syntax_error(before, suffix) is not None
    if broken_before and suffix not in SURE_SUFFIXES:
        return None
    return Breakage(fault, not broken_before, before is not None)


def _is_known_when_new(name: str, suffix: str) -> bool:
    return suffix not in MACRO_SUFFIXES and not (suffix == ".json" and name.startswith(COMMENTED_JSON))


# In the process of the parser


def locate_error(data: bytes, suffix: str, grammar: Any) -> SyntaxFault | None:
    """Return the first error of a text. `grammar`: a parser of Tree-sitter, or None where there is none."""
    text = data.decode("utf-8", "replace")
    try:
        if suffix in PYTHON_SUFFIXES:
            compile(text, "file", "exec", dont_inherit=True)
        elif suffix == ".toml":
            tomllib.loads(text.replace("\r\n", "\n"))
        elif suffix in DATA_SUFFIXES:
            json.loads(text)
        elif grammar is not None:
            return _locate_in_tree(grammar.parse(data).root_node, data)
    except SyntaxError as error:
        return SyntaxFault(error.lineno or 1, _shorten(error.msg))
    except json.JSONDecodeError as error:
        return SyntaxFault(error.lineno, _shorten(error.msg))
    except tomllib.TOMLDecodeError as error:
        return SyntaxFault(_line_in(str(error), text), _shorten(str(error)))
    except ValueError as error:  # a NUL character
        return SyntaxFault(1, _shorten(str(error)))
    except (RecursionError, MemoryError, OverflowError):
        return None
    return None


def _locate_in_tree(node: Any, data: bytes) -> SyntaxFault | None:
    """Go down to the first node that is an error or stands for something missing."""
    while node.has_error and not node.is_error and not node.is_missing:
        below = next((child for child in node.children if child.has_error or child.is_error or child.is_missing), None)
        if below is None:
            break
        node = below
    if node.is_missing:
        return SyntaxFault(node.start_point[0] + 1, _shorten(f"missing {node.type!r}"))
    if not node.has_error and not node.is_error:
        return None
    said = data[node.start_byte : node.start_byte + 60].decode("utf-8", "ignore").split("\n")[0]
    return SyntaxFault(node.start_point[0] + 1, _shorten(f"unexpected {said!r}"))


def _line_in(message: str, text: str) -> int:
    """Return the line that an error of tomllib names in its words; the last one for "end of document"."""
    words = message.replace(",", " ").split()
    at = words.index("line") + 1 if "line" in words else len(words)
    return int(words[at]) if at < len(words) and words[at].isdecimal() else text.count("\n") + 1


def _shorten(why: str) -> str:
    return why if len(why) <= MAX_WHY_CHARS else why[: MAX_WHY_CHARS - 1] + "…"
