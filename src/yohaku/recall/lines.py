"""Opening what was folded: lines of an original, a search in one, a search in all.

Law: it costs what it shows, not what the original holds; and a pattern, which a model wrote, can neither stall nor
fill the context it is asked from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.recall.seek import Seek, literal, seek
from yohaku.stores import Original, Piece, Store

WIDTH = 2000
"""Characters of a line that are shown."""
ROOM = 50_000
"""Bytes shown at once."""
CUT = "… [cut; search for the rest]"
LONG = 4
"""Times what is shown of a line, and its end is not read."""
LONGEST = 1 << 20
"""Bytes of one line that are searched in one go; of a longer one this many, over and over."""
OVERLAP = 1 << 14


class Line(NamedTuple):
    number: int
    """Counted from 1."""
    text: str
    hit: bool = True
    """False for what only stands around what was searched for."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of an original. As a string: what a model is shown."""

    original: Original
    lines: tuple[Line, ...]
    more: int | None = None
    """The line to go on from, where there is more."""
    pattern: str | None = None

    def __str__(self) -> str:
        ref, size, count, binary = self.original
        if binary:
            return f"[ref={ref}: {size:,} bytes, not text]"
        if self.pattern is not None:
            hits = sum(line.hit for line in self.lines)
            head = f"[ref={ref}: {hits:,} of {count:,} lines match" + (" so far]" if self.more else "]")
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


