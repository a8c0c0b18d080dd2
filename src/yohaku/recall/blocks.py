"""Blocks of whole lines made of an original's bytes, and the search for matching lines in them.

Law: a block ends with a line, or holds MAX_LINE_BYTES of a longer one; memory stays flat.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from yohaku.recall.patterns import Finder
from yohaku.stores import StoredBytes

MAX_LINE_BYTES = 1 << 20
"""Bytes of a line that are searched at once. A longer line is searched in overlapping parts."""
OVERLAP_BYTES = 1 << 14


class FoundLine(NamedTuple):
    number: int
    """Counted from 1."""
    text: str
    hit: bool = True
    """False for a line of context."""


def blocks(pieces: Iterable[StoredBytes]) -> Iterator[tuple[int, bytes]]:
    """Join pieces until lines are whole. Yield each block with the number of its first line."""
    number, held = 0, b""
    for piece in pieces:
        number = number if held else piece.line
        block = held + piece.data if held else piece.data
        if block.endswith(b"\n"):
            yield number, block
            held = b""
        elif len(block) > MAX_LINE_BYTES:
            yield number, block
            held = block[-OVERLAP_BYTES:]
        else:
            held = block
    if held:
        yield number, held


def find_lines(
    given: Iterable[tuple[int, bytes]], find: Finder, line: int, width: int, end: float
) -> Iterator[FoundLine]:
    """Yield every line that matches, from `line` on. At time `end`, yield a line with hit=False to go on from."""
    last = -1
    for number, block in given:
        counted = at = 0
        while at < len(block) and (match := find(block, at)) is not None:
            if match == len(block) and block.endswith(b"\n"):
                break  # an empty match behind the last line feed is not on a line
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
    """Return the line, or the part of a long one around the match."""
    if len(data) <= width:
        return data.decode("utf-8", "replace").removesuffix("\r")
    start = max(0, match - width // 4)
    text = data[start : start + 4 * width].decode("utf-8", "replace").strip("\ufffd")[:width]
    return f"{'…' if start else ''}{text}{'…' if start + utf8_size(text) < len(data) else ''}"


def utf8_size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
