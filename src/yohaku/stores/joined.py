"""Originals put in parts, joined by a blank line; parts that they share are stored once.

Law: they read like any other original, piece by piece, and a line in the middle costs no more than its piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from yohaku.core.errors import UnknownRef
from yohaku.core.originals import ref_of
from yohaku.stores import OpenedOriginal, Original, StoredBytes
from yohaku.stores.chunks import cut, damaged, encode, pack, unpack
from yohaku.stores.integrity import compare_at_end, is_sealed, seal

if TYPE_CHECKING:
    from yohaku.stores import Store

SEPARATOR = "\n\n"
JOINED = 2
"""Value of the column `binary` for a joined original."""


class PartFacts(NamedTuple):
    """Facts about one part."""

    ref: str
    size: int
    """Bytes."""
    feeds: int
    """Line feeds in it."""


class Manifest(NamedTuple):
    """All that is stored of a joined original."""

    original: Original
    packed: bytes


def flatten_parts(store: Store, parts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the parts with their refs. A part that is joined itself is replaced by its own parts."""
    found: list[tuple[str, str]] = []
    for part in parts:
        ref = ref_of(part)
        if SEPARATOR not in part:  # not joined, so nothing to look up
            found.append((ref, part))
            continue
        try:
            found += [(inner, str(store.get(inner))) for inner in store.parts(ref)] or [(ref, part)]
        except UnknownRef:
            found.append((ref, part))
    return found


def make_manifest(ref: str, parts: Sequence[tuple[str, str]]) -> Manifest:
    shares = [PartFacts(name, len(encode(part)), part.count("\n")) for name, part in parts]
    between = len(SEPARATOR) * (len(parts) - 1)
    feeds = sum(share.feeds for share in shares) + between
    size = sum(share.size for share in shares) + between
    ends = next((part[-1] for _, part in reversed(parts) if part), "") == "\n"
    original = Original(ref, size, feeds + (not ends))
    return Manifest(original, seal(pack(json.dumps(shares).encode()), original, joined=True))


def read_shares(packed: bytes, original: Original, where: str) -> list[PartFacts]:
    """Return the facts about the parts; raise `StoreFailed` if they are another original's, or damaged."""
    is_sealed(packed, original, where, joined=True)
    try:
        found = msgspec.json.decode(unpack(packed, where), type=list[PartFacts])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise damaged(where) from None
    if not found or any(share.ref == original.ref for share in found):
        raise damaged(where)
    return found


def open_joined(store: Store, original: Original, packed: bytes, line: int, where: str) -> OpenedOriginal:
    pieces = _pieces(store, read_shares(packed, original, where), line)
    sealed = is_sealed(packed, original, where, joined=True)
    return OpenedOriginal(original, pieces if sealed or line else compare_at_end(pieces, original, where))


def _pieces(store: Store, found: Sequence[PartFacts], line: int) -> Iterator[StoredBytes]:
    before = first = 0
    while first < len(found) - 1 and before + found[first].feeds + len(SEPARATOR) <= line:
        before += found[first].feeds + len(SEPARATOR)
        first += 1
    beginning = store.open(found[first].ref, max(0, line - before)).pieces
    piece = next(beginning, StoredBytes(0, b""))
    feeds = before + piece.line
    for chunk in cut(_blocks(store, piece, beginning, found[first + 1 :])):
        yield StoredBytes(feeds, chunk)
        feeds += chunk.count(b"\n")


def _blocks(
    store: Store, piece: StoredBytes, rest: Iterable[StoredBytes], later: Sequence[PartFacts]
) -> Iterator[bytes]:
    yield piece.data
    yield from (each.data for each in rest)
    for share in later:
        yield SEPARATOR.encode()
        yield from (each.data for each in store.open(share.ref).pieces)
