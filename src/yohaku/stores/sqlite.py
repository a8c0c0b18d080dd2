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
from itertools import count, islice
from pathlib import Path
from typing import NoReturn

from yohaku.core.errors import StoreFailed, UnknownRef
from yohaku.core.folds import Fold
from yohaku.stores import (
    DAY,
    HOUR,
    OpenedOriginal,
    Original,
    Source,
    StoredBytes,
    StoredOriginal,
    check_ref,
    joined,
    sqlite_path,
)
from yohaku.stores.chunks import (
    CHUNK_BYTES,
    CHUNKS_PER_WRITE,
    MAX_CHUNKS_PER_READ,
    Cutter,
    count_lines,
    decode,
    encode,
    first_chunk,
    pack,
    read_marks,
    unpack,
)
from yohaku.stores.joined import JOINED
from yohaku.stores.rows import escape_name, read_fold, slot_of, unescape_name, write_fold
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
PARTS = "SELECT head FROM originals WHERE tenant = ? AND ref = ? AND binary = ?"
CHUNKS = "SELECT data FROM chunks WHERE id >= ? AND id < ? ORDER BY id"
KEEP = """
INSERT INTO folds (tenant, key, slot, fold, seen) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, key, slot) DO UPDATE SET fold = excluded.fold, seen = excluded.seen
"""
NEWER = "INSERT INTO versions VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET number = number + 1"
ERASE = """
DELETE FROM records
WHERE id = (SELECT id FROM records WHERE tenant = ? AND conversation = ? AND row = ? ORDER BY id LIMIT 1)
"""
FIND = """
SELECT slot, fold, seen, folds.key FROM json_each(?) AS wanted CROSS JOIN folds
ON folds.tenant = ? AND folds.key = wanted.value ORDER BY wanted.key, folds.id
"""


