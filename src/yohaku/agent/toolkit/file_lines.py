"""A range of lines of a file, whatever its size and encoding.

Law: memory grows with the lines returned, not with the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit import text_files
from yohaku.agent.toolkit.ordinary_files import open_ordinary, read_ordinary
from yohaku.agent.toolkit.text_files import TextFormat

MAX_WHOLE_BYTES = 8 * 1024 * 1024
"""Size up to which a file is read in one go."""
MAX_COUNTED_BYTES = 512 * 1024 * 1024
"""Size up to which all lines of a file are counted."""
MAX_SKIPPED_BYTES = MAX_COUNTED_BYTES
"""Bytes before the first line wanted that are read to find it."""
MAX_LINE_CHARS = 2000
BLOCK_BYTES = 1 << 20


class FileLines(NamedTuple):
    lines: list[str]
    first: int
    """Number of the first line, from 1."""
    total: int | None
    """Lines of the whole file; None where counting takes too long."""
    form: TextFormat
    data: bytes | None = None
    """Content of the whole file, if it was read in one go."""
    text: str = ""

    @property
    def more(self) -> int | None:
        """The number of the next line, if there is one."""
        after = self.first + len(self.lines)
        return after if self.total is None or after <= self.total else None


def read_lines(path: Path, first: int, most: int, size: int) -> FileLines | None:
    """Read at most `most` lines from `first` on, about `size` bytes; None if the file is not text."""
    length = path.stat().st_size
    with open_ordinary(path) as file:
        sample = file.read(text_files.SAMPLE_BYTES)
    form = text_files.detect_format(sample)
    if form is None:
        return None
    if length <= MAX_WHOLE_BYTES or (form.wide and length <= 4 * MAX_WHOLE_BYTES):
        return _read_whole(read_ordinary(path), first, most, size)
    return None if form.wide else _read_blocks(path, form, first, most, size, length)


def _read_whole(data: bytes, first: int, most: int, size: int) -> FileLines | None:
    found = text_files.decode_file(data)
    if found is None:
        return None
    text, form = found
    lines = split_lines(text, form.newline)
    shown: list[str] = []
    for line in lines[first - 1 : first - 1 + most]:
        size -= len(line) + 1
        shown.append(line)
        if size < 0:
            break
    return FileLines(shown, first, len(lines), form, data, text)


def _read_blocks(path: Path, form: TextFormat, first: int, most: int, size: int, length: int) -> FileLines:
    shown: list[str] = []
    for raw in _iterate_lines(path, first - 1):
        size -= len(raw) + 1
        shown.append(raw.rstrip(b"\r").decode(form.encoding, "replace"))
        if len(shown) >= most or size < 0:
            break
    total = _count_lines(path) if length <= MAX_COUNTED_BYTES else None
    return FileLines(shown, first, total, form)


def _iterate_lines(path: Path, skip: int) -> Iterator[bytes]:
    """Yield lines after the first `skip`; a line longer than a block is cut."""
    number, held, long, skipped = 0, b"", False, 0
    with open_ordinary(path) as file:
        while block := file.read(BLOCK_BYTES):
            feeds = block.count(b"\n")
            if number + feeds < skip:
                number, skipped = number + feeds, skipped + len(block)
                if skipped >= MAX_SKIPPED_BYTES:
                    raise ValueError("the file is too large to count so many lines: use a command such as tail or sed")
                continue
            *whole, rest = block.split(b"\n")
            for line in whole:
                if number >= skip:
                    yield held if long else held + line
                number, held, long = number + 1, b"", False
            held = held if long else held + rest
            long = len(held) > BLOCK_BYTES
    if held and number >= skip:
        yield held


def _count_lines(path: Path) -> int:
    feeds, last = 0, b"\n"
    with open_ordinary(path) as file:
        while block := file.read(BLOCK_BYTES):
            feeds += block.count(b"\n")
            last = block[-1:]
    return feeds + (last != b"\n")


def split_lines(text: str, newline: str = "\n") -> list[str]:
    """Split a text into lines as editors count them."""
    lines = text.split("\r" if newline == "\r" else "\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if newline == "\r\n" or "\r\n" in text[:4096] else lines


def clip_line(line: str) -> str:
    return (
        line
        if len(line) <= MAX_LINE_CHARS
        else f"{line[:MAX_LINE_CHARS]}… [+{len(line) - MAX_LINE_CHARS:,} characters]"
    )
