"""Trigram index beside a SQLite store, filled by searches: the blocks of an original that may hold a word.

Law: it changes the speed of a search, never its result. Originals it does not know are searched in full, and blocks it
returns are searched again; so the same lines are found without an index or with a damaged one. It holds no text, only
the trigrams of each block. Only its owner can read the file, and a tenant finds its own blocks only.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from yohaku.core.errors import StoreFailed, UnknownRef
from yohaku.recall.blocks import MAX_LINE_BYTES, blocks
from yohaku.stores import Store, StoredOriginal
from yohaku.stores.chunks import CHUNK_BYTES
from yohaku.stores.memory import MemoryStore

MAX_INDEXED_BYTES = 512 << 20
"""Stored bytes of the originals that are indexed, the newest first. The index takes about a third of that."""
MAX_CLAUSES = 60
"""In one query; more would exclude nothing else."""
MAX_ENDINGS = 400
"""Trigrams that begin with a word of one letter or two; with more of them nearly every block has one."""
SECONDS_PER_COMMIT = 1.0


SCHEMA = """
CREATE TABLE originals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, ref TEXT NOT NULL, line INTEGER, open INTEGER NOT NULL,
    UNIQUE (tenant, ref));
CREATE TABLE blocks (id INTEGER PRIMARY KEY AUTOINCREMENT, original INTEGER NOT NULL, line INTEGER NOT NULL);
CREATE INDEX blocks_of ON blocks (original);
CREATE VIRTUAL TABLE words USING fts5 (
    letters, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'row');
