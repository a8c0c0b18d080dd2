"""Checksums of stored data, and reading that verifies them.

Law: an original is returned as it was put, or `StoreFailed` is raised. One in a single chunk is compared with its ref.
A longer one has the checksum of each chunk in its index. An index, and the list of parts of a joined original, carry a
seal over themselves and the facts beside them. Data of an older version has no seals: such an original, if read from
its beginning, is compared with its ref at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from yohaku.core.errors import StoreFailed
from yohaku.stores import OpenedOriginal, Original, StoredBytes
from yohaku.stores.chunks import (
    CHECKSUM_BYTES,
    MAX_CHUNKS_PER_READ,
    checksum,
    count_lines,
    damaged,
    first_chunk,
    read_index,
    ref_from,
    unpack,
)

SEAL = (0x184D2A59).to_bytes(4, "little") + CHECKSUM_BYTES.to_bytes(4, "little")
"""Begins a frame that decompression skips."""
_SEAL_BYTES = len(SEAL) + CHECKSUM_BYTES


def check_types(where: str, row: tuple[Any, ...], *types: type | tuple[type, ...]) -> tuple[Any, ...]:
    """Return the row, or raise if a value has another type: SQLite keeps any type in any column."""
    if len(row) != len(types) or not all(map(isinstance, row, types)):
        raise damaged(where)
    return row


def seal(packed: bytes, original: Original, *, joined: bool = False) -> bytes:
    """Append a checksum of the packed data and the facts beside it."""
    return packed + SEAL + _seal_of(packed, original, joined)


def is_sealed(packed: bytes, original: Original, where: str, *, joined: bool = False) -> bool:
    """Return False for data of an older version; raise if the seal is another one's."""
    if packed[-_SEAL_BYTES : -_SEAL_BYTES + len(SEAL)] != SEAL:
        return False
    if packed[-CHECKSUM_BYTES:] != _seal_of(packed[:-_SEAL_BYTES], original, joined):
        raise damaged(where)
    return True


def _seal_of(packed: bytes, original: Original, joined: bool) -> bytes:
    kind = "joined" if joined else "bytes" if original.binary else "text"
    return checksum(f"{original.ref} {original.size} {original.lines} {kind} ".encode() + packed)


def open_whole(ref: str, binary: bool, packed: bytes, where: str) -> OpenedOriginal:
    """Open an original in one chunk. Its facts come from its content."""
    data = unpack(packed, where)
    original = Original(ref, len(data), count_lines(data), binary)
    if ref_from(sha256(data).digest()) != ref:
        raise damaged(where)
    is_sealed(packed, original, where)
    return OpenedOriginal(original, iter((StoredBytes(0, data),)))


def open_chunks(
    original: Original,
    index: bytes,
    head: bytes | None,
    line: int,
    fetch: Callable[[int, int], list[Any]],
    where: str,
) -> OpenedOriginal:
    """Open an original in several chunks. `head`: its first one, if it is here; `fetch(start, stop)` gets others."""
    sealed = is_sealed(index, original, where)
    marks, sums = read_index(index, sealed=sealed, where=where)
    start = first_chunk(marks, line)
    chunks = enumerate(_fetch_from(start, len(marks), head, fetch, where), start)
    pieces = (StoredBytes(marks[number], _verify(chunk, sums, number, where)) for number, chunk in chunks)
    return OpenedOriginal(original, pieces if sealed or start else compare_at_end(pieces, original, where))


def _fetch_from(
    start: int, end: int, head: bytes | None, fetch: Callable[[int, int], list[Any]], where: str
) -> Iterator[Any]:
    if not start and head is not None:
        yield head
        start = 1
    few = 1  # enough for a reader of some lines; doubled for a reader of all
    while start < end:
        stop = min(start + few, end)
        found = fetch(start, stop)
        if len(found) != stop - start:
            raise StoreFailed(where, "the original was removed while it was being read", "fold anew", "removed")
        yield from found
        start, few = stop, min(2 * few, MAX_CHUNKS_PER_READ)


def _verify(chunk: Any, sums: list[bytes], number: int, where: str) -> bytes:
    if not isinstance(chunk, bytes) or (sums and checksum(chunk) != sums[number]):
        raise damaged(where)
    return unpack(chunk, where)


def compare_at_end(pieces: Iterator[StoredBytes], original: Original, where: str) -> Iterator[StoredBytes]:
    """Yield all pieces of an original, and raise at the end if they are not what its ref is a hash of."""
    digest = sha256()
    for piece in pieces:
        digest.update(piece.data)
        yield piece
    if ref_from(digest.digest()) != original.ref:
        raise damaged(where)
