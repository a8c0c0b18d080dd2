"""The bytes of an original as blocks of whole lines, and what is found in them.

Law: a block holds a line to its end, or so much of it that nobody searches for more at once; memory stays flat.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from yohaku.recall.patterns import Seek
from yohaku.stores import StoredBytes

LONGEST = 1 << 20
"""Bytes of one line that are searched in one go; of a longer one this many, over and over."""
OVERLAP = 1 << 14


class FoundLine(NamedTuple):
    number: int
    """Counted from 1."""
    text: str
    hit: bool = True
    """False for what only stands around what was searched for."""


def blocks(pieces: Iterable[StoredBytes]) -> Iterator[tuple[int, bytes]]:
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


def hits(given: Iterable[tuple[int, bytes]], found: Seek, line: int, width: int, end: float) -> Iterator[FoundLine]:
    """Every line that matches; and where time ran out, one that is no hit, to go on from."""
    last = -1
    for number, block in given:
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
                yield FoundLine(number + 1, excerpt(block[begin:stop], match - begin, width))
            if time.monotonic() > end:
                yield FoundLine(number + 2, "", hit=False)
                return
        if time.monotonic() > end:
            yield FoundLine(max(line, number + block.count(b"\n", counted)) + 1, "", hit=False)
            return


def excerpt(data: bytes, match: int, width: int) -> str:
    """The line, or of a long one what stands around the match."""
    if len(data) <= width:
        return data.decode("utf-8", "replace").removesuffix("\r")
    start = max(0, match - width // 4)
    text = data[start : start + 4 * width].decode("utf-8", "replace").strip("\ufffd")[:width]
    return f"{'…' if start else ''}{text}{'…' if start + size(text) < len(data) else ''}"


def size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
