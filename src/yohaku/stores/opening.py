"""Open an original from its row in a database: whole, in chunks, or in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from yohaku.stores import OpenedOriginal, Original
from yohaku.stores.chunks import damaged
from yohaku.stores.integrity import open_chunks, open_whole
from yohaku.stores.joined import open_joined, read_shares

if TYPE_CHECKING:
    from yohaku.stores import Store


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


def open_row(store: Store, row: StoredRow, line: int, where: str) -> OpenedOriginal:
    if row.chunk_index is not None and not row.joined:
        return open_chunks(row.original, row.chunk_index, row.head, line, row.fetch, where)
    if row.head is None:
        raise damaged(where)
    if row.joined:
        return open_joined(store, row.original, row.head, line, where)
    return open_whole(row.original.ref, row.original.binary, row.head, where)


def parts_of(row: StoredRow | None, where: str) -> tuple[str, ...]:
    """Return the refs of the parts; none for an original that is whole or unknown."""
    if row is None or not row.joined:
        return ()
    if row.head is None:
        raise damaged(where)
    return tuple(share.ref for share in read_shares(row.head, row.original, where))
