"""Which blocks of an original may hold a word: an index beside a store in SQLite, filled by those who search.

Law: it only ever spares a look. What it does not know is looked through, and what it tells is checked: without it, or
with one that is damaged, the same lines are found. It holds no text, only which three letters in a row occur in a
block; only its owner can read it, and a tenant is told of its own blocks only.
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
from yohaku.recall.blocks import LONGEST, blocks
from yohaku.stores import Store, StoredOriginal
from yohaku.stores.chunks import CHUNK
from yohaku.stores.memory import MemoryStore

MOST = 512 << 20
"""Bytes, as stored, of the originals that are known: the newest. The index takes about a third of that."""
CLAUSES = 60
"""Of a question at most: more leave nothing else out."""
ENDINGS = 400
"""Ways to go on from one letter or two, of a question at most: with more of them nearly every block has one."""
BATCH = 1.0
"""Seconds of filling between two commits."""

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
VERSION = 1 << 24 | CHUNK
"""With the size of a chunk: blocks are made of those in the store."""
MARK = int.from_bytes(b"yhkw", "big")
"""That a file is an index of ours; nothing else is ever removed."""

FIND = """
SELECT originals.ref, blocks.line FROM words JOIN blocks ON blocks.id = words.rowid
JOIN originals ON originals.id = blocks.original WHERE words MATCH ? AND originals.tenant = ? LIMIT ?
"""
_LETTERS = bytes(byte if byte > 127 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256)).lower()


class IndexedBlocks(NamedTuple):
    """What an index knows of some words."""

    rest: dict[str, int | None]
    """The line from which on an original must be looked through; none where all of it is known. By ref."""
    blocks: dict[str, list[int]]
    """The first lines of the known blocks that may hold the words. By ref."""


def ask(store: Store, words: Iterable[str]) -> IndexedBlocks | None:
    """None where there is no index, or it cannot tell anything of these words."""
    try:
        with _opened(store, make=False) as (db, tenant):
            rows = _find(db, tenant, list(_wanted(db, words))[:CLAUSES])
            if rows is None:
                return None
            found: dict[str, list[int]] = {}
            for ref, line in rows:
                found.setdefault(ref, []).append(line)
            return IndexedBlocks(dict(db.execute("SELECT ref, line FROM originals WHERE tenant = ?", (tenant,))), found)
    except (_NoIndex, sqlite3.Error, OSError):
        return None


def fill(store: Store, seconds: float, stop: Callable[[], bool] = lambda: False) -> bool:
    """Learn what was put since, the newest first; whether all is known now. Where it cannot be kept, nothing is."""
    end = time.monotonic() + seconds
    try:
        with _opened(store, make=True) as (db, tenant):
            wanted = list(_newest(store.kept()))
            _forget(db, tenant, set(wanted))
            rows = db.execute("SELECT ref FROM originals WHERE tenant = ? AND NOT open", (tenant,))
            known = {ref for (ref,) in rows}
            missing = (ref for ref in wanted if ref not in known)
            return _Filling(db, tenant, store, lambda: time.monotonic() > end or stop()).go(missing)
    except (_NoIndex, sqlite3.Error, OSError, StoreFailed):
        return False


class _NoIndex(Exception):
    """There is none, and none can be made."""


class _Filling:
    def __init__(self, db: sqlite3.Connection, tenant: str, store: Store, late: Callable[[], bool]) -> None:
        self._db, self._tenant, self._store, self._late = db, tenant, store, late

    def go(self, refs: Iterator[str]) -> bool:
        """As far as there is time, in short transactions."""
        ref = next(refs, None)
        while ref is not None and not self._late():
            end = time.monotonic() + BATCH
            with _writing(self._db):
                while ref is not None and time.monotonic() < end and not self._late():
                    ref = next(refs, None) if self._learn(ref, end) else ref
        return ref is None

    def _learn(self, ref: str, end: float) -> bool:
        """Whether it is done with: known to its end, or to where a line is too long for a block."""
        number, line = self._begun(ref)
        if line is None:
            return True
        try:
            original, pieces = self._store.open(ref, line)
            for first, block in () if original.binary else blocks(pieces):
                if len(block) > LONGEST and not block.endswith(b"\n"):
                    return self._note(number, first, done=True)
                self._add(number, first, block)
                line = first + block.count(b"\n")
                last = line >= original.lines or not block.endswith(b"\n")
                if not last and (time.monotonic() > end or self._late()):
                    return self._note(number, line, done=False)
        except (UnknownRef, StoreFailed):  # collected in the meantime, or damaged: who looks through it is told
            return self._note(number, line, done=True)
        return self._note(number, None, done=True)

    def _begun(self, ref: str) -> tuple[int, int | None]:
        """Its number, and where to go on; another process may have been here since."""
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
        if each.joined:  # what it is made of is there by itself
            continue
        size += each.stored
        if size > MOST:
            return
        yield each.ref


def _forget(db: sqlite3.Connection, tenant: str, wanted: set[str]) -> None:
    """What was collected or is too old. Its letters go when they are more than those of others: all begins anew."""
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
    """Its words, each once, since no question reaches across a blank or a sign of ASCII.

    Two blanks at the end: so three letters in a row begin with each one or two.
    """
    return _folded(b" ".join(set(block.translate(_LETTERS).split())) + b"  ")


def _folded(data: bytes) -> str:
    """At least all that differs in case only, by whatever engine, is the same here."""
    return data.decode("utf-8", "replace").casefold()


def _find(db: sqlite3.Connection, tenant: str, wanted: list[list[str]]) -> list[tuple[str, int]] | None:
    """None where that is most of what there is: who goes through all of it has enough as soon."""
    if not wanted or not all(wanted):
        return [] if wanted else None
    most = db.execute("SELECT count(*) FROM blocks").fetchone()[0] // 2 + 1
    query = " AND ".join(f"({' OR '.join(clause)})" for clause in wanted)
    rows = db.execute(FIND, (query, tenant, most)).fetchall()
    return rows if len(rows) < most else None


def _wanted(db: sqlite3.Connection, words: Iterable[str]) -> Iterator[list[str]]:
    """What a block with all the words has: of each of these one."""
    for word in words:
        for part in word.encode("utf-8", "surrogatepass").translate(_LETTERS).split():
            said = _folded(part)
            if len(said) > 2:
                yield from ([f'"{said[at : at + 3]}"'] for at in range(len(said) - 2))
            elif len(endings := _endings(db, said)) <= ENDINGS:
                yield endings


def _endings(db: sqlite3.Connection, start: str) -> list[str]:
    query = "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?"
    return [f'"{term}"' for (term,) in db.execute(query, (start, start + "\U0010ffff", ENDINGS + 1))]


def place(store: Store) -> tuple[Path, str] | None:
    """The file of the index, and the tenant; none for a store that is no file."""
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
def _opened(store: Store, *, make: bool) -> Iterator[tuple[sqlite3.Connection, str]]:
    found = place(store)
    if found is None or not (make or found[0].exists()):
        raise _NoIndex
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
        raise _NoIndex  # the next one makes it anew
    db.execute("PRAGMA auto_vacuum = FULL")
    db.execute("PRAGMA journal_mode = WAL")
    with _writing(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {MARK}")
        db.execute(f"PRAGMA user_version = {VERSION}")


def _remove(path: Path) -> None:
    """If it is one of ours, by what stands at the beginning of the file."""
    with suppress(OSError):
        with path.open("rb") as file:
            ours = file.read(72)[68:] == MARK.to_bytes(4, "big")
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
