"""Originals cut into compressed chunks that can be read one by one.

Law: a chunk ends with a line feed if it holds one, so reading lines from the middle of a gigabyte costs no more than
those lines; and cutting holds a few chunks at a time, so memory stays flat.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b32encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import IO, TYPE_CHECKING, cast

from yohaku.core.errors import StoreFailed
from yohaku.stores import Original, Source

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

CHUNK_BYTES = 64 * 1024
CHUNKS_PER_WRITE = 128
"""8 MB, so that no other writer waits long behind a gigabyte."""
MAX_CHUNKS_PER_READ = 16
BLOCK_BYTES = 4 * CHUNK_BYTES
CHECKSUM_BYTES = 8
_PACK: dict[int, int] = {zstd.CompressionParameter.compression_level: 1, zstd.CompressionParameter.checksum_flag: 1}


def pack(data: bytes) -> bytes:
    return zstd.compress(data, options=_PACK)


def unpack(data: bytes, where: str) -> bytes:
    try:
        return zstd.decompress(data)
    except zstd.ZstdError:
        raise damaged(where) from None


def damaged(where: str) -> StoreFailed:
    remedy = "restore it from a backup, or choose another store"
    return StoreFailed(where, "what is stored there is damaged", remedy, "damaged_data")


def checksum(data: bytes) -> bytes:
    return sha256(data).digest()[:CHECKSUM_BYTES]


def encode(original: str | bytes) -> bytes:
    """Return the bytes that the ref is a hash of."""
    return original.encode("utf-8", "surrogatepass") if isinstance(original, str) else bytes(original)


def decode(data: bytes, binary: bool) -> str | bytes:
    """Return the original. A stream put as text that is not UTF-8 stays bytes, so that nothing changes."""
    try:
        return data if binary else data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


class Cutter:
    """Cuts a source into chunks, and has the facts of the original once all are taken."""

    def __init__(self, source: Source, *, binary: bool = False, ref: str | None = None) -> None:
        """`ref`: if it is known already."""
        self._blocks = blocks(source)
        self._ref = ref
        self._hash = sha256()
        self._marks = array("Q")
        self._sums: list[bytes] = []
        self._size = self._feeds = 0
        self._last = b""
        self._binary = binary

    def __iter__(self) -> Iterator[bytes]:
        for chunk in cut(self._blocks):
            if self._ref is None:
                self._hash.update(chunk)
            self._marks.append(self._feeds)
            self._size += len(chunk)
            self._feeds += chunk.count(b"\n")
            self._last = chunk[-1:]
            yield chunk

    def packed(self) -> Iterator[bytes]:
        """Yield the chunks compressed, and note their checksums; one for an empty source."""
        for chunk in chain(self, (b"",)):
            if chunk or not self._sums:
                packed = pack(chunk)
                self._sums.append(checksum(packed))
                yield packed

    @property
    def original(self) -> Original:
        lines = self._feeds + (self._last not in (b"", b"\n"))
        return Original(self._ref or ref_from(self._hash.digest()), self._size, lines, self._binary)

    @property
    def index(self) -> bytes:
        """Number of lines that end before each chunk, and the checksum of each, compressed; see `read_index`."""
        return pack(_as_little_endian(self._marks[:] or array("Q", [0])).tobytes() + b"".join(self._sums))


def read_index(index: bytes, where: str, *, sealed: bool) -> tuple[array[int], list[bytes]]:
    """Return the marks and the checksums; one of an older version, which has no seal, has no checksums either."""
    found = unpack(index, where)
    size = len(found) // 2 if sealed else len(found)
    if size % CHECKSUM_BYTES:
        raise damaged(where)
    marks = _as_little_endian(array("Q", found[:size])) or array("Q", [0])
    return marks, [found[at : at + CHECKSUM_BYTES] for at in range(size, len(found), CHECKSUM_BYTES)]


def first_chunk(marks: Sequence[int], line: int) -> int:
    """Return the chunk a line begins in: the first with that mark, since a chunk with a line feed ends with one."""
    number = bisect_left(marks, line)
    return number if number < len(marks) and marks[number] == line else max(0, number - 1)


def cut(source: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in source:
        rest, start = rest + block, 0
        while len(rest) - start > CHUNK_BYTES:
            end = rest.rfind(b"\n", start, start + CHUNK_BYTES) + 1 or start + CHUNK_BYTES
            yield rest[start:end]
            start = end
        rest = rest[start:]
    if rest:
        yield rest


def blocks(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a source in blocks of a few chunks, however small or large its own are."""
    if hasattr(source, "read"):
        file = cast("IO[bytes]", source)
        while block := file.read(BLOCK_BYTES):
            yield block
        return
    gathered: list[bytes] = []
    size = 0
    for given in cast("Iterable[bytes | str]", source):
        for start in range(0, len(given), BLOCK_BYTES):  # one huge block, without a second copy of it
            gathered.append(encode(given[start : start + BLOCK_BYTES]))
            size += len(gathered[-1])
            if size >= BLOCK_BYTES:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def ref_from(digest: bytes) -> str:
    """Return the ref of an original with this SHA-256, as `ref_of` does: the lower 60 of the first 64 bits."""
    number = int.from_bytes(digest[:8], "big") & (1 << 60) - 1
    return b32encode((number << 20).to_bytes(10, "big"))[:12].decode().lower()


def _as_little_endian(numbers: array[int]) -> array[int]:
    """Swap bytes on a big-endian machine, so that a store can be read on every machine."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
