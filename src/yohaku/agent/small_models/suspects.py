"""Functions that may be wrong when a command fails: those that the failing line calls, and those that they call.

The innermost come first: a fault there shows in all that call it, and an outer one can be bent until the test passes.

Law: only functions of files that a failure leads to, never those of tests, each once and at most MAX_SUSPECTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit.file_lines import read_lines
from yohaku.agent.toolkit.source_outline import Section, declarations

MAX_SUSPECTS = 4
MAX_FUNCTION_LINES = 60
MAX_FILE_BYTES = 1 << 20
_CALLED = re.compile(r"(?<!\w)([A-Za-z_]\w*)[ \t]*\(", re.ASCII)


class Suspect(NamedTuple):
    path: Path
    name: str


def find_suspects(files: Iterable[Path], code: str, named: Iterable[str] = ()) -> list[Suspect]:
    """Return suspects, the likeliest first. `code`: the lines that fail; `named`: functions that the user names."""
    bodies = {section.name: (path, text) for path in files for section, text in _functions(path)}
    layer = [name for name in (*named, *_calls_in(code)) if name in bodies]
    found: dict[str, None] = {}
    while layer and len(found) < MAX_SUSPECTS:
        found = dict.fromkeys([*layer[: MAX_SUSPECTS - len(found)], *found])
        called = [each for name in layer for each in _calls_in(bodies[name][1])]
        layer = [name for name in dict.fromkeys(called) if name in bodies and name not in found]
    return [Suspect(bodies[name][0], name) for name in found]


def _calls_in(code: str) -> list[str]:
    """Return the names that are called, of nested calls the inner first: it runs first."""
    return [name for line in code.split("\n") for name in reversed(_CALLED.findall(line))]


def _functions(path: Path) -> Iterator[tuple[Section, str]]:
    found = read_lines(path, 1, 1, MAX_FILE_BYTES) if path.is_file() else None
    sections = declarations(found.text, path.name) if found else []
    lines = found.text.split("\n") if found else []
    for each in sections:
        holds_others = any(each.first < other.first and other.last <= each.last for other in sections)
        if each.name and not holds_others and each.last - each.first < MAX_FUNCTION_LINES:
            body = "\n".join(lines[each.first - 1 : each.last])
            yield each, body.replace(each.name, "", 1)  # its own head is no call