class SQLiteStore:
    def __init__(self, path: Path | str, *, timeout: float = 30.0, clock: Callable[[], float] = time.time) -> None:
        """`timeout`: seconds to wait for another program that locks the file."""
        self._file = SQLiteFile(Path(path), timeout)
        self._clock = clock
        self._tenant = ""

    @classmethod
    def at(cls, url: str) -> SQLiteStore:
        return cls(sqlite_path(url))

    def of(self, tenant: str) -> SQLiteStore:
        other = SQLiteStore.__new__(SQLiteStore)
        other._file, other._clock, other._tenant = self._file, self._clock, escape_name(tenant)
        return other

    def close(self) -> None:
        self._file.close()

    @property
    def version(self) -> int:
        with self._file.reading() as db:
            row = db.execute("SELECT number FROM versions WHERE tenant = ?", (self._tenant,)).fetchone()
        return row[0] if row else 0

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
            packed = pack(data)
            facts = (len(data), count_lines(data), isinstance(original, bytes), len(packed), packed)
            small.append((self._tenant, ref, now, *facts))
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

    def parts(self, ref: str) -> tuple[str, ...]:
        rows = self._rows(PARTS, (self._tenant, ref, JOINED))
        return tuple(share.ref for (head,) in rows for share in joined.read_shares(head, self._file.name))

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        return self._put_chunks(Cutter(source, binary=binary))

    def _touch(self, ref: str, now: int) -> bool:
        """Return True if it is there already, and note that it was put now, for garbage collection."""
        with self._file.reading() as db:
            row = db.execute(PUT_AT, (self._tenant, ref)).fetchone()
        if row and row[0] < now - HOUR:
            with self._file.writing(alone=True) as db:
                return bool(db.execute(PUT_AGAIN, (now, self._tenant, ref)).rowcount)
        return row is not None

    def _put_chunks(self, cutter: Cutter) -> Original:
        chunks = map(pack, cutter)
        head = next(chunks, pack(b""))
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
            facts = (found.ref, now, found.size, found.lines, found.binary, stored, cutter.marks, number)
            db.execute(PUBLISH, facts)
        return found

    def get(self, ref: str) -> str | bytes:
        original, pieces = self.open(ref)
        return decode(b"".join(piece.data for piece in pieces), original.binary)

    def about(self, ref: str) -> Original:
        return self.open(ref, 1).original

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        with self._file.reading() as db:
            row = db.execute(OPEN, (line, self._tenant, check_ref(ref))).fetchone()
        if row is None:
            raise UnknownRef(ref)
        number, size, lines, binary, marks, head = row
        found = Original(ref, size, lines, binary == 1)
        if binary == JOINED:
            return joined.open_joined(self, found, joined.read_shares(head, self._file.name), line)
        return OpenedOriginal(found, self._pieces(number, marks, head, line))

    def _pieces(self, number: int, marks: bytes | None, head: bytes | None, line: int) -> Iterator[StoredBytes]:
        where = self._file.name
        lines = read_marks(marks, where) if marks else [0]
        start = first_chunk(lines, line) if marks else 0
        if start == 0:
            if head is None:
                ((head,),) = self._rows("SELECT head FROM originals WHERE id = ?", (number,)) or self._raise_removed()
            yield StoredBytes(0, unpack(head, where))
            start = 1
        few = 1  # enough for a reader of some lines; doubled for a reader of all
        while start < len(lines):
            stop = min(start + few, len(lines))
            rows = self._rows(CHUNKS, (number << SHIFT | start, number << SHIFT | stop))
            if len(rows) != stop - start:
                self._raise_removed()
            for chunk, (data,) in enumerate(rows, start):
                yield StoredBytes(lines[chunk], unpack(data, where))
            start, few = stop, min(2 * few, MAX_CHUNKS_PER_READ)

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        with self._file.reading() as db:
            return db.execute(query, values).fetchall()

    def _raise_removed(self) -> NoReturn:
        raise StoreFailed(self._file.name, "the original was removed while it was being read", "fold anew")

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
        wanted = json.dumps(list(keys))
        with self._file.reading() as db:
            rows = db.execute(FIND, (wanted, self._tenant)).fetchall()
        now = int(self._clock())
        if stale := sorted({key for _, _, seen, key in rows if seen < now - DAY}):
            with self._file.writing() as db:
                seen_now = ((now, self._tenant, key) for key in stale)
                db.executemany("UPDATE folds SET seen = ? WHERE tenant = ? AND key = ?", seen_now)
        return [read_fold(slot, fold) for slot, fold, *_ in rows]

    def record(self, conversation: str, row: str) -> None:
        with self._file.writing(alone=True) as db:
            values = (self._tenant, escape_name(conversation), json.dumps(row))
            db.execute("INSERT INTO records (tenant, conversation, row) VALUES (?, ?, ?)", values)

    def recorded(self, conversation: str) -> list[str]:
        query = "SELECT row FROM records WHERE tenant = ? AND conversation = ? ORDER BY id"
        with self._file.reading() as db:
            return [json.loads(row) for (row,) in db.execute(query, (self._tenant, escape_name(conversation)))]

    def conversations(self) -> list[str]:
        query = "SELECT DISTINCT conversation FROM records WHERE tenant = ?"
        with self._file.reading() as db:
            return sorted(unescape_name(name) for (name,) in db.execute(query, (self._tenant,)))

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        values = [(self._tenant, escape_name(conversation), json.dumps(row)) for row in rows]
        with self._file.writing() as db:
            db.executemany(ERASE, values)

    def kept(self) -> Iterator[StoredOriginal]:
        query = "SELECT ref, stored, at, binary FROM originals WHERE tenant = ? AND ref IS NOT NULL ORDER BY at DESC"
        with self._file.reading() as db:
            rows = db.execute(query, (self._tenant,)).fetchall()
        return (StoredOriginal(ref, stored, at, kind == JOINED) for ref, stored, at, kind in rows)

    def standing(self, since: int) -> Iterator[Fold]:
        with self._file.reading() as db:
            query = "SELECT slot, fold FROM folds WHERE tenant = ? AND seen >= ? ORDER BY id"
            rows = db.execute(query, (self._tenant, since)).fetchall()
        return (read_fold(slot, fold) for slot, fold in rows)

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
