"""Store in one SQLite file, for all processes and threads of one machine.

Law: a call returns when its data is on the disk. Writers take turns and lock the file for milliseconds: long originals
are compressed before, and written in batches that become visible with the last one.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import count, islice
from pathlib import Path
from types import NoneType
from typing import Any

from yohaku.core.errors import StoreFailed
from yohaku.core.folds import Fold
from yohaku.stores import (
    DAY,
    HOUR,
    Original,
    Source,
    StoredOriginal,
    check_ref,
    joined,
    sqlite_path,
)
from yohaku.stores.chunks import (
    CHUNK_BYTES,
    CHUNKS_PER_WRITE,
    Cutter,
    count_lines,
    damaged,
    encode,
    pack,
)
from yohaku.stores.integrity import check_types, seal
from yohaku.stores.joined import JOINED
from yohaku.stores.opening import RowStore, StoredRow
from yohaku.stores.rows import (
    escape_name,
    read_fold,
    read_record,
    slot_of,
    unescape_name,
    write_fold,
    write_old_record,
    write_record,
)
from yohaku.stores.sqlite_file import SQLiteFile

# An original has no ref until all of it arrived. Its first chunk is in the same row, so that most need one row; the
# ids of the others count up from `id << SHIFT`.
SHIFT = 24

PUT = """
INSERT INTO originals (tenant, ref, at, size, lines, binary, stored, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, ref) DO UPDATE SET at = max(at, excluded.at)
"""
PUT_AT = "SELECT at FROM originals WHERE tenant = ? AND ref = ?"
PUT_AGAIN = "UPDATE originals SET at = ? WHERE tenant = ? AND ref = ?"
PUBLISH = """
UPDATE originals SET ref = ?, at = ?, size = ?, lines = ?, binary = ?, stored = ?, marks = ? WHERE id = ?
"""
OPEN = """
SELECT id, size, lines, binary, marks, CASE WHEN marks IS NULL OR ? = 0 THEN head END
FROM originals WHERE tenant = ? AND ref = ?
"""
HEAD = "SELECT head FROM originals WHERE id = ?"
CHUNKS = "SELECT data FROM chunks WHERE id >= ? AND id < ? ORDER BY id"
KEEP = """
INSERT INTO folds (tenant, key, slot, fold, seen) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, key, slot) DO UPDATE SET fold = excluded.fold, seen = excluded.seen
"""
NEWER = "INSERT INTO versions VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET number = number + 1"
ERASE = """
DELETE FROM records
WHERE id = (SELECT id FROM records WHERE tenant = ? AND conversation = ? AND row IN (?, ?) ORDER BY id LIMIT 1)
"""
FIND = """
SELECT slot, fold, seen, folds.key FROM json_each(?) AS wanted CROSS JOIN folds
ON folds.tenant = ? AND folds.key = wanted.value ORDER BY wanted.key, folds.id
"""


class SQLiteStore(RowStore):
    def __init__(self, path: Path | str, *, timeout: float = 30.0, clock: Callable[[], float] = time.time) -> None:
        """`timeout`: seconds to wait for another program that locks the file."""
        self._file = SQLiteFile(Path(path), timeout)
        self._where = self._file.name
        self._clock = clock
        self._tenant = ""

    @classmethod
    def at(cls, url: str) -> SQLiteStore:
        return cls(sqlite_path(url))

    def of(self, tenant: str) -> SQLiteStore:
        other = copy(self)
        other._tenant = escape_name(tenant)
        return other

    def close(self) -> None:
        self._file.close()

    @property
    def version(self) -> int:
        with self._file.reading() as db:
            row = db.execute("SELECT number FROM versions WHERE tenant = ?", (self._tenant,)).fetchone()
        return int(check_types(self._where, row, int)[0]) if row else 0

    def put(self, ref: str, original: str | bytes) -> None:
        self.put_all([(ref, original)])

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        small: list[tuple[object, ...]] = []
        now = int(self._clock())
        for ref, original in originals:
            if self._touch(check_ref(ref), now):
                continue
            data = encode(original)
            if len(data) > CHUNK_BYTES:
                self._put_chunks(Cutter([data], binary=isinstance(original, bytes), ref=ref))
                continue
            found = Original(ref, len(data), count_lines(data), isinstance(original, bytes))
            packed = seal(pack(data), found)
            small.append((self._tenant, ref, now, *found[1:], len(packed), packed))
        if small:
            with self._file.writing(alone=len(small) == 1) as db:
                db.executemany(PUT, small)

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        pairs = joined.flatten_parts(self, parts)
        self.put_all(pairs)
        found, packed = joined.make_manifest(check_ref(ref), pairs)
        row = (self._tenant, ref, int(self._clock()), found.size, found.lines, JOINED, len(packed), packed)
        with self._file.writing(alone=True) as db:
            db.execute(PUT, row)

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        return self._put_chunks(Cutter(source, binary=binary))

    def _touch(self, ref: str, now: int) -> bool:
        """Return True if it is there already, and note that it was put now, for garbage collection."""
        with self._file.reading() as db:
            row = db.execute(PUT_AT, (self._tenant, ref)).fetchone()
        if row and check_types(self._where, row, int)[0] < now - HOUR:
            with self._file.writing(alone=True) as db:
                return bool(db.execute(PUT_AGAIN, (now, self._tenant, ref)).rowcount)
        return row is not None

    def _put_chunks(self, cutter: Cutter) -> Original:
        chunks = cutter.packed()
        head = next(chunks)
        stored, numbers = len(head), count(1)
        arriving: list[tuple[int]] = []
        try:
            while True:
                batch = list(islice(chunks, CHUNKS_PER_WRITE))
                stored += sum(map(len, batch))
                with self._file.writing() as db:
                    arriving = arriving or self._begin(db, head)
                    ((number,),) = arriving
                    rows = ((number << SHIFT | next(numbers), chunk) for chunk in batch)
                    db.executemany("INSERT INTO chunks VALUES (?, ?)", rows)
                    if len(batch) < CHUNKS_PER_WRITE:
                        return self._publish(db, number, cutter, stored)
        except BaseException:
            with suppress(StoreFailed), self._file.writing() as db:
                _remove(db, arriving)
            raise

    def _begin(self, db: sqlite3.Connection, head: bytes) -> list[tuple[int]]:
        row = (self._tenant, int(self._clock()), head)
        return db.execute("INSERT INTO originals (tenant, at, head) VALUES (?, ?, ?) RETURNING id", row).fetchall()

    def _publish(self, db: sqlite3.Connection, number: int, cutter: Cutter, stored: int) -> Original:
        now, found = int(self._clock()), cutter.original
        if db.execute(PUT_AGAIN, (now, self._tenant, found.ref)).rowcount:  # it was there already
            _remove(db, [(number,)])
        else:
            facts = (found.size, found.lines, found.binary, stored, seal(cutter.index, found))
            db.execute(PUBLISH, (found.ref, now, *facts, number))
        return found

    def _find(self, ref: str, line: int = 0) -> StoredRow | None:
        """Find an original; without its first chunk if it has others and a later line is wanted."""
        rows = self._rows(OPEN, (min(line, 1), self._tenant, check_ref(ref)))
        if not rows:
            return None
        types = (int, int, int, int, (bytes, NoneType), (bytes, NoneType))
        number, size, lines, kind, index, head = check_types(self._where, rows[0], *types)
        original = Original(ref, size, lines, kind == 1)
        return StoredRow(original, kind == JOINED, index, head, partial(self._fetch, number))

    def _fetch(self, number: int, start: int, stop: int) -> list[object]:
        """Return some chunks of an original; the first is in its row."""
        head = self._rows(HEAD, (number,)) if not start else []
        rest = self._rows(CHUNKS, (number << SHIFT | max(1, start), number << SHIFT | stop))
        return [data for (data,) in (*head, *rest)]

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._file.reading() as db:
            return db.execute(query, values).fetchall()

    def keep(self, folds: Iterable[Fold]) -> None:
        now = int(self._clock())
        rows = [(self._tenant, fold.key, slot_of(fold), write_fold(fold), now) for fold in folds]
        with self._file.writing() as db:
            db.executemany(KEEP, rows)
            db.execute(NEWER, (self._tenant,))

    def forget(self, folds: Iterable[Fold]) -> None:
        rows = [(self._tenant, fold.key, slot_of(fold)) for fold in folds]
        with self._file.writing() as db:
            db.executemany("DELETE FROM folds WHERE tenant = ? AND key = ? AND slot = ?", rows)
            db.execute(NEWER, (self._tenant,))

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        where = self._where
        rows = [
            check_types(where, row, str, str, int, str)
            for row in self._rows(FIND, (json.dumps(list(keys)), self._tenant))
        ]
        now = int(self._clock())
        if stale := sorted({key for _, _, seen, key in rows if seen < now - DAY}):
            with self._file.writing() as db:
                seen_now = ((now, self._tenant, key) for key in stale)
                db.executemany("UPDATE folds SET seen = ? WHERE tenant = ? AND key = ?", seen_now)
        found = [read_fold(slot, fold, where) for slot, fold, *_ in rows]
        if any(fold.key != key for fold, (*_, key) in zip(found, rows, strict=True)):
            raise damaged(where)
        return found

    def record(self, conversation: str, row: str) -> None:
        values = (self._tenant, escape_name(conversation), write_record(conversation, row))
        with self._file.writing(alone=True) as db:
            db.execute("INSERT INTO records (tenant, conversation, row) VALUES (?, ?, ?)", values)

    def recorded(self, conversation: str) -> list[str]:
        query = "SELECT row FROM records WHERE tenant = ? AND conversation = ? ORDER BY id"
        rows = self._rows(query, (self._tenant, escape_name(conversation)))
        return [read_record(conversation, row, self._where) for (row,) in rows]

    def conversations(self) -> list[str]:
        query = "SELECT DISTINCT conversation FROM records WHERE tenant = ?"
        return sorted(unescape_name(name, self._where) for (name,) in self._rows(query, (self._tenant,)))

    def tenants(self) -> list[str]:
        tables = ("originals", "folds", "records")
        names = self._rows(" UNION ".join(f"SELECT DISTINCT tenant FROM {table}" for table in tables), ())
        return sorted(unescape_name(name, self._file.name) for (name,) in names)

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        name = escape_name(conversation)
        values = [(self._tenant, name, write_record(conversation, row), write_old_record(row)) for row in rows]
        with self._file.writing() as db:
            db.executemany(ERASE, values)

    def kept(self) -> Iterator[StoredOriginal]:
        query = "SELECT ref, stored, at, binary FROM originals WHERE tenant = ? AND ref IS NOT NULL ORDER BY at DESC"
        rows = self._rows(query, (self._tenant,))
        typed = (check_types(self._where, row, str, int, int, int) for row in rows)
        return (StoredOriginal(ref, stored, at, kind == JOINED) for ref, stored, at, kind in typed)

    def standing(self, since: int) -> Iterator[Fold]:
        query = "SELECT slot, fold FROM folds WHERE tenant = ? AND seen >= ? ORDER BY id"
        rows = self._rows(query, (self._tenant, since))
        return (read_fold(slot, fold, self._where) for slot, fold in rows)

    def expire(self, before: int) -> int:
        with self._file.writing() as db:
            gone = db.execute("DELETE FROM folds WHERE tenant = ? AND seen < ?", (self._tenant, before)).rowcount
            if gone:
                db.execute(NEWER, (self._tenant,))
        return gone

    def drop(self, refs: Iterable[str], before: int) -> int:
        """Remove also streams that broke off more than a day ago."""
        wanted = [check_ref(ref) for ref in refs]
        query = "SELECT id FROM originals WHERE tenant = ? AND at < ? AND ref"
        gone = 0
        with self._file.writing() as db:
            _remove(db, db.execute(f"{query} IS NULL", (self._tenant, int(self._clock()) - DAY)).fetchall())
        for start in range(0, len(wanted), 100):
            some = json.dumps(wanted[start : start + 100])
            with self._file.writing() as db:
                found = f"{query} IN (SELECT value FROM json_each(?))"
                gone += _remove(db, db.execute(found, (self._tenant, before, some)).fetchall())
        self._shrink()
        return gone

    def _shrink(self) -> None:
        """Give free pages back to the disk, some at a time, so that others can write in between."""
        before = -1
        while True:
            with self._file.reading() as db:
                free = db.execute("PRAGMA freelist_count").fetchone()[0]
                if free in (0, before):
                    return
                db.executescript("PRAGMA incremental_vacuum(2000)")  # execute would take one page
            before = free


def _remove(db: sqlite3.Connection, numbers: list[tuple[int]]) -> int:
    db.executemany("DELETE FROM chunks WHERE id >= ? AND id < ?", ((n << SHIFT, n + 1 << SHIFT) for (n,) in numbers))
    db.executemany("DELETE FROM originals WHERE id = ?", numbers)
    return len(numbers)
