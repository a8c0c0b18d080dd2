"""Spans of a text: lines, and pieces of long ones; how a text is split into them and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_SPAN_CHARS = 140
"""A longer line is split into pieces of about half of that."""

NUMBERS_WITHIN_CHARS = 1_000
"""Characters within which the first numbered lines of a text must stand."""
_NUMBERED = re.compile(r"^[ \t]*(\d{1,9})[→|:\t][^\n]*\n[ \t]*(\d{1,9})[→|:\t]", re.MULTILINE)

_OWN_NUMBER = re.compile(r"\d{1,9}[→|:\t]")
_LINE_ENDS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Characters other than a line feed that may be read as the end of a line."""


class Span(NamedTuple):
    """A line, or a piece of a long one."""

    line: int
    start: int
    end: int


def split_ends(text: str, max_chars: int) -> Iterator[Span]:
    """Yield the lines of a text; of a long one three quarters of `max_chars` at its beginning, one at its end."""
    if len(text) <= max_chars:
        yield from _split_spans(text, 0, len(text))
        return
    head = max_chars * 3 // 4
    tail = len(text) - max_chars + head
    near = text.rfind("\n", head - MAX_SPAN_CHARS, head)
    yield from _split_spans(text, 0, head if near < 0 else near)
    yield from _split_spans(text, text.find("\n", tail, tail + MAX_SPAN_CHARS) + 1 or tail, len(text))


MAX_CHANGE_LINES, MAX_CHANGE_CHARS = 8, 480
"""Changed lines of a diff that stay together: a change is read as a whole, or not at all."""
_CHANGED_LINE = re.compile(r"[+-](?!\+\+ |-- )")
MAX_DIFF_SAMPLE_CHARS = 4_000


def is_diff(text: str) -> bool:
    sample = text[:MAX_DIFF_SAMPLE_CHARS]
    return "\n@@ " in sample and ("diff --git " in sample or "\n+++ " in sample)


def find_changed_lines(diff: str) -> list[str]:
    return [line for line in diff.split("\n") if _CHANGED_LINE.match(line)]


def join_changes(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans of a diff, with changed lines in a row as one."""
    together: list[Span] = []
    for span in spans:
        changed = _CHANGED_LINE.match(text, span.start) is not None or (
            bool(together) and span.line == together[-1].line
        )
        fits = together and len(together) < MAX_CHANGE_LINES and span.end - together[0].start <= MAX_CHANGE_CHARS
        if together and not (changed and fits and span.line - together[-1].line <= 1):
            yield Span(together[0].line, together[0].start, together[-1].end)
            together = []
        if changed:
            together.append(span)
        else:
            yield span
    if together:
        yield Span(together[0].line, together[0].start, together[-1].end)


def join_continued(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans, with a line that ends in a backslash and those that continue it as one."""
    together: list[Span] = []
    for span in spans:
        together.append(span)
        if text.endswith("\\", span.start, span.end) and len(together) < MAX_CHANGE_LINES:
            continue
        yield together[0] if len(together) == 1 else Span(together[0].line, together[0].start, together[-1].end)
        together = []
    if together:
        yield Span(together[0].line, together[0].start, together[-1].end)


def split_rows(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the lines of spans that have several."""
    for span in spans:
        start = span.start
        for number, row in enumerate(text[span.start : span.end].split("\n"), span.line):
            if row.strip():
                yield Span(number, start, start + len(row))
            start += len(row) + 1


def _split_spans(text: str, start: int, end: int) -> Iterator[Span]:
    for number, line in enumerate(text[start:end].split("\n"), text.count("\n", 0, start) + 1):
        end = start + len(line)
        if line and not line.isspace():
            yield from _split_line(text, Span(number, start, end))
        start = end + 1


def _split_line(text: str, line: Span) -> Iterator[Span]:
    """Yield a line, or the pieces of a long one: cut at a comma or space, and not within a path."""
    at = line.start
    while line.end - at > MAX_SPAN_CHARS:
        half = at + MAX_SPAN_CHARS // 2
        cut = max(text.rfind(mark, at + MAX_SPAN_CHARS // 4, half) for mark in (", ", ",", "; ", ". ", " "))
        if cut < 0:
            cut = text.find(" ", half, min(line.end, at + 2 * MAX_SPAN_CHARS))
        cut = cut + 1 if cut > 0 else half
        yield Span(line.line, at, cut)
        at = cut
    yield Span(line.line, at, line.end)


def render_spans(text: str, spans: Sequence[Span], numbered: bool = True) -> list[str]:
    """Return the spans as lines, with numbers unless they have their own.

    A line without a number is indented by a space, and is one line whatever it holds, so that it looks neither like a
    title nor like what somebody said.
    """
    own_numbers = has_line_numbers(text)
    lines: list[str] = []
    last = Span(0, 0, 0)
    for span in spans:
        piece = _LINE_ENDS.sub(" ", text[span.start : span.end])
        if span.line == last.line:
            lines[-1] += piece if span.start == last.end else f" … {piece}"
        elif numbered and not own_numbers:
            lines.append(f"{span.line}: {piece}")
        else:
            marked = piece[:1].isspace() or (own_numbers and _OWN_NUMBER.match(piece))
            lines.append(piece if marked else f" {piece}")
        last = span
    return lines


_LINE_NUMBER = re.compile(r"\s*\d{1,7}[→|:\t]\s?")


def bare_line(line: str) -> str:
    """Return a line without its number and the space around it."""
    number = _LINE_NUMBER.match(line)
    return line[number.end() if number else 0 :].strip()


def has_line_numbers(text: str) -> bool:
    """Test for lines that begin with rising numbers, maybe below a heading."""
    found = _NUMBERED.search(text, 0, NUMBERS_WITHIN_CHARS)
    return found is not None and int(found[1]) < int(found[2])
