"""Originals cut into packed chunks that can be opened one by one.

Law: chunks are cut after a line feed wherever there is one within reach, so lines from the middle of a gigabyte cost
what they hold; and cutting holds a few chunks at a time, so memory stays flat.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b32encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import IO, TYPE_CHECKING, cast

from yohaku.core.errors import StoreFailed
from yohaku.stores import Original, Source

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

CHUNK = 64 * 1024
BATCH = 128
"""Chunks written at once: 8 MB, so that nobody waits long behind a gigabyte."""
SOME = 16
"""Chunks read at once."""
_GATHER = 4 * CHUNK
_PACK: dict[int, int] = {zstd.CompressionParameter.compression_level: 1, zstd.CompressionParameter.checksum_flag: 1}


def pack(data: bytes) -> bytes:
    return zstd.compress(data, options=_PACK)


def unpack(data: bytes, where: str) -> bytes:
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as why:
        raise StoreFailed(where, f"a stored chunk is damaged ({why})", "restore the store from a backup") from None


def encoded(original: str | bytes) -> bytes:
    """The bytes a ref is the address of."""
    return original.encode("utf-8", "surrogatepass") if isinstance(original, str) else bytes(original)


def decoded(data: bytes, binary: bool) -> str | bytes:
    """The original again. What was streamed in as text and is none stays bytes, rather than be changed."""
    try:
        return data if binary else data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


class Cutter:
    """Cuts a source into chunks; once they are all taken it knows what the original is."""

    def __init__(self, source: Source, *, binary: bool = False, ref: str | None = None) -> None:
        """`ref`, where it is known before."""
        self._blocks = blocks(source)
        self._ref = ref
        self._hash = sha256()
        self._marks = array("Q")
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

    @property
    def original(self) -> Original:
        lines = self._feeds + (self._last not in (b"", b"\n"))
        return Original(self._ref or ref_from(self._hash.digest()), self._size, lines, self._binary)

    @property
    def marks(self) -> bytes:
        """How many lines end before each chunk, packed; what `places` reads."""
        return pack(_little(self._marks).tobytes())


def places(marks: bytes, where: str) -> array[int]:
    found = array("Q")
    found.frombytes(unpack(marks, where))
    return _little(found)


def first_chunk(marks: Sequence[int], line: int) -> int:
    """The chunk a line begins in. Since a chunk with a line feed ends with one, the first with that mark starts it."""
    number = bisect_left(marks, line)
    return number if number < len(marks) and marks[number] == line else max(0, number - 1)


def cut(source: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in source:
        rest, start = rest + block, 0
        while len(rest) - start > CHUNK:
            end = rest.rfind(b"\n", start, start + CHUNK) + 1 or start + CHUNK
            yield rest[start:end]
            start = end
        rest = rest[start:]
    if rest:
        yield rest


def blocks(source: Source) -> Iterator[bytes]:
    """The bytes of a source in handy blocks, however small or large its own are."""
    if hasattr(source, "read"):
        file = cast("IO[bytes]", source)
        while block := file.read(_GATHER):
            yield block
        return
    gathered: list[bytes] = []
    size = 0
    for given in cast("Iterable[bytes | str]", source):
        for start in range(0, len(given), _GATHER):  # one huge block, without a second copy of it
            gathered.append(encoded(given[start : start + _GATHER]))
            size += len(gathered[-1])
            if size >= _GATHER:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def ref_from(digest: bytes) -> str:
    """What `ref_of` gives for an original with this SHA-256: the lower 60 of the first 64 bits."""
    number = int.from_bytes(digest[:8], "big") & (1 << 60) - 1
    return b32encode((number << 20).to_bytes(10, "big"))[:12].decode().lower()


def _little(numbers: array[int]) -> array[int]:
    """The same on every machine: written where one writes big ends first, it is read where another does not."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
