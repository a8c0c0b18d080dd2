"""Store in a PostgreSQL database, for many machines.

Law: what belongs together is one transaction, and every transaction can be repeated, so a broken connection is replaced
once, silently. Tables are created on first use; their names begin with `yohaku_`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import islice
from types import NoneType
from typing import Any, TypeAlias, TypeVar

from yohaku.core.errors import BadSetting, StoreFailed
from yohaku.core.folds import Fold
from yohaku.stores import (
    DAY,
    HOUR,
    Original,
    Source,
    StoredOriginal,
    check_ref,
    joined,
    redact,
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
from yohaku.stores.format import FORMAT, is_older
from yohaku.stores.integrity import check_types, seal
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

try:
    import psycopg
except ImportError:
    raise BadSetting(
        "the client for PostgreSQL is not installed: pip install 'yohaku[postgres]'", "no_client"
    ) from None

T = TypeVar("T")
Cursor: TypeAlias = "psycopg.Cursor[tuple[Any, ...]]"

SCHEMA = """
CREATE TABLE IF NOT EXISTS yohaku_originals (
    id bigserial PRIMARY KEY, tenant text NOT NULL, ref text, at bigint NOT NULL, size bigint, lines bigint,
    is_binary boolean, stored bigint, marks bytea, head bytea, joined boolean NOT NULL DEFAULT false,
    UNIQUE (tenant, ref));
CREATE TABLE IF NOT EXISTS yohaku_chunks (
    original bigint NOT NULL REFERENCES yohaku_originals ON DELETE CASCADE, number integer NOT NULL,
    data bytea NOT NULL, PRIMARY KEY (original, number));
CREATE TABLE IF NOT EXISTS yohaku_folds (
    id bigserial PRIMARY KEY, tenant text NOT NULL, key text NOT NULL, slot text NOT NULL, fold text NOT NULL,
    seen bigint NOT NULL, UNIQUE (tenant, key, slot));
CREATE TABLE IF NOT EXISTS yohaku_versions (tenant text PRIMARY KEY, number bigint NOT NULL);
CREATE TABLE IF NOT EXISTS yohaku_records (
    id bigserial PRIMARY KEY, tenant text NOT NULL, conversation text NOT NULL, written text NOT NULL);