"""
VERSION = 1 << 24 | CHUNK_BYTES
"""Includes the size of a chunk, because blocks are made of chunks."""
APPLICATION_ID = int.from_bytes(b"yhkw", "big")
"""Marks a file as our index; no other file is ever removed."""

FIND = """
SELECT originals.ref, blocks.line FROM words JOIN blocks ON blocks.id = words.rowid
JOIN originals ON originals.id = blocks.original WHERE words MATCH ? AND originals.tenant = ? LIMIT ?
"""
_LETTERS = bytes(byte if byte > 127 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256)).lower()


class IndexedBlocks(NamedTuple):
    """Answer of the index for some words."""

    rest: dict[str, int | None]
    """By ref: the line from which an original must be searched; None if all of it is indexed."""
    blocks: dict[str, list[int]]
    """By ref: the first lines of the indexed blocks that may hold the words."""


def look_up(store: Store, words: Iterable[str]) -> IndexedBlocks | None:
    """Return None if there is no index or it cannot narrow down these words."""
    try:
        with _open(store, make=False) as (db, tenant):
            rows = _find(db, tenant, list(_clauses(db, words))[:MAX_CLAUSES])
            if rows is None:
                return None
            found: dict[str, list[int]] = {}
            for ref, line in rows:
                found.setdefault(ref, []).append(line)
            return IndexedBlocks(dict(db.execute("SELECT ref, line FROM originals WHERE tenant = ?", (tenant,))), found)
    except (_IndexUnavailable, sqlite3.Error, OSError):
        return None


def fill(store: Store, seconds: float, stop: Callable[[], bool] = lambda: False) -> bool:
    """Index what was put since, the newest first. Return True if everything is indexed now."""
    end = time.monotonic() + seconds
    try:
        with _open(store, make=True) as (db, tenant):
            wanted = list(_newest(store.kept()))
            _forget_removed(db, tenant, set(wanted))
            rows = db.execute("SELECT ref FROM originals WHERE tenant = ? AND NOT open", (tenant,))
            known = {ref for (ref,) in rows}
            missing = (ref for ref in wanted if ref not in known)
            return _Filler(db, tenant, store, lambda: time.monotonic() > end or stop()).index_all(missing)
    except (_IndexUnavailable, sqlite3.Error, OSError, StoreFailed):
        return False


class _IndexUnavailable(Exception):
    """There is no index and none can be made."""


class _Filler:
    def __init__(self, db: sqlite3.Connection, tenant: str, store: Store, late: Callable[[], bool]) -> None:
        self._db, self._tenant, self._store, self._late = db, tenant, store, late

    def index_all(self, refs: Iterator[str]) -> bool:
        """Index until time runs out, in short transactions. Return True if all refs are done."""
        ref = next(refs, None)
        while ref is not None and not self._late():
            end = time.monotonic() + SECONDS_PER_COMMIT
            with _writing(self._db):
                while ref is not None and time.monotonic() < end and not self._late():
                    ref = next(refs, None) if self._index_one(ref, end) else ref
        return ref is None

    def _index_one(self, ref: str, end: float) -> bool:
        """Index one original. Return True at its end, or at a line too long for a block."""
        number, line = self._begun(ref)
        if line is None:
            return True
        try:
            original, pieces = self._store.open(ref, line)
            for first, block in () if original.binary else blocks(pieces):
                if len(block) > MAX_LINE_BYTES and not block.endswith(b"\n"):
                    return self._note(number, first, done=True)
                self._add(number, first, block)
                line = first + block.count(b"\n")
                last = line >= original.lines or not block.endswith(b"\n")
                if not last and (time.monotonic() > end or self._late()):
                    return self._note(number, line, done=False)
        except (UnknownRef, StoreFailed):  # removed meanwhile, or damaged: the search itself reports that
            return self._note(number, line, done=True)
        return self._note(number, None, done=True)

    def _begun(self, ref: str) -> tuple[int, int | None]:
        """Return its number and the line to go on from; another process may have indexed it meanwhile."""
        values = (self._tenant, ref)
        self._db.execute("INSERT OR IGNORE INTO originals (tenant, ref, line, open) VALUES (?, ?, 0, 1)", values)
        query = "SELECT id, CASE WHEN open THEN line END FROM originals WHERE tenant = ? AND ref = ?"
        number, line = self._db.execute(query, values).fetchone()
        return number, line

    def _add(self, number: int, line: int, block: bytes) -> None:
        added = self._db.execute("INSERT INTO blocks (original, line) VALUES (?, ?)", (number, line))
        self._db.execute("INSERT INTO words (rowid, letters) VALUES (?, ?)", (added.lastrowid, _letters(block)))

    def _note(self, number: int, line: int | None, *, done: bool) -> bool:
        self._db.execute("UPDATE originals SET line = ?, open = ? WHERE id = ?", (line, not done, number))
        return done


def _newest(kept: Iterable[StoredOriginal]) -> Iterator[str]:
    size = 0
    for each in kept:
        if each.joined:  # its parts are indexed on their own
            continue
        size += each.stored
        if size > MAX_INDEXED_BYTES:
            return
        yield each.ref


def _forget_removed(db: sqlite3.Connection, tenant: str, wanted: set[str]) -> None:
    """Remove originals that are gone or too old. Their trigrams stay until they are most; then all is cleared."""
    rows = db.execute("SELECT ref, id FROM originals WHERE tenant = ?", (tenant,)).fetchall()
    gone = [(number,) for ref, number in rows if ref not in wanted]
    if not gone:
        return
    with _writing(db):
        db.executemany("DELETE FROM blocks WHERE original = ?", gone)
        db.executemany("DELETE FROM originals WHERE id = ?", gone)
        ever = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'blocks'").fetchone()
        live = db.execute("SELECT count(*) FROM blocks").fetchone()[0]
        if ever and ever[0] > 2 * live:
            db.execute("INSERT INTO words (words) VALUES ('delete-all')")
            for table in ("blocks", "originals", "sqlite_sequence"):
                db.execute(f"DELETE FROM {table}")


def _letters(block: bytes) -> str:
    """Return the distinct words of a block: no query reaches across a blank or ASCII punctuation.

    The two blanks at the end make a trigram for every word of one letter or two.
    """
    return _casefold(b" ".join(set(block.translate(_LETTERS).split())) + b"  ")


def _casefold(data: bytes) -> str:
    """Fold case at least as far as either regex engine does."""
    return data.decode("utf-8", "replace").casefold()


def _find(db: sqlite3.Connection, tenant: str, wanted: list[list[str]]) -> list[tuple[str, int]] | None:
    """Return None if more than half of all blocks match: then a full search is as fast."""
    if not wanted or not all(wanted):
        return [] if wanted else None
    most = db.execute("SELECT count(*) FROM blocks").fetchone()[0] // 2 + 1
    query = " AND ".join(f"({' OR '.join(clause)})" for clause in wanted)
    rows = db.execute(FIND, (query, tenant, most)).fetchall()
    return rows if len(rows) < most else None


def _clauses(db: sqlite3.Connection, words: Iterable[str]) -> Iterator[list[str]]:
    """Yield the clauses of the query: a block with all the words has a trigram of each."""
    for given in words:
        for part in given.encode("utf-8", "surrogatepass").translate(_LETTERS).split():
            word = _casefold(part)
            if len(word) > 2:
                yield from ([f'"{word[at : at + 3]}"'] for at in range(len(word) - 2))
            elif len(endings := _endings(db, word)) <= MAX_ENDINGS:
                yield endings


def _endings(db: sqlite3.Connection, start: str) -> list[str]:
    query = "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?"
    return [f'"{term}"' for (term,) in db.execute(query, (start, start + "\U0010ffff", MAX_ENDINGS + 1))]


def index_path(store: Store) -> tuple[Path, str] | None:
    """Return the file of the index and the tenant; None unless the store is a SQLite file."""
    if isinstance(store, MemoryStore):
        return None
    from yohaku.stores.fallback import FallbackStore
    from yohaku.stores.sqlite import SQLiteStore

    while isinstance(store, FallbackStore):
        store = store._store
    if not isinstance(store, SQLiteStore):
        return None
    path = Path(store._file.name)
    return path.with_name(path.name + ".words"), store._tenant


@contextmanager
def _open(store: Store, *, make: bool) -> Iterator[tuple[sqlite3.Connection, str]]:
    found = index_path(store)
    if found is None or not (make or found[0].exists()):
        raise _IndexUnavailable
    path, tenant = found
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=0.1, isolation_level=None)
    try:
        _prepare(db, path)
        yield db, tenant
    except sqlite3.DatabaseError as why:
        if getattr(why, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            _remove(path)
        raise
    finally:
        db.close()


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        _remove(path)
        raise _IndexUnavailable  # the next search makes a new one
    db.execute("PRAGMA auto_vacuum = FULL")
    db.execute("PRAGMA journal_mode = WAL")
    with _writing(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")


def _remove(path: Path) -> None:
    """Remove the file if its header marks it as ours."""
    with suppress(OSError):
        with path.open("rb") as file:
            ours = file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm") if ours else ():
            path.with_name(name).unlink(missing_ok=True)


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
