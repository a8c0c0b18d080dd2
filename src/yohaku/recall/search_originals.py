"""A search in everything that is kept.

Law: within its time, and it says when that ran out. What an index knows is not looked through again; what no index
knows is, so two letters of Japanese are found as well, in every store.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.recall.blocks import LONGEST, blocks, hits
from yohaku.recall.index import IndexedBlocks, ask, fill
from yohaku.recall.patterns import literal
from yohaku.stores import Store, StoredOriginal

WORTH = 0.1
"""Seconds. What takes less needs no index."""
SHARE = 5.0
"""Seconds a search may spend on the index at most, and never more than on searching."""


class SearchHit(NamedTuple):
    ref: str
    number: int
    """Of the line, counted from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Lines of any original. As a string: what a model is shown."""

    hits: tuple[SearchHit, ...]
    complete: bool
    """Whether there is nothing else: neither the limit nor the time ran out."""
    late: bool = False
    """Whether the time ran out: then there may be lines in what was not looked through."""

    def __str__(self) -> str:
        told = [f"ref={hit.ref} line {hit.number:,}: {hit.text}" for hit in self.hits]
        if self.late:
            told.append("[the time ran out before everything was looked through: search again, or for longer words]")
        elif not self.complete:
            told.append("[there may be more: raise the limit, or give more words]")
        return "\n".join(told or ["[no line that is kept holds all of these words]"])


def search(
    store: Store,
    words: str,
    limit: int = 20,
    *,
    seconds: float = 10.0,
    refs: Container[str] | None = None,
    learn: bool = True,
) -> SearchResult:
    """Lines of any original that hold all the words, in whatever case; what was put last comes first.

    `refs`: only in these. `learn`: spend on the index beside the store at most the time this search took.
    """
    began = time.monotonic()
    wanted = sorted(set(words.split()), key=len, reverse=True)
    if not wanted:
        return SearchResult((), complete=True)
    known = ask(store, wanted)
    kept: Iterable[StoredOriginal] = list(store.kept()) if known or refs is not None else store.kept()
    found = _search(store, wanted, limit, began + seconds, known, _among(store, kept, refs))
    took = time.monotonic() - began
    if learn and (_behind(known, kept) if known else took > WORTH):
        fill(store, min(took, SHARE))
    return found


def _behind(known: IndexedBlocks, kept: Iterable[StoredOriginal]) -> bool:
    wanted = {each.ref for each in kept if not each.joined}
    return known.rest.keys() != wanted or any(line is not None for line in known.rest.values())


def _among(store: Store, kept: Iterable[StoredOriginal], refs: Container[str] | None) -> Iterator[str]:
    """What is joined of others is looked through in them, once."""
    inside: set[str] = set()
    if refs is not None:
        inside.update(*(store.parts(each.ref) for each in kept if each.joined and each.ref in refs))
    for each in kept:
        if not each.joined and (refs is None or each.ref in refs or each.ref in inside):
            yield each.ref


def _search(
    store: Store, wanted: list[str], limit: int, end: float, known: IndexedBlocks | None, refs: Iterable[str]
) -> SearchResult:
    find, others = literal(wanted[0]), [word.lower() for word in wanted[1:]]
    found: list[SearchHit] = []
    for ref in refs:
        if known and ref not in known.blocks and known.rest.get(ref, 0) is None:
            continue
        try:
            for hit in hits(_open(store, ref, known), find, 0, LONGEST, end):
                if not hit.hit:
                    return SearchResult(tuple(found), complete=False, late=True)
                if not all(word in hit.text.lower() for word in others):
                    continue
                if len(found) >= limit:
                    return SearchResult(tuple(found), complete=False)
                found.append(SearchHit(ref, hit.number, _clip(hit.text, wanted[0])))
        except UnknownRef:
            continue  # collected in the meantime
        if time.monotonic() > end:
            return SearchResult(tuple(found), complete=False, late=True)
    return SearchResult(tuple(found), complete=True)


def _open(store: Store, ref: str, known: IndexedBlocks | None) -> Iterator[tuple[int, bytes]]:
    """The blocks that may hold the words: of what is known those the index tells, and all of the rest."""
    rest: int | None = 0
    if known:
        rest = known.rest.get(ref, 0)
        for line in sorted(known.blocks.get(ref, ())):
            yield from _block(store, ref, line)
    if rest is not None:
        original, pieces = store.open(ref, rest)
        yield from () if original.binary else blocks(pieces)


def _block(store: Store, ref: str, line: int) -> Iterator[tuple[int, bytes]]:
    for number, block in blocks(store.open(ref, line).pieces):
        if number == line:
            yield number, block
        if number != line or block.endswith(b"\n"):
            return


def _clip(text: str, word: str, width: int = 300) -> str:
    start = max(0, text.lower().find(word.lower()) - width // 4)
    clipped = text[start : start + width]
    return f"{'…' if start else ''}{clipped}{'…' if start + width < len(text) else ''}"
