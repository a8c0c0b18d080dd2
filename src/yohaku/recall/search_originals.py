"""Search for words in every original of a store.

Law: it ends in time, and reports when time ran out. Indexed blocks without the words are skipped; everything else is
searched, so that two letters of Japanese are found as well, in every store.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.core.errors import UnknownRef
from yohaku.recall.blocks import MAX_LINE_BYTES, blocks, find_lines
from yohaku.recall.index import IndexedBlocks, fill, look_up
from yohaku.recall.patterns import compile_literal
from yohaku.recall.search_passages import FoundPassage, find_passages, split_question
from yohaku.stores import Store, StoredOriginal

MIN_SECONDS_FOR_INDEX = 0.1
"""A search that takes less makes no index."""
MAX_INDEX_SECONDS = 5.0
"""Spent on the index after a search, and never more than the search took."""


class SearchHit(NamedTuple):
    ref: str
    number: int
    """Of the line, counted from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Lines found. `str()` gives the text shown to a model."""

    hits: tuple[SearchHit, ...]
    complete: bool
    """False if the limit was reached or time ran out."""
    late: bool = False
    """True if time ran out: some originals were not searched."""
    passages: tuple[FoundPassage, ...] = ()
    """Where no line holds all the words: passages that hold most of them, the best first."""

    def __str__(self) -> str:
        shown = [f"ref={hit.ref} line {hit.number:,}: {hit.text}" for hit in self.hits]
        if self.passages:
            shown += ["[no line holds all of these words; passages that hold most of them:]", *map(str, self.passages)]
        if self.late:
            shown.append("[the time ran out before everything was looked through: search again, or for longer words]")
        elif not self.complete:
            shown.append("[there may be more: raise the limit, or give more words]")
        return "\n".join(shown or ["[no line that is kept holds all of these words]"])


def search(
    store: Store,
    words: str,
    limit: int = 20,
    *,
    seconds: float = 10.0,
    refs: Container[str] | None = None,
    learn: bool = True,
) -> SearchResult:
    """Find lines that hold all the words, ignoring case, in the originals put last first.

    Where there are none, and several words were given, find passages that hold most of them.
    `refs`: search only these. `learn`: extend the index beside the store for at most as long as this search took.
    """
    began = time.monotonic()
    wanted = sorted(set(words.split()), key=len, reverse=True)
    if not wanted:
        return SearchResult((), complete=True)
    known = look_up(store, wanted)
    kept: Iterable[StoredOriginal] = list(store.kept()) if known or refs is not None else store.kept()
    found = _search(store, wanted, limit, began + seconds, known, _refs_to_search(store, kept, refs))
    if not found.hits and not found.late and len(split_question(words)) > 1:
        near = find_passages(store, words, _refs_to_search(store, store.kept(), refs), began + seconds)
        found = SearchResult((), complete=not near.late, late=near.late, passages=near.passages)
    took = time.monotonic() - began
    if learn and (_is_behind(known, kept) if known else took > MIN_SECONDS_FOR_INDEX):
        fill(store, min(took, MAX_INDEX_SECONDS))
    return found


def _is_behind(known: IndexedBlocks, kept: Iterable[StoredOriginal]) -> bool:
    wanted = {each.ref for each in kept if not each.joined}
    return known.rest.keys() != wanted or any(line is not None for line in known.rest.values())


def _refs_to_search(store: Store, kept: Iterable[StoredOriginal], refs: Container[str] | None) -> Iterator[str]:
    """Yield the refs to search. Joined originals are searched in their parts, each once."""
    if refs is None:
        yield from (each.ref for each in kept if not each.joined)
        return
    mine = [each for each in kept if each.joined and each.ref in refs]
    inside = dict.fromkeys(part for each in mine for part in store.parts(each.ref))  # as they were said
    yield from inside
    yield from (each.ref for each in kept if not each.joined and each.ref in refs and each.ref not in inside)


def _search(
    store: Store, wanted: list[str], limit: int, end: float, known: IndexedBlocks | None, refs: Iterable[str]
) -> SearchResult:
    find, others = compile_literal(wanted[0]), [word.lower() for word in wanted[1:]]
    found: list[SearchHit] = []
    for ref in refs:
        if known and ref not in known.blocks and known.rest.get(ref, 0) is None:
            continue
        try:
            for hit in find_lines(_open(store, ref, known), find, 0, MAX_LINE_BYTES, end):
                if not hit.hit:
                    return SearchResult(tuple(found), complete=False, late=True)
                if not all(word in hit.text.lower() for word in others):
                    continue
                if len(found) >= limit:
                    return SearchResult(tuple(found), complete=False)
                found.append(SearchHit(ref, hit.number, _clip(hit.text, wanted[0])))
        except UnknownRef:
            continue  # removed meanwhile
        if time.monotonic() > end:
            return SearchResult(tuple(found), complete=False, late=True)
    return SearchResult(tuple(found), complete=True)


def _open(store: Store, ref: str, known: IndexedBlocks | None) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks that may hold the words: those the index returned, and all that is not indexed."""
    rest: int | None = 0
    if known:
        rest = known.rest.get(ref, 0)
        for line in sorted(known.blocks.get(ref, ())):
            yield from _read_block(store, ref, line)
    if rest is not None:
        original, pieces = store.open(ref, rest)
        yield from () if original.binary else blocks(pieces)


def _read_block(store: Store, ref: str, line: int) -> Iterator[tuple[int, bytes]]:
    for number, block in blocks(store.open(ref, line).pieces):
        if number == line:
            yield number, block
        if number != line or block.endswith(b"\n"):
            return


def _clip(text: str, word: str, width: int = 300) -> str:
    start = max(0, text.lower().find(word.lower()) - width // 4)
    clipped = text[start : start + width]
    return f"{'…' if start else ''}{clipped}{'…' if start + width < len(text) else ''}"
