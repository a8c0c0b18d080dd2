"""The file of a SQLite store: creation, connections, transactions, and its errors as `StoreFailed`.

Law: only its owner can read it, a connection never crosses a fork, and every error is one of ours.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from yohaku.core.errors import StoreFailed
from yohaku.stores.chunks import damaged
from yohaku.stores.format import FORMAT, is_older

SCHEMA = """
CREATE TABLE originals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, ref TEXT, at INTEGER NOT NULL,
    size INTEGER, lines INTEGER, binary INTEGER, stored INTEGER, marks BLOB, head BLOB);
CREATE UNIQUE INDEX originals_ref ON originals (tenant, ref);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE folds (
    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL, slot TEXT NOT NULL, fold TEXT NOT NULL,
    seen INTEGER NOT NULL, UNIQUE (tenant, key, slot));
CREATE TABLE versions (tenant TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE records (id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, conversation TEXT NOT NULL, row TEXT);
CREATE INDEX records_of ON records (tenant, conversation);
"""
INHERITED_CONNECTIONS: list[sqlite3.Connection] = []
"""Connections of the parent process, kept open after a fork: closing them here would release its locks."""


class SQLiteFile:
    """One connection a process, shared by its threads."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.name = str(path)
        self._path = path
        self._timeout = timeout
        self._lock = threading.RLock()
        self._process = -1
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection()
            except (sqlite3.Error, OverflowError) as why:  # a number in a damaged row may be too big for a query
                raise _as_store_failed(self.name, why) from why

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[sqlite3.Connection]:
        """Open a transaction; `alone` for a single statement, which needs none."""
        with self.reading() as db:
            if alone:
                yield db
                return
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            if self._db is not None and self._process == os.getpid():
                self._db.close()
            self._db = None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None or self._process != os.getpid():
            if self._db is not None:
                INHERITED_CONNECTIONS.append(self._db)
            self._db, self._process = self._connect(), os.getpid()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        try:
            _create(self._path)
        except OSError as why:
            raise StoreFailed(self.name, why.strerror or str(why), REMEDY) from why
        db = self._open(self._path.absolute().as_uri())
        end = time.monotonic() + self._timeout
        while True:
            try:
                _prepare(db, self.name)
                return db
            except sqlite3.OperationalError as why:
                code = getattr(why, "sqlite_errorcode", 0) & 0xFF
                if code == sqlite3.SQLITE_CANTOPEN and _is_at_rest(self._path):
                    db.close()
                    return self._open(self._path.absolute().as_uri() + "?immutable=1")
                # For two processes that open a new file at once, SQLite may report it locked without waiting.
                if code != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    db.close()
                    raise
                time.sleep(0.01)
            except BaseException:
                db.close()
                raise

    def _open(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(uri, timeout=self._timeout, isolation_level=None, check_same_thread=False, uri=True)


def _create(path: Path) -> None:
    """Make an empty file that only its owner can read. An existing one stays closed: closing it drops its locks."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass


def _is_at_rest(path: Path) -> bool:
    """Test for a read-only folder without a pending log: then the file can be read as it is."""
    log = path.with_name(path.name + "-wal")
    return path.is_file() and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _prepare(db: sqlite3.Connection, where: str) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    older = is_older(version, where)
    if version == 0:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    elif older:
        with suppress(sqlite3.OperationalError):  # read-only or locked: an older format can be used as it is
            db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("PRAGMA synchronous = FULL")


REMEDY = "choose another store, or check its folder and the disk"

REASONS = {
    sqlite3.SQLITE_FULL: ("disk_full", "the disk is full", "free some space"),
    sqlite3.SQLITE_BUSY: ("locked", "another program holds it locked", "close that program"),
    sqlite3.SQLITE_READONLY: ("read_only", "it is read-only", "make it writable, or choose another store"),
    sqlite3.SQLITE_CANTOPEN: ("cannot_open", "it cannot be opened", REMEDY),
    sqlite3.SQLITE_IOERR: ("io_error", "reading or writing it failed", REMEDY),
    sqlite3.SQLITE_CORRUPT: ("damaged", "the file is damaged", "restore it from a backup, or choose another store"),
    sqlite3.SQLITE_NOTADB: ("not_a_store", "the file is not a store", "choose another file"),
}


def _as_store_failed(where: str, why: Exception) -> StoreFailed:
    code = getattr(why, "sqlite_errorcode", None)
    if code is None and isinstance(why, sqlite3.OperationalError | OverflowError):
        return damaged(where)  # a text that is not UTF-8, or a number that is too big
    reason, text, remedy = REASONS.get((code or 0) & 0xFF, ("", " ".join(str(why).split()), REMEDY))
    return StoreFailed(where, text, remedy, reason)
