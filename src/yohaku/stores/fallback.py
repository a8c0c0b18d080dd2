"""Store that falls back to memory, so that a conversation goes on when its store fails.

Law: while the store below fails, new data is kept in memory and one warning is given; when it works again, that data is
moved to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from yohaku.core.errors import StoreFailed, UnknownRef
from yohaku.core.folds import Fold
from yohaku.stores import OpenedOriginal, Original, Source, Store, StoredOriginal, eviction_policy
from yohaku.stores.chunks import blocks
from yohaku.stores.memory import MemoryStore

T = TypeVar("T")
MAX_BUFFERED_BYTES = 16_000_000
"""Bytes of a stream held in memory until the store has acknowledged it."""


class FallbackStore:
    def __init__(
        self,
        store: Store,
        tell: Callable[[StoreFailed], None] | None = None,
        *,
        rest: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tell`: called at the first failure; `rest`: seconds until the store is tried again."""
        self.warning: StoreFailed | None = None
        """The failure, while new data is kept in memory only."""
        self._store = store
        self._memory = MemoryStore()
        self._tell = tell
        self._rest = rest
        self._clock = clock
        self._reads_from = self._writes_from = 0.0
        self._version = 0
        self._lock = threading.RLock()

    @property
    def version(self) -> int:
        self._version = self._read(lambda: self._store.version, self._version)
        return self._version + self._memory.version

    @property
    def eviction_policy(self) -> str:
        """The policy of the store below; "" while it fails."""
        return "" if self.warning else eviction_policy(self._store)

    def put(self, ref: str, original: str | bytes) -> None:
        self.put_all([(ref, original)])

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        given = list(originals)
        self._do(lambda store: store.put_all(given))

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        self._do(lambda store: store.put_joined(ref, parts))

    def parts(self, ref: str) -> tuple[str, ...]:
        return self._memory.parts(ref) or self._store.parts(ref)

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        """Fail if the store does so after MAX_BUFFERED_BYTES: a source cannot be read again."""
        given = blocks(source)
        buffered = _BufferedBlocks(given)
        if self._clock() >= self._writes_from:
            try:
                return self._store.put_stream(buffered, binary=binary)
            except StoreFailed as why:
                self._note_failure(why)
                if buffered.seen is None:
                    raise
        return self._memory.put_stream(chain(buffered.seen or (), given), binary=binary)

    def get(self, ref: str) -> str | bytes:
        return self._open(ref, lambda store: store.get(ref))

    def about(self, ref: str) -> Original:
        return self._open(ref, lambda store: store.about(ref))

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        return self._open(ref, lambda store: store.open(ref, line))

    def keep(self, folds: Iterable[Fold]) -> None:
        given = list(folds)
        self._do(lambda store: store.keep(given))

    def forget(self, folds: Iterable[Fold]) -> None:
        given = list(folds)
        self._do(lambda store: store.forget(given))

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        wanted = list(keys)
        found: list[Fold] = self._read(lambda: self._store.folds(wanted), [])
        return [*found, *self._memory.folds(wanted)]  # the newer ones last: they replace the others

    def record(self, conversation: str, row: str) -> None:
        self._do(lambda store: store.record(conversation, row))

    def recorded(self, conversation: str) -> list[str]:
        found: list[str] = self._read(lambda: self._store.recorded(conversation), [])
        return [*found, *self._memory.recorded(conversation)]

    def conversations(self) -> list[str]:
        found: list[str] = self._read(lambda: self._store.conversations(), [])
        return sorted({*found, *self._memory.conversations()})

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        self._store.erase(conversation, rows)

    def kept(self) -> Iterator[StoredOriginal]:
        return chain(self._memory.kept(), self._read(self._store.kept, iter(())))

    def standing(self, since: int) -> Iterator[Fold]:
        return chain(self._store.standing(since), self._memory.standing(since))

    def expire(self, before: int) -> int:
        return self._store.expire(before)

    def drop(self, refs: Iterable[str], before: int) -> int:
        return self._store.drop(refs, before)

    def of(self, tenant: str) -> FallbackStore:
        return FallbackStore(self._store.of(tenant), self._tell, rest=self._rest, clock=self._clock)

    def tenants(self) -> list[str]:
        return self._store.tenants()

    def settle(self) -> None:
        """Move what is in memory to the store, if it works."""
        with suppress(StoreFailed), self._lock:  # reported before
            self._move_to_store()

    def close(self) -> None:
        self.settle()
        self._store.close()

    def _do(self, act: Callable[[Store], None]) -> None:
        with self._lock:
            if self._clock() >= self._writes_from:
                try:
                    self._move_to_store()
                    act(self._store)
                    return
                except StoreFailed as why:
                    self._note_failure(why)
            act(self._memory)

    def _read(self, read: Callable[[], T], otherwise: T) -> T:
        if self._clock() >= self._reads_from:
            try:
                return read()
            except StoreFailed as why:
                self._reads_from = self._clock() + self._rest  # a full disk can still be read, a lost server cannot
                self._note_failure(why)
        return otherwise

    def _open(self, ref: str, read: Callable[[Store], T]) -> T:
        """Look in memory, then in the store. Its failure is raised: the original may well be in it."""
        try:
            return read(self._memory)
        except UnknownRef:
            return read(self._store)

    def _note_failure(self, why: StoreFailed) -> None:
        self._writes_from = self._clock() + self._rest
        if self.warning is None and self._tell:
            self._tell(why)
        self.warning = why

    def _move_to_store(self) -> None:
        """Move what was kept in memory to a store that failed before."""
        if self.warning is None:
            return
        memory = self._memory
        self._store.put_all((kept.ref, memory.get(kept.ref)) for kept in memory.kept() if not kept.joined)
        for kept in memory.kept():
            if kept.joined:
                self._store.put_joined(kept.ref, [str(memory.get(part)) for part in memory.parts(kept.ref)])
        if folds := list(memory.standing(0)):
            self._store.keep(folds)
        for conversation in memory.conversations():
            for row in memory.recorded(conversation):
                self._store.record(conversation, row)
        # The version goes on: a session must not see the same number for other folds.
        self._memory = MemoryStore()
        self._memory.version = memory.version + 1
        self.warning = None


class _BufferedBlocks:
    """Yields the blocks given, and buffers them up to MAX_BUFFERED_BYTES."""

    def __init__(self, given: Iterator[bytes]) -> None:
        self.seen: list[bytes] | None = []
        self._given = given
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._given:
            self._size += len(block)
            if self._size > MAX_BUFFERED_BYTES:
                self.seen = None
            if self.seen is not None:
                self.seen.append(block)
            yield block
