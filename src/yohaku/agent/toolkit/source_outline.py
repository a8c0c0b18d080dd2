"""Outline of a source file with line ranges: by its grammar where one is installed, else by its layout.

Law: line numbers are those of the file, from 1; a file that cannot be parsed has no outline, and raises no error.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from yohaku.agent.toolkit.source_parser import find_declarations
from yohaku.analysis.outline import find_sections

MAX_PARSED_CHARS = 2 * 1024 * 1024
_DECLARED = re.compile(
    r"\b(?:def|class|function|fn|func(?:\s*\([^)]*\))?|type|struct|enum|union|trait|interface|mod|module|namespace|record)"
    r"\s+([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\(|=(?!=))",
    re.ASCII,
)


class Section(NamedTuple):
    first: int
    last: int
    title: str
    depth: int = 0

    @property
    def name(self) -> str:
        """The declared name; empty where none is found."""
        found = _DECLARED.search(self.title)
        return found[1] or found[2] if found else ""

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.first}-{self.last}: {self.title}"


def outline_source(text: str, name: str, most: int = 80) -> list[Section]:
    """Return the outline of a text in a file of this name; with too many sections the deepest are left out first."""
    found = declarations(text, name)
    if len(found) < 2:
        found = [Section(*each) for each in find_sections(text, 1, most)]
    for depth in (2, 1):
        if len(found) > most:
            outer = [each for each in found if each.depth < depth]
            found = outer if len(outer) > 1 else found
    return found if len(found) <= most else _group(found, most)


def declarations(text: str, name: str) -> list[Section]:
    """Return the declarations of a text in a file of this name; none if its language is not known."""
    suffix = PurePath(name).suffix.lower()
    return [Section(*each) for each in find_declarations(text, suffix)] if len(text) <= MAX_PARSED_CHARS else []


def render_sketch(lines: list[str], parts: list[Section], ends: int) -> str | None:
    """Return the first and last lines, numbered, with the structure between them; None where that saves little."""
    if not parts or len(lines) <= 2 * ends + len(parts) + 4:
        return None
    count = len(lines)
    span = f"lines {ends + 1}-{count - ends} of {count}"
    hidden = f"[{span} are not shown; give offset and limit for details. Structure:]"
    last = [f"{number}\t{line}" for number, line in enumerate(lines[-ends:], count - ends + 1)]
    first = [f"{number}\t{line}" for number, line in enumerate(lines[:ends], 1)]
    return "\n".join([*first, hidden, *map(str, parts), "[the last lines:]", *last])


def _group(found: list[Section], most: int) -> list[Section]:
    """Merge neighbouring sections until at most `most` are left."""
    every = -(-len(found) // most)
    groups = [found[at : at + every] for at in range(0, len(found), every)]
    return [
        Section(group[0].first, max(each.last for each in group), _with(group[0].title, len(group) - 1))
        for group in groups
    ]


def _with(title: str, more: int) -> str:
    return f"{title} and {more} more" if more else title
