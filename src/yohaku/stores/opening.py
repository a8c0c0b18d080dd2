"""Open an original from its row in a database: whole, in chunks, or in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.stores import OpenedOriginal, Original, Store
from yohaku.stores.chunks import damaged, decode
from yohaku.stores.integrity import open_chunks, open_whole
from yohaku.stores.joined import open_joined, read_shares


class StoredRow(NamedTuple):
    """An original as a database has it."""

    original: Original
    joined: bool
    chunk_index: bytes | None
    """Of an original in several chunks."""
    head: bytes | None
    """The original itself, its first chunk, or the list of its parts; None where only a later chunk is wanted."""
    fetch: Callable[[int, int], list[Any]]
    """Get some chunks: from the first number to before the second."""


class RowStore(Store):
    """Base of the stores in databases: opens originals from the rows that `_find` returns."""

    _where: str
    """The store as messages name it."""

    def _find(self, ref: str, line: int = 0) -> StoredRow | None:
        """Find an original; without its first chunk if it has others and a later line is wanted."""
        raise NotImplementedError

    def get(self, ref: str) -> str | bytes:
        original, pieces = self.open(ref)
        return decode(b"".join(piece.data for piece in pieces), original.binary)

    def about(self, ref: str) -> Original:
        return self.open(ref, 1).original

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        row, where = self._find(ref, line), self._where
        if row is None:
            raise UnknownRef(ref)
        if row.chunk_index is not None and not row.joined:
            return open_chunks(row.original, row.chunk_index, row.head, line, row.fetch, where)
        if row.head is None:
            raise damaged(where)
        if row.joined:
            return open_joined(self, row.original, row.head, line, where)
        return open_whole(row.original.ref, row.original.binary, row.head, where)

    def parts(self, ref: str) -> tuple[str, ...]:
        """Return the refs of the parts; none for an original that is whole or unknown."""
        row = self._find(ref)
        if row is None or not row.joined:
            return ()
        if row.head is None:
            raise damaged(self._where)
        return tuple(share.ref for share in read_shares(row.head, row.original, self._where))