CREATE INDEX IF NOT EXISTS yohaku_records_of ON yohaku_records (tenant, conversation);
ALTER TABLE yohaku_originals ALTER head SET STORAGE EXTERNAL;
ALTER TABLE yohaku_chunks ALTER data SET STORAGE EXTERNAL;
"""
COLUMN = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('yohaku_originals') AND attname = 'joined'"
"""Missing in tables that the first version made."""
# An original has no ref until all of it arrived. Its first chunk is in the same row, so that most need one row.

PUT = """
INSERT INTO yohaku_originals (tenant, ref, at, size, lines, is_binary, stored, head)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (tenant, ref) DO UPDATE SET at = excluded.at WHERE yohaku_originals.at < excluded.at - 3600
"""
JOIN = """
INSERT INTO yohaku_originals (tenant, ref, at, size, lines, is_binary, stored, head, joined)
VALUES (%s, %s, %s, %s, %s, false, %s, %s, true)
ON CONFLICT (tenant, ref) DO UPDATE SET at = excluded.at WHERE yohaku_originals.at < excluded.at - 3600
"""
HEAD = "SELECT head FROM yohaku_originals WHERE id = %s"
PUT_AGAIN = "UPDATE yohaku_originals SET at = %s WHERE tenant = %s AND ref = %s"
REMOVE = "DELETE FROM yohaku_originals WHERE id = %s"
OPEN = """
SELECT id, size, lines, is_binary, marks, CASE WHEN marks IS NULL OR %s = 0 THEN head END, joined
FROM yohaku_originals WHERE tenant = %s AND ref = %s
"""
KEEP = """
INSERT INTO yohaku_folds (tenant, key, slot, fold, seen) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (tenant, key, slot) DO UPDATE SET fold = excluded.fold, seen = excluded.seen
"""
NEWER = """
INSERT INTO yohaku_versions VALUES (%s, 1) ON CONFLICT (tenant) DO UPDATE SET number = yohaku_versions.number + 1
"""
ERASE = """
DELETE FROM yohaku_records
WHERE id = (SELECT min(id) FROM yohaku_records WHERE tenant = %s AND conversation = %s AND written IN (%s, %s))
"""
FIND = """
SELECT slot, fold, seen, f.key FROM unnest(%s::text[]) WITH ORDINALITY AS wanted (key, place)
JOIN yohaku_folds f ON f.tenant = %s AND f.key = wanted.key ORDER BY place, f.id
"""
CHUNKS = "SELECT data FROM yohaku_chunks WHERE original = %s AND number >= %s AND number < %s ORDER BY number"


class PostgresStore(RowStore):
    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self._server = _Server(url)
        self._where = self._server.where
        self._clock = clock
        self._tenant = ""

    @classmethod
    def at(cls, url: str) -> PostgresStore:
        return cls(url)

    def of(self, tenant: str) -> PostgresStore:
        other = copy(self)
        other._tenant = escape_name(tenant)
        return other

    def close(self) -> None:
        self._server.close()

    @property
    def version(self) -> int:
        rows = self._server.rows("SELECT number FROM yohaku_versions WHERE tenant = %s", (self._tenant,))
        return int(rows[0][0]) if rows else 0

    def put(self, ref: str, original: str | bytes) -> None:
        data = encode(original)
        if len(data) > CHUNK_BYTES:
            self.put_all([(ref, original)])
            return
        # A lookup before would cost as much as the put; and one statement needs no transaction.
        row = self._row(check_ref(ref), data, isinstance(original, bytes), int(self._clock()))
        self._server.write(lambda db: db.execute(PUT, row), alone=True)

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        now = int(self._clock())
        given = [(check_ref(ref), original) for ref, original in originals]
        query = "SELECT ref, at FROM yohaku_originals WHERE tenant = %s AND ref = ANY(%s)"
        known = dict(self._server.rows(query, (self._tenant, [ref for ref, _ in given])))
        small: dict[str, tuple[Any, ...]] = {}
        for ref, original in given:
            if known.get(ref, 0) >= now - HOUR:
                continue
            data = encode(original)
            if len(data) > CHUNK_BYTES:
                self._put_chunks(Cutter([data], binary=isinstance(original, bytes), ref=ref))
            elif ref not in small:
                small[ref] = self._row(ref, data, isinstance(original, bytes), now)
        if small:
            rows = [small[ref] for ref in sorted(small)]  # one order for all writers, so that there is no deadlock
            self._server.write(lambda db: db.executemany(PUT, rows))

    def _row(self, ref: str, data: bytes, binary: bool, now: int) -> tuple[Any, ...]:
        found = Original(ref, len(data), count_lines(data), binary)
        packed = seal(pack(data), found)
        return (self._tenant, ref, now, *found[1:], len(packed), packed)

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        pairs = joined.flatten_parts(self, parts)
        self.put_all(pairs)
        found, packed = joined.make_manifest(check_ref(ref), pairs)
        row = (self._tenant, ref, int(self._clock()), found.size, found.lines, len(packed), packed)
        self._server.write(lambda db: db.execute(JOIN, row), alone=True)

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        return self._put_chunks(Cutter(source, binary=binary))

    def _put_chunks(self, cutter: Cutter) -> Original:
        chunks = cutter.packed()
        head = next(chunks)
        row = (self._tenant, int(self._clock()), head)
        query = "INSERT INTO yohaku_originals (tenant, at, head) VALUES (%s, %s, %s) RETURNING id"
        number = int(self._server.write(lambda db: db.execute(query, row).fetchall())[0][0])
        stored, at = len(head), 1
        try:
            while batch := list(islice(chunks, CHUNKS_PER_WRITE)):
                self._server.write(partial(_copy, number, at, batch))
                stored, at = stored + sum(map(len, batch)), at + len(batch)
        except BaseException:
            with suppress(StoreFailed):
                self._server.write(lambda db: db.execute(REMOVE, (number,)))
            raise
        found = cutter.original
        self._server.write(lambda db: self._publish(db, number, found, stored, seal(cutter.index, found)))
        return found

    def _publish(self, db: Cursor, number: int, found: Original, stored: int, index: bytes) -> None:
        now = int(self._clock())
        query = """UPDATE yohaku_originals SET ref = %s, at = %s, size = %s, lines = %s, is_binary = %s, stored = %s,
            marks = %s WHERE id = %s"""
        facts = (found.ref, now, found.size, found.lines, found.binary, stored, index, number)
        while not db.execute(PUT_AGAIN, (now, self._tenant, found.ref)).rowcount:
            try:
                with db.connection.transaction():
                    db.execute(query, facts)
                    return
            except psycopg.errors.UniqueViolation:
                continue  # another process published it just now
        db.execute(REMOVE, (number,))

    def _find(self, ref: str, line: int = 0) -> StoredRow | None:
        """Find an original; without its first chunk if it has others and a later line is wanted."""
        rows = self._server.rows(OPEN, (min(line, 1), self._tenant, check_ref(ref)))
        if not rows:
            return None
        types = (int, int, int, bool, (bytes, NoneType), (bytes, NoneType), bool)
        number, size, lines, binary, index, head, joins = check_types(self._where, rows[0], *types)
        return StoredRow(Original(ref, size, lines, binary), joins, index, head, partial(self._fetch, number))

    def _fetch(self, number: int, start: int, stop: int) -> list[object]:
        """Return some chunks of an original; the first is in its row."""
        head = self._server.rows(HEAD, (number,)) if not start else []
        rest = self._server.rows(CHUNKS, (number, max(1, start), stop)) if stop > 1 else []
        return [data for (data,) in (*head, *rest)]

    def keep(self, folds: Iterable[Fold]) -> None:
        now = int(self._clock())
        rows = [(self._tenant, fold.key, slot_of(fold), write_fold(fold), now) for fold in folds]

        def work(db: Cursor) -> None:
            db.execute(NEWER, (self._tenant,))  # first: this lock makes the writers of a tenant take turns
            db.executemany(KEEP, rows)

        self._server.write(work)

    def forget(self, folds: Iterable[Fold]) -> None:
        rows = [(self._tenant, fold.key, slot_of(fold)) for fold in folds]

        def work(db: Cursor) -> None:
            db.execute(NEWER, (self._tenant,))
            db.executemany("DELETE FROM yohaku_folds WHERE tenant = %s AND key = %s AND slot = %s", rows)

        self._server.write(work)

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        rows = self._server.rows(FIND, (list(keys), self._tenant))
        now = int(self._clock())
        if stale := sorted({key for _, _, seen, key in rows if seen < now - DAY}):
            query = "UPDATE yohaku_folds SET seen = %s WHERE tenant = %s AND key = ANY(%s)"
            self._server.write(lambda db: db.execute(query, (now, self._tenant, stale)))
        found = [read_fold(slot, fold, self._where) for slot, fold, *_ in rows]
        if any(fold.key != key for fold, (*_, key) in zip(found, rows, strict=True)):
            raise damaged(self._where)
        return found

    def record(self, conversation: str, row: str) -> None:
        query = "INSERT INTO yohaku_records (tenant, conversation, written) VALUES (%s, %s, %s)"
        values = (self._tenant, escape_name(conversation), write_record(conversation, row))
        self._server.write(lambda db: db.execute(query, values))

    def recorded(self, conversation: str) -> list[str]:
        query = "SELECT written FROM yohaku_records WHERE tenant = %s AND conversation = %s ORDER BY id"
        rows = self._server.rows(query, (self._tenant, escape_name(conversation)))
        return [read_record(conversation, row, self._where) for (row,) in rows]

    def conversations(self) -> list[str]:
        query = "SELECT DISTINCT conversation FROM yohaku_records WHERE tenant = %s"
        rows = self._server.rows(query, (self._tenant,))
        return sorted(unescape_name(name, self._where) for (name,) in rows)

    def tenants(self) -> list[str]:
        tables = ("yohaku_originals", "yohaku_folds", "yohaku_records")
        names = self._server.rows(" UNION ".join(f"SELECT DISTINCT tenant FROM {table}" for table in tables), ())
        return sorted(unescape_name(name, self._server.where) for (name,) in names)

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        name = escape_name(conversation)
        values = [(self._tenant, name, write_record(conversation, row), write_old_record(row)) for row in rows]
        self._server.write(lambda db: db.executemany(ERASE, values))

    def kept(self) -> Iterator[StoredOriginal]:
        query = """SELECT ref, stored, at, joined FROM yohaku_originals WHERE tenant = %s AND ref IS NOT NULL
            ORDER BY at DESC"""
        rows = self._server.rows(query, (self._tenant,))
        return (StoredOriginal(*check_types(self._where, row, str, int, int, bool)) for row in rows)

    def standing(self, since: int) -> Iterator[Fold]:
        query = "SELECT slot, fold FROM yohaku_folds WHERE tenant = %s AND seen >= %s ORDER BY id"
        rows = self._server.rows(query, (self._tenant, since))
        return (read_fold(slot, fold, self._where) for slot, fold in rows)

    def expire(self, before: int) -> int:
        def work(db: Cursor) -> int:
            gone = db.execute(
                "DELETE FROM yohaku_folds WHERE tenant = %s AND seen < %s", (self._tenant, before)
            ).rowcount
            if gone:
                db.execute(NEWER, (self._tenant,))
            return gone

        return self._server.write(work)

    def drop(self, refs: Iterable[str], before: int) -> int:
        """Remove also streams that broke off more than a day ago."""
        late = (self._tenant, int(self._clock()) - DAY)
        query = "DELETE FROM yohaku_originals WHERE tenant = %s AND ref IS NULL AND at < %s"
        self._server.write(lambda db: db.execute(query, late))
        query = "DELETE FROM yohaku_originals WHERE tenant = %s AND ref = ANY(%s) AND at < %s"
        wanted = (self._tenant, sorted(map(check_ref, refs)), before)
        return self._server.write(lambda db: db.execute(query, wanted).rowcount)


def _prepare(db: psycopg.Connection[tuple[Any, ...]], where: str) -> None:
    """Create the tables, or bring those of an older format up to this one."""
    if db.execute("SELECT to_regclass('yohaku_records')").fetchall() == [(None,)]:
        db.execute(SCHEMA)
    elif not db.execute(COLUMN).fetchall():
        db.execute("ALTER TABLE yohaku_originals ADD COLUMN joined boolean NOT NULL DEFAULT false")
    number = 0
    if db.execute("SELECT to_regclass('yohaku_format')").fetchall() != [(None,)]:
        number = max((row[0] for row in db.execute("SELECT number FROM yohaku_format")), default=0)
    if is_older(number, where):
        with suppress(psycopg.Error), db.transaction():  # read-only: an older format can be used as it is
            db.execute("CREATE TABLE IF NOT EXISTS yohaku_format (number integer NOT NULL)")
            db.execute("DELETE FROM yohaku_format")
            db.execute("INSERT INTO yohaku_format VALUES (%s)", (FORMAT,))


def _copy(number: int, at: int, batch: list[bytes], db: Cursor) -> None:
    with db.copy("COPY yohaku_chunks FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "int4", "bytea"])
        for place, chunk in enumerate(batch, at):
            copy.write_row((number, place, chunk))


class _Server:
    """One connection a process, shared by its threads; its errors become `StoreFailed`."""

    def __init__(self, url: str) -> None:
        self.where = redact(url)
        self._url = url
        self._lock = threading.RLock()
        self._process = -1
        self._db: psycopg.Connection[tuple[Any, ...]] | None = None

    def rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._do(lambda db: db.cursor(binary=True).execute(query, values).fetchall())

    def write(self, work: Callable[[Cursor], T], *, alone: bool = False) -> T:
        """Run a transaction; `alone` for a single statement, which needs none."""

        def transaction(db: psycopg.Connection[tuple[Any, ...]]) -> T:
            if alone:
                return work(db.cursor(binary=True))
            with db.transaction():
                return work(db.cursor(binary=True))

        return self._do(transaction)

    def _do(self, work: Callable[[psycopg.Connection[tuple[Any, ...]]], T]) -> T:
        with self._lock:
            try:
                fresh = self._db is None
                try:
                    return work(self._connection())
                except psycopg.errors.DeadlockDetected:
                    return work(self._connection())
                except psycopg.OperationalError:
                    if fresh or self._db is None or not self._db.closed:
                        raise
                    return work(self._connection())  # the server was restarted, or an idle connection was cut
            except psycopg.Error as why:
                reason = (str(why).strip() or type(why).__name__).splitlines()[0]
                remedy = "see that the server runs and has room left, or choose another store"
                raise StoreFailed(self.where, reason, remedy) from why

    def close(self) -> None:
        with self._lock:
            if self._db is not None and self._process == os.getpid():
                self._db.close()
            self._db = None

    def _connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._db is None or self._db.closed or self._process != os.getpid():
            db = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
            try:
                with db.transaction():
                    db.execute("SELECT pg_advisory_xact_lock(hashtext('yohaku'))")  # against a second creator
                    _prepare(db, self.where)
            except BaseException:
                db.close()
                raise
            self._db, self._process = db, os.getpid()
        return self._db
