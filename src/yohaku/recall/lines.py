"""Opening what was folded: lines of an original, and a search in one.

Law: it costs what it shows, not what the original holds; and a pattern, which a model wrote, can neither stall nor
fill the context it is asked from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from yohaku.recall.blocks import FoundLine, blocks, hits, size
from yohaku.recall.patterns import seek
from yohaku.stores import Original, Store, StoredBytes

WIDTH = 2000
"""Characters of a line that are shown."""
ROOM = 50_000
"""Bytes shown at once."""
CUT = "… [cut; search for the rest]"
LONG = 4
"""Times what is shown of a line, and its end is not read."""


@dataclass(frozen=True, slots=True)
class OpenedLines:
    """Some lines of an original. As a string: what a model is shown."""

    original: Original
    lines: tuple[FoundLine, ...]
    more: int | None = None
    """The line to go on from, where there is more."""
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
        told = [head]
        before = None
        for line in self.lines:
            if before is not None and line.number != before + 1 and self.pattern is not None:
                told.append("--")
            before = line.number
            told.append(f"{line.number:>6}{':' if line.hit else '-'} {line.text}")
        return "\n".join([*told, f"[more from offset={self.more}]"] if self.more else told)


def read(
    store: Store, ref: str, offset: int = 1, limit: int = 200, *, width: int = WIDTH, room: int = ROOM
) -> OpenedLines:
    """`limit` lines from line `offset` on, as far as there is room for them; at least one."""
    first, limit = max(1, offset), max(0, limit)
    original, pieces = store.open(ref, first - 1)
    if original.binary:
        return OpenedLines(original, ())
    found: list[FoundLine] = []
    number, batches = first, _batches(pieces, first - 1, limit, width)
    while len(found) < limit and (batch := next(batches, None)):
        texts = _shown(batch[: limit - len(found)], width)
        fitting = _fitting(texts, room, least=not found)
        found += map(FoundLine, range(number, number + fitting), texts)
        number += fitting
        room -= size("\n".join(texts[:fitting])) + 1
        if fitting < len(texts):
            break
        if len(batch[-1]) > LONG * width:
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
    width: int = WIDTH,
    room: int = ROOM,
    seconds: float = 10.0,
) -> OpenedLines:
    """The lines that match a regular expression, each with `context` lines around it. `BadSetting` for a bad one."""
    end = time.monotonic() + seconds
    find = seek(pattern)
    line = max(0, offset - 1)
    original, pieces = store.open(ref, line)
    if original.binary:
        return OpenedLines(original, (), pattern=pattern)
    found: list[FoundLine] = []
    more = None
    for hit in hits(blocks(pieces), find, line, width, end):
        room -= size(hit.text) + 1
        if not hit.hit or len(found) >= limit or (room < 0 and found):
            more = hit.number
            break
        found.append(hit)
    around = min(max(0, context), 100)
    lines = _around(store, ref, found, around, width, room) if around and found else tuple(found)
    return OpenedLines(original, lines, more, pattern)


def _batches(pieces: Iterator[StoredBytes], line: int, most: int, width: int) -> Iterator[list[bytes]]:
    """So many lines from one on, if not more, some at a time; they end with one too long to be worth reading whole."""
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
        if len(held) > LONG * width:
            yield [held]
            return
    if held:
        yield [held]


def _fitting(texts: list[str], room: int, *, least: bool) -> int:
    """How many of the texts there is room for, in bytes; of the first ones at least one."""
    if 4 * sum(map(len, texts)) + len(texts) <= room:
        return len(texts)
    for number, text in enumerate(texts):
        room -= size(text) + 1
        if room < 0:
            return max(number, int(least))
    return len(texts)


def _around(
    store: Store, ref: str, found: list[FoundLine], context: int, width: int, room: int
) -> tuple[FoundLine, ...]:
    """The hits and the lines around them, as far as there is room; a hit is never left out for a neighbour."""
    shown = {hit.number: hit for hit in found}
    for hit in found:
        for line in read(store, ref, hit.number - context, 2 * context + min(0, hit.number - context - 1) + 1).lines:
            if line.number in shown:
                continue
            text = line.text[:width]
            room -= size(text) + 1
            if room < 0:
                break
            shown[line.number] = FoundLine(line.number, text, hit=False)
    return tuple(shown[number] for number in sorted(shown))


def _shown(lines: list[bytes], width: int) -> list[str]:
    said = b"\n".join(lines).decode("utf-8", "replace")
    texts = said.split("\n")
    if "\r" in said:
        texts = [text.removesuffix("\r") for text in texts]
    if len(said) > width and max(map(len, texts)) > width:
        return [text if len(text) <= width else text[:width] + CUT for text in texts]
    return texts
