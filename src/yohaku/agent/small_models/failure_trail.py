"""The way from the output of a failing command to the code: files it passes through, and those that they import.

Law: only files that may be opened are followed, and at most MAX_FILES of them; tests come first, and what they import
behind them, the farthest last, where a small model heeds it most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.small_models.imported_files import find_imported_files
from yohaku.agent.small_models.word_search import TEST_FILE
from yohaku.agent.toolkit.file_lines import read_lines

MAX_FILES = 4
MAX_DEPTH = 2
"""Imports of imports that are followed."""
MAX_PLACES = 20
MAX_FILE_BYTES = 1 << 20
MAX_STATEMENT_LINES = 3
MAX_LINE_CHARS = 400

PLACE = re.compile(
    r"""File "([^"\n]{1,300})", line (\d+)|(?<![\w./~-])(?:file://)?([\w./~-]{1,300}\.\w{1,8}):(\d+)\b"""
)
"""A place in a traceback of Python or JavaScript, or in the message of a compiler or of pytest."""


class Trail(NamedTuple):
    files: tuple[Path, ...] = ()
    """In the order in which they are opened."""
    code: str = ""
    """The lines of code that the failure passes through."""


def follow_failure(root: Path, output: str, others: Iterable[Path], may_open: Callable[[Path], bool]) -> Trail:
    """Return where a failure leads. `others`: files that are named beside the places of the output."""
    places = [(root / (first or third), int(line or other)) for first, line, third, other in PLACE.findall(output)]
    inside = [(path.resolve(), line) for path, line in places[-MAX_PLACES:]]
    inside = [(path, line) for path, line in inside if may_open(path)]
    begun = list(dict.fromkeys([*(path for path, _ in reversed(inside)), *others]))[:MAX_FILES]
    code = "\n".join(_statement(path, line) for path, line in inside)
    files = list(dict.fromkeys([*begun, *_imported(root, begun, may_open)]))
    tests = [path for path in files if is_test(root, path)]
    sources = [path for path in files if path not in tests][: MAX_FILES - bool(tests)]
    return Trail((*tests[: MAX_FILES - len(sources)], *sources), code)


def is_test(root: Path, path: Path) -> bool:
    return bool(TEST_FILE.search(path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name))


def _imported(root: Path, files: Iterable[Path], may_open: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield what these files import, then what is imported there."""
    layer, seen = list(files), set(files)
    for _ in range(MAX_DEPTH):
        found = [each for path in layer for each in find_imported_files(root, path, _text(path))]
        layer = [path for path in dict.fromkeys(found) if path not in seen and may_open(path)][:MAX_FILES]
        seen.update(found)
        yield from layer


def _statement(path: Path, line: int) -> str:
    """Return the line of code at a place, with those that finish its brackets."""
    lines = _text(path).split("\n")[line - 1 : line - 1 + MAX_STATEMENT_LINES]
    for count in range(1, len(lines) + 1):
        said = "\n".join(each[:MAX_LINE_CHARS] for each in lines[:count])
        if said.count("(") <= said.count(")"):
            return said
    return lines[0][:MAX_LINE_CHARS] if lines else ""


def _text(path: Path) -> str:
    found = read_lines(path, 1, 1, MAX_FILE_BYTES) if path.is_file() else None
    return found.text if found else ""
