"""Outline of a large file: both ends as they are, and the declarations or headings between them with their lines.

Law: line numbers are those of the file, so that the model can read a part by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_TITLE_CHARS = 72
"""A longer title is cut."""

MAX_SECTIONS = 40
"""More sections are joined into groups."""

_DECLARED = re.compile(
    r"[ \t]{0,8}(?:(?:export|default|pub(?:\([a-z]{1,9}\))?|public|private|protected|internal|static|abstract|async"
    r"|final|unsafe|sealed|data|declare|extern|virtual|override)[ \t]{1,4}){0,5}"
    r"(?:(?:def|class|func|fn|function|struct|interface|enum|trait|impl|module|namespace|protocol|extension|object)\b"
    r"[ \t*<(&\w]|(?:type|record|typedef)[ \t]{1,4}[A-Za-z_])"
    r"|(?:export[ \t])?(?:const|let|var)[ \t]\w{1,80} ?= ?(?:async ?)?(?:\(|function\b)"
)
_METHOD = re.compile(r"[ \t]{0,8}(?:public|private|protected|internal|static)[ \t][^;={}\n]{1,200}\(")
_HEADING = re.compile(r"#{1,4}[ \t]{1,4}\S")
_IMPORT = re.compile(r"(?:import|from|#include|using|use|require|package|const \w{1,60} = require)\b")
_BLOCK = ("if", "for", "while", "switch", "else", "}", "return", "do", "try", "catch")
_LINE_NUMBER = re.compile(r"[ \t]{0,8}(\d{1,7})(?:\t|→|: ?|\| ?)")


def find_sections(text: str, first: int = 1, limit: int = MAX_SECTIONS) -> list[tuple[int, int, str]]:
    """Return first line, last line and title of each part; [] if no structure is found.

    Line numbers that a reading tool wrote before the lines are used; `first` is the number of the first line otherwise.
    """
    numbers, lines = _number_lines(text.splitlines(), first)
    found = [at for at, line in enumerate(lines) if _is_declaration(line)]
    if not found:
        found = [at for at, line in enumerate(lines) if _HEADING.match(line)]
    if len(found) > limit:
        outer = [at for at in found if lines[at][:1] not in (" ", "\t")]
        found = outer if len(outer) > 1 else found
    if len(found) < 2:
        return []
    every = -(-len(found) // limit)  # if still too many, in groups
    starts = found[::every]
    if starts[0] > 0:
        starts = [0, *starts]
    ends = [*(start - 1 for start in starts[1:]), len(lines) - 1]
    spans = zip(starts, ends, strict=True)
    return [(numbers[start], numbers[end], _title(lines, start, end, found)) for start, end in spans]


def render_outline(text: str, ref: str, ends: int = 50, limit: int = MAX_SECTIONS, first: int = 1) -> str | None:
    """Return the first and last lines of a file and its sections; None if it has none, or that saves little."""
    lines = text.splitlines()
    parts = find_sections(text, first, limit)
    if not parts or len(lines) <= 2 * ends + len(parts) + 4:
        return None
    numbers, _ = _number_lines(lines, first)
    hidden = f"lines {numbers[ends]:,}-{numbers[-ends - 1]:,} of {numbers[-1]:,}"
    structure = [f"  {start}-{end}: {title}" for start, end, title in parts]
    return "\n".join(
        [
            *lines[:ends],
            f"[{hidden} folded; ref={ref}]",
            "Structure:",
            *structure,
            "Give offset and limit for details.",
            f"[the last {ends} lines]",
            *lines[-ends:],
        ]
    )


def _is_declaration(line: str) -> bool:
    if _DECLARED.match(line):
        return True
    if "(" not in line:
        return False
    if _METHOD.match(line):
        return True
    return line[0].isalpha() and line.rstrip().endswith("{") and not line.startswith(_BLOCK)  # as in C


def _title(lines: list[str], start: int, end: int, found: list[int]) -> str:
    if start == 0 and found[0] > 0:
        return "imports" if any(_IMPORT.match(line) for line in lines[: end + 1]) else "beginning"
    title = " ".join(lines[start][: 4 * MAX_TITLE_CHARS].split()).rstrip("{: ")
    more = sum(start < at <= end for at in found)
    title = title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"
    return f"{title} and {more} more" if more else title


def _number_lines(lines: list[str], first: int) -> tuple[list[int], list[str]]:
    """Return the number of each line, and the lines without the numbers before them."""
    marks = [_LINE_NUMBER.match(line) for line in lines]
    written = [int(mark[1]) for mark in marks if mark]
    rising = written == list(range(written[0], written[0] + len(written))) if written else False
    if len(written) < 3 or len(written) < len(lines) * 0.8 or not rising:
        return list(range(first, first + len(lines))), lines
    bare = [line[mark.end() :] if mark else line for line, mark in zip(lines, marks, strict=True)]
    return list(_fill_numbers(marks, written[0])), bare


def _fill_numbers(marks: list[re.Match[str] | None], number: int) -> Iterator[int]:
    for mark in marks:
        number = int(mark[1]) if mark else number
        yield number
