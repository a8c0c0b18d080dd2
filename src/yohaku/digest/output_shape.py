"""Shape of logs and tables: how many lines of which form, the first and the last, and every error and warning."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import groupby

MIN_LINES = 20
"""Shorter outputs are shown as they are."""
MIN_ALIKE_SHARE = 0.7
"""Share of the lines that the few most common forms must have."""
MAX_LOG_SAMPLE_CHARS = 4_000
"""Characters by which a log is known."""
FEW_LINES = 8
"""Lines at the beginning that rule most texts out."""
MAX_FORMS = 6
MAX_TROUBLES = 40
"""Lines with errors and warnings; of lines of one form at most two are shown."""

_VARIES = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+|\"[^\"]*\"|'[^']*'", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]{2,}")
_TROUBLE = re.compile(r"\b(?:ERROR|WARN(?:ING)?|FATAL|CRITICAL|EXCEPTION|FAIL(?:ED|URE)?|Traceback)\b|エラー|警告|失敗")
_LOG_LINE = re.compile(r"\d{2}:\d{2}|\b(?:INFO|DEBUG|WARN|ERROR|TRACE)\b|^\d{4}-\d{2}-\d{2}")


def describe_shape(lines: list[str]) -> list[str]:
    """Return a few lines that stand for many alike; none if the lines are not alike."""
    filled = [line.rstrip() for line in lines if line.strip()]
    if not is_log(filled):
        return []
    troubles: list[str] = []
    seen: Counter[str] = Counter()
    for line in filled:
        if _TROUBLE.search(line):
            form = _form(line)
            seen[form] += 1
            if seen[form] <= 2 and len(troubles) < MAX_TROUBLES:
                troubles.append(line[:200])
    number = sum(seen.values())
    kept = [f"({len(filled):,} lines, {number:,} with errors or warnings)", filled[0][:200]]
    kept += [line for line in troubles if line != kept[1]]
    if number > len(troubles):
        kept.append(f"(… {number - len(troubles):,} more of the same form)")
    return [*kept, filled[-1][:200]]


def is_log(lines: list[str]) -> bool:
    """Test for many lines of a few forms, as programs write them: only what went wrong differs in them."""
    if len(lines) < MIN_LINES or not _are_mostly_logged(lines[:FEW_LINES]) or not _are_mostly_logged(lines):
        return False
    forms = Counter(_form(line) for line in lines)
    return sum(number for _, number in forms.most_common(MAX_FORMS)) >= MIN_ALIKE_SHARE * len(lines)


def _are_mostly_logged(lines: list[str]) -> bool:
    return 2 * sum([_LOG_LINE.search(line, 0, 200) is not None for line in lines]) >= len(lines)


@lru_cache(1 << 10)
def begins_like_log(sample: str) -> bool:
    """Test the beginning of a text; remembered, since a text is asked about more than once in a folding."""
    return is_log(sample.splitlines()[: 2 * MIN_LINES])


def count_log(text: str) -> str:
    """Return how many lines a log has, and how many tell of trouble; empty for other texts."""
    if not begins_like_log(text[:MAX_LOG_SAMPLE_CHARS]):
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    if not is_log(lines):
        return ""
    return f"({len(lines):,} lines, {sum(map(names_trouble, lines)):,} with errors or warnings)"


def names_trouble(line: str) -> bool:
    """Test for a line that says that something failed, or warns."""
    return _TROUBLE.search(line) is not None


def reduce_to_form(line: str) -> str:
    """Return a line without what changes from one line of a log to the next: numbers, hashes, quotations."""
    return _VARIES.sub("#", line.strip())


def _form(line: str) -> str:
    return " ".join(_WORD.findall(_VARIES.sub("#", line[:300]))[:6])


# Tables

MIN_TABLE_ROWS = 12
FIRST_ROWS, LAST_ROWS = 2, 5
"""Rows that stand for a table. What is sorted has its largest at the end, and its sum behind that."""
MAX_COLUMNS = 6


def shorten_tables(text: str, rows_left_out: str) -> str:
    """Leave out the middle of tables: rows in a row that differ in their numbers, paths and names only.

    `rows_left_out`: the line in their place, with `{rows}` in it.
    """
    lines: list[str] = []
    for form, group in groupby(text.split("\n"), key=_form_of_row):
        rows = list(group)
        left_out = len(rows) - FIRST_ROWS - LAST_ROWS
        if form and len(rows) >= MIN_TABLE_ROWS:
            rows[FIRST_ROWS:-LAST_ROWS] = [rows_left_out.format(rows=f"{left_out:,}")]
        lines += rows
    return "\n".join(lines)


def _form_of_row(line: str) -> str:
    """Return a letter for the kind of each cell of a row; nothing for a line that is no row of a table."""
    cells = line.split()
    if not 2 <= len(cells) <= MAX_COLUMNS:
        return ""
    kinds = ["0" if cell[0].isdigit() else "/" if "/" in cell else "w" for cell in cells]
    return "".join(kinds) if "0" in kinds or "/" in kinds else ""
