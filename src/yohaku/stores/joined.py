"""Originals given in parts, with a blank line between them: what they share with others is kept once.

Law: what is read is the whole, piece by piece as any original is; a line in the middle costs what it holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.core.originals import ref_of
from yohaku.stores import OpenedOriginal, Original, StoredBytes
from yohaku.stores.chunks import cut, encoded, pack, unpack

if TYPE_CHECKING:
    from yohaku.stores import Store

BETWEEN = "\n\n"
JOINED = 2
"""What stores keep in place of whether an original is binary."""


class Share(NamedTuple):
    """One of the parts."""

    ref: str
    size: int
    """Bytes."""
    feeds: int
    """Line feeds in it."""


class Manifest(NamedTuple):
    """All that is kept of the whole."""

    original: Original
    packed: bytes


def flat(store: Store, parts: Iterable[str]) -> list[tuple[str, str]]:
    """The parts, each with its ref, and of one that is kept in parts itself those: nothing joined is joined again."""
    found: list[tuple[str, str]] = []
    for part in parts:
        ref = ref_of(part)
        try:
            found += [(inner, str(store.get(inner))) for inner in store.parts(ref)] or [(ref, part)]
        except UnknownRef:
            found.append((ref, part))
    return found


def manifest(ref: str, parts: Sequence[tuple[str, str]]) -> Manifest:
    shares = [Share(name, len(encoded(part)), part.count("\n")) for name, part in parts]
    between = len(BETWEEN) * (len(parts) - 1)
    feeds = sum(share.feeds for share in shares) + between
    size = sum(share.size for share in shares) + between
    ends = next((part[-1] for _, part in reversed(parts) if part), "") == "\n"
    return Manifest(Original(ref, size, feeds + (not ends)), pack(json.dumps(shares).encode()))


def shares(packed: bytes, where: str) -> list[Share]:
    return [Share(*share) for share in json.loads(unpack(packed, where))]


def opened(store: Store, original: Original, found: Sequence[Share], line: int) -> OpenedOriginal:
    return OpenedOriginal(original, _pieces(store, found, line))


def _pieces(store: Store, found: Sequence[Share], line: int) -> Iterator[StoredBytes]:
    before = first = 0
    while first < len(found) - 1 and before + found[first].feeds + len(BETWEEN) <= line:
        before += found[first].feeds + len(BETWEEN)
        first += 1
    beginning = store.open(found[first].ref, max(0, line - before)).pieces
    piece = next(beginning, StoredBytes(0, b""))
    feeds = before + piece.line
    for chunk in cut(_blocks(store, piece, beginning, found[first + 1 :])):
        yield StoredBytes(feeds, chunk)
        feeds += chunk.count(b"\n")


def _blocks(store: Store, piece: StoredBytes, rest: Iterable[StoredBytes], later: Sequence[Share]) -> Iterator[bytes]:
    yield piece.data
    yield from (each.data for each in rest)
    for share in later:
        yield BETWEEN.encode()
        yield from (each.data for each in store.open(share.ref).pieces)
