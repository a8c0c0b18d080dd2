"""Store in memory, for as long as the process runs."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold, FoldId, id_of
from yohaku.stores import OpenedOriginal, Original, Source, StoredBytes, StoredOriginal
from yohaku.stores.chunks import Cutter, count_lines, cut, decode, encode, first_chunk
from yohaku.stores.joined import SEPARATOR, flatten_parts


class MemoryStore:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.version = 0
        self._clock = clock
        self._originals: dict[str, str | bytes] = {}
        self._joined: dict[str, tuple[str, ...]] = {}
        self._put_at: dict[str, int] = {}
        self._folds: dict[str, dict[FoldId, Fold]] = {}
        self._seen: dict[str, int] = {}
        self._rows: dict[str, list[str]] = {}
        self._tenants: dict[str, MemoryStore] = {}

    @classmethod
    def at(cls, url: str) -> MemoryStore:
        return cls()

    def put(self, ref: str, original: str | bytes) -> None:
        if ref not in self._joined:
            self._originals.setdefault(ref, original)
        self._put_at[ref] = int(self._clock())

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        for ref, original in originals:
            self.put(ref, original)

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        pairs = flatten_parts(self, parts)
        self.put_all(pairs)
        if ref not in self._originals:
            self._joined[ref] = tuple(inner for inner, _ in pairs)
        self._put_at[ref] = int(self._clock())

    def parts(self, ref: str) -> tuple[str, ...]:
        return self._joined.get(ref, ())

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        cutter = Cutter(source, binary=binary)
        data = b"".join(cutter)
        self.put(cutter.original.ref, decode(data, binary))
        return cutter.original

    def get(self, ref: str) -> str | bytes:
        try:
            if ref in self._joined:
                return SEPARATOR.join(str(self._originals[part]) for part in self._joined[ref])
            return self._originals[ref]
        except KeyError:
            raise UnknownRef(ref) from None

    def about(self, ref: str) -> Original:
        original = self.get(ref)
        data = encode(original)
        return Original(ref, len(data), count_lines(data), isinstance(original, bytes))

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        chunks = list(cut([encode(self.get(ref))]))
        marks, feeds = array("Q"), 0
        for chunk in chunks:
            marks.append(feeds)
            feeds += chunk.count(b"\n")
        start = first_chunk(marks, line)
        return OpenedOriginal(self.about(ref), map(StoredBytes, marks[start:], chunks[start:]))

    def keep(self, folds: Iterable[Fold]) -> None:
        self.version += 1
        for fold in folds:
            self._folds.setdefault(fold.key, {})[id_of(fold)] = fold
            self._seen[fold.key] = int(self._clock())

    def forget(self, folds: Iterable[Fold]) -> None:
        self.version += 1
        for fold in folds:
            slots = self._folds.get(fold.key, {})
            slots.pop(id_of(fold), None)
            if not slots:
                self._folds.pop(fold.key, None)

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        if not self._folds:
            return []
        found = [key for key in keys if key in self._folds]
        if found:
            self._seen.update(dict.fromkeys(found, int(self._clock())))
        return [fold for key in found for fold in self._folds[key].values()]

    def record(self, conversation: str, row: str) -> None:
        self._rows.setdefault(conversation, []).append(row)

    def recorded(self, conversation: str) -> list[str]:
        return list(self._rows.get(conversation, ()))

    def conversations(self) -> list[str]:
        return sorted(self._rows)

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        kept = self._rows.get(conversation, [])
        for row in rows:
            if row in kept:
                kept.remove(row)
        if not kept:
            self._rows.pop(conversation, None)

    def kept(self) -> Iterator[StoredOriginal]:
        for ref, at in sorted(self._put_at.items(), key=lambda put: put[1], reverse=True):
            joined = self._joined.get(ref, ())
            yield StoredOriginal(ref, 12 * len(joined) or len(encode(self._originals[ref])), at, bool(joined))

    def standing(self, since: int) -> Iterator[Fold]:
        for key, slots in list(self._folds.items()):
            if self._seen[key] >= since:
                yield from slots.values()

    def expire(self, before: int) -> int:
        gone = [fold for key, slots in self._folds.items() if self._seen[key] < before for fold in slots.values()]
        if gone:
            self.forget(gone)
        return len(gone)

    def drop(self, refs: Iterable[str], before: int) -> int:
        gone = [ref for ref in refs if ref in self._put_at and self._put_at[ref] < before]
        for ref in gone:
            del self._put_at[ref]
            self._originals.pop(ref, None)
            self._joined.pop(ref, None)
        return len(gone)

    def of(self, tenant: str) -> MemoryStore:
        return self._tenants.setdefault(tenant, MemoryStore(self._clock)) if tenant else self

    def tenants(self) -> list[str]:
        ours = [""] * bool(self._put_at or self._folds or self._rows)
        return ours + sorted(name for name, store in self._tenants.items() if store.tenants())

    def close(self) -> None:
        pass