class Hit(NamedTuple):
    ref: str
    number: int
    """Of the line, counted from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    hits: tuple[Hit, ...]
    complete: bool
    """Whether there is nothing else: neither the limit nor the time ran out."""


def read(store: Store, ref: str, offset: int = 1, limit: int = 200, *, width: int = WIDTH, room: int = ROOM) -> Lines:
    """`limit` lines from line `offset` on, as far as there is room for them; at least one."""
    first, limit = max(1, offset), max(0, limit)
    original, pieces = store.open(ref, first - 1)
    if original.binary:
        return Lines(original, ())
    found: list[Line] = []
    number, batches = first, _batches(pieces, first - 1, limit, width)
    while len(found) < limit and (batch := next(batches, None)):
        texts = _shown(batch[: limit - len(found)], width)
        fitting = _fitting(texts, room, least=not found)
        found += map(Line, range(number, number + fitting), texts)
        number += fitting
        room -= _size("\n".join(texts[:fitting])) + 1
        if fitting < len(texts):
            break
        if len(batch[-1]) > LONG * width:
            batches = _batches(store.open(ref, number - 1).pieces, number - 1, limit, width)
    return Lines(original, tuple(found), number if number <= original.lines else None)


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
) -> Lines:
    """The lines that match a regular expression, each with `context` lines around it. `BadSetting` for a bad one."""
    end = time.monotonic() + seconds
    found = seek(pattern)
    line = max(0, offset - 1)
    original, pieces = store.open(ref, line)
    if original.binary:
        return Lines(original, (), pattern=pattern)
    hits: list[Line] = []
    more = None
    for hit in _hits(pieces, found, line, width, end):
        room -= _size(hit.text) + 1
        if not hit.hit or len(hits) >= limit or (room < 0 and hits):
            more = hit.number
            break
        hits.append(hit)
    around = min(max(0, context), 100)
    lines = _around(store, ref, hits, around, width, room) if around and hits else tuple(hits)
    return Lines(original, lines, more, pattern)


def search(store: Store, words: str, limit: int = 20, *, seconds: float = 10.0) -> Found:
    """Lines of any original that hold all the words, in whatever case; what was put last comes first.

    It reads through everything, half a gigabyte a second, so that two letters of Japanese are found as well.
    """
    end = time.monotonic() + seconds
    wanted = sorted(set(words.split()), key=len, reverse=True)
    if not wanted:
        return Found((), complete=True)
    found, others = literal(wanted[0]), [word.lower() for word in wanted[1:]]
    hits: list[Hit] = []
    for kept in store.kept():
        try:
            original, pieces = store.open(kept.ref)
            if original.binary:
                continue
            for hit in _hits(pieces, found, 0, LONGEST, end):
                if hit.hit and not all(word in hit.text.lower() for word in others):
                    continue
                if not hit.hit or len(hits) >= limit:
                    return Found(tuple(hits), complete=False)
                hits.append(Hit(kept.ref, hit.number, _clip(hit.text, wanted[0])))
        except UnknownRef:
            continue  # collected in the meantime
        if time.monotonic() > end:
            return Found(tuple(hits), complete=False)
    return Found(tuple(hits), complete=True)


def _batches(pieces: Iterator[Piece], line: int, most: int, width: int) -> Iterator[list[bytes]]:
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
        room -= _size(text) + 1
        if room < 0:
            return max(number, int(least))
    return len(texts)


def _hits(pieces: Iterator[Piece], found: Seek, line: int, width: int, end: float) -> Iterator[Line]:
    """Every line that matches; and where time ran out, one that is no hit, to go on from."""
    last = -1
    for number, block in _blocks(pieces):
        counted = at = 0
        while at < len(block) and (match := found(block, at)) is not None:
            if match == len(block) and block.endswith(b"\n"):
                break  # nothing, after the last line feed: no line
            begin = block.rfind(b"\n", 0, match) + 1
            stop = block.find(b"\n", match)
            stop = len(block) if stop < 0 else stop
            number += block.count(b"\n", counted, begin)
            counted, at = begin, stop + 1
            if number >= line and number != last:
                last = number
                yield Line(number + 1, _excerpt(block[begin:stop], match - begin, width))
            if time.monotonic() > end:
                yield Line(number + 2, "", hit=False)
                return
        if time.monotonic() > end:
            yield Line(max(line, number + block.count(b"\n", counted)) + 1, "", hit=False)
            return


def _blocks(pieces: Iterator[Piece]) -> Iterator[tuple[int, bytes]]:
    """The pieces joined so that lines are whole, with the number of the first; a very long line in several."""
    number, held = 0, b""
    for piece in pieces:
        number = number if held else piece.line
        block = held + piece.data if held else piece.data
        if block.endswith(b"\n"):
            yield number, block
            held = b""
        elif len(block) > LONGEST:
            yield number, block
            held = block[-OVERLAP:]
        else:
            held = block
    if held:
        yield number, held


def _around(store: Store, ref: str, hits: list[Line], context: int, width: int, room: int) -> tuple[Line, ...]:
    """The hits and the lines around them, as far as there is room; a hit is never left out for a neighbour."""
    shown = {hit.number: hit for hit in hits}
    for hit in hits:
        for line in read(store, ref, hit.number - context, 2 * context + min(0, hit.number - context - 1) + 1).lines:
            if line.number in shown:
                continue
            text = line.text[:width]
            room -= _size(text) + 1
            if room < 0:
                break
            shown[line.number] = Line(line.number, text, hit=False)
    return tuple(shown[number] for number in sorted(shown))


def _shown(lines: list[bytes], width: int) -> list[str]:
    said = b"\n".join(lines).decode("utf-8", "replace")
    texts = said.split("\n")
    if "\r" in said:
        texts = [text.removesuffix("\r") for text in texts]
    if len(said) > width and max(map(len, texts)) > width:
        return [text if len(text) <= width else text[:width] + CUT for text in texts]
    return texts


def _excerpt(data: bytes, match: int, width: int) -> str:
    """The line, or of a long one what stands around the match."""
    if len(data) <= width:
        return data.decode("utf-8", "replace").removesuffix("\r")
    start = max(0, match - width // 4)
    text = data[start : start + 4 * width].decode("utf-8", "replace").strip("\ufffd")[:width]
    return f"{'…' if start else ''}{text}{'…' if start + _size(text) < len(data) else ''}"


def _clip(text: str, word: str, width: int = 300) -> str:
    start = max(0, text.lower().find(word.lower()) - width // 4)
    clipped = text[start : start + width]
    return f"{'…' if start else ''}{clipped}{'…' if start + width < len(text) else ''}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
