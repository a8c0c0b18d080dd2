"""Read lines of an original, or grep in one.

Law: the cost grows with what is shown, not with the size of the original. A pattern, which may come from a model, can
neither stall the program nor fill the context.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from yohaku.recall.blocks import FoundLine, blocks, find_lines, utf8_size
from yohaku.recall.patterns import compile_pattern
from yohaku.stores import Original, Store, StoredBytes

MAX_LINE_CHARS = 2000

MAX_SHOWN_BYTES = 50_000

CUT_MARK = "… [cut; search for the rest]"
OVERLONG_FACTOR = 4
"""A line longer than this many times its shown width is not read to the end."""


@dataclass(frozen=True, slots=True)
class OpenedLines:
    """Some lines of an original. `str()` gives the text shown to a model."""

    original: Original
    lines: tuple[FoundLine, ...]
    more: int | None = None
    """Line to go on from, if there is more."""
    pattern: str | None = None

    def __str__(self) -> str:
        ref, weight, count, binary = self.original
        if binary:
            return f"[ref={ref}: {weight:,} bytes, not text]"
        if self.pattern is not None:
            matching = sum(line.hit for line in self.lines)
            head = f"[ref={ref}: {matching:,} of {count:,} lines match" + (" so far]" if self.more else "]")
        elif self.lines:
            head = f"[ref={ref}: lines {self.lines[0].number:,}-{self.lines[-1].number:,} of {count:,}]"
        else:
            head = f"[ref={ref}: {count:,} lines, none here]"
        shown = [head]
        before = None
        for line in self.lines:
            if before is not None and line.number != before + 1 and self.pattern is not None:
                shown.append("--")
            before = line.number
            shown.append(f"{line.number:>6}{':' if line.hit else '-'} {line.text}")
        return "\n".join([*shown, f"[more from offset={self.more}]"] if self.more else shown)


def read(
    store: Store,
    ref: str,
    offset: int = 1,
    limit: int = 200,
    *,
    width: int = MAX_LINE_CHARS,
    room: int = MAX_SHOWN_BYTES,
) -> OpenedLines:
    """Read `limit` lines from line `offset` on, as far as they fit into `room` bytes; at least one."""
    first, limit = max(1, offset), max(0, limit)
    original, pieces = store.open(ref, first - 1)
    if original.binary:
        return OpenedLines(original, ())
    found: list[FoundLine] = []
    number, batches = first, _batches(pieces, first - 1, limit, width)
    while len(found) < limit and (batch := next(batches, None)):
        texts = _decode_lines(batch[: limit - len(found)], width)
        fitting = _count_fitting(texts, room, least=not found)
        found += map(FoundLine, range(number, number + fitting), texts)
        number += fitting
        room -= utf8_size("\n".join(texts[:fitting])) + 1
        if fitting < len(texts):
            break
        if len(batch[-1]) > OVERLONG_FACTOR * width:
            batches = _batches(store.open(ref, number - 1).pieces, number - 1, limit, width)
    return OpenedLines(original, tuple(found), number if number <= original.lines else None)


def grep(
    store: Store,
    ref: str,
    pattern: str,
    context: int = 0,
    limit: int = 50,
    *,
    offset: int = 1,
    width: int = MAX_LINE_CHARS,
    room: int = MAX_SHOWN_BYTES,
    seconds: float = 10.0,
) -> OpenedLines:
    """Find lines that match a regular expression, each with `context` lines around it. `BadSetting` for a bad one."""
    end = time.monotonic() + seconds
    find = compile_pattern(pattern)
    line = max(0, offset - 1)
    original, pieces = store.open(ref, line)
    if original.binary:
        return OpenedLines(original, (), pattern=pattern)
    found: list[FoundLine] = []
    more = None
    for hit in find_lines(blocks(pieces), find, line, width, end):
        room -= utf8_size(hit.text) + 1
        if not hit.hit or len(found) >= limit or (room < 0 and found):
            more = hit.number
            break
        found.append(hit)
    around = min(max(0, context), 100)
    lines = _with_context(store, ref, found, around, width, room) if around and found else tuple(found)
    return OpenedLines(original, lines, more, pattern)


def _batches(pieces: Iterator[StoredBytes], line: int, most: int, width: int) -> Iterator[list[bytes]]:
    """Yield at least `most` lines from `line` on, in batches; stop at a line too long to read whole."""
    held, skip = b"", -1
    for piece in pieces:
        if skip < 0:
            skip = line - piece.line
            lines = piece.data.split(b"\n", skip + most)
            enough = len(lines) > skip + most
            del lines[:skip]
            if enough or not lines:
                yield lines[:most]
                return
        else:
            lines = piece.data.split(b"\n")
        rest = lines.pop()
        if lines:
            lines[0] = held + lines[0]
            held = b""
            yield lines
        held += rest
        if len(held) > OVERLONG_FACTOR * width:
            yield [held]
            return
    if held:
        yield [held]


def _count_fitting(texts: list[str], room: int, *, least: bool) -> int:
    """Count the texts that fit into `room` bytes; with `least`, at least one."""
    if 4 * sum(map(len, texts)) + len(texts) <= room:
        return len(texts)
    for number, text in enumerate(texts):
        room -= utf8_size(text) + 1
        if room < 0:
            return max(number, int(least))
    return len(texts)


def _with_context(
    store: Store, ref: str, found: list[FoundLine], context: int, width: int, room: int
) -> tuple[FoundLine, ...]:
    """Add the lines around the hits as far as they fit; no hit is dropped for a neighbour."""
    shown = {hit.number: hit for hit in found}
    for hit in found:
        for line in read(store, ref, hit.number - context, 2 * context + min(0, hit.number - context - 1) + 1).lines:
            if line.number in shown:
                continue
            text = line.text[:width]
            room -= utf8_size(text) + 1
            if room < 0:
                break
            shown[line.number] = FoundLine(line.number, text, hit=False)
    return tuple(shown[number] for number in sorted(shown))


def _decode_lines(lines: list[bytes], width: int) -> list[str]:
    text = b"\n".join(lines).decode("utf-8", "replace")
    texts = text.split("\n")
    if "\r" in text:
        texts = [line.removesuffix("\r") for line in texts]
    if len(text) > width and max(map(len, texts)) > width:
        return [line if len(line) <= width else line[:width] + CUT_MARK for line in texts]
    return texts
