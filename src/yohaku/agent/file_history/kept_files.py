"""The database of one project's file history: contents, the last known state of each path, changes.

Law: only its owner can read it, and a process that is killed leaves it as it was after its last transaction.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from yohaku.agent.file_history.file_state import FoundPath, PathState, Stamp

FOLDER_NAME = "undo"
MAX_CHANGES = 1_000
"""Changes that are kept of one project; the oldest are dropped."""
MAX_DATABASE_BYTES = 1024 * 1024 * 1024
"""Size above which the oldest changes are dropped."""
MAX_UNUSED_DAYS = 30
"""Days after which the history of a project that nobody works on is removed."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS contents (hash BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS paths (path BLOB PRIMARY KEY, kind TEXT, mode INTEGER, hash BLOB, stamp TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS left_out (path BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT, title TEXT, at REAL, status TEXT, process INTEGER, began INTEGER,
    named TEXT, broken INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS parts (
    change INTEGER, path BLOB, before_kind TEXT, before_mode INTEGER, before_hash BLOB,
    after_kind TEXT, after_mode INTEGER, after_hash BLOB, skipped INTEGER DEFAULT 0, PRIMARY KEY (change, path));
"""

Status: TypeAlias = Literal["open", "done", "undoing", "undone", "redoing"]
RawPath: TypeAlias = bytes
"""Path from the project's folder, or absolute outside it, as bytes."""


class KnownPath(NamedTuple):
    state: PathState
    stamp: Stamp | None
    """None where the file has to be read to know whether it has changed."""


class FileChange(NamedTuple):
    """One thing that a tool or a command did."""

    id: int
    run: str
    title: str
    at: float
    status: Status
    process: int
    began: int
    named: str
    """Paths it was about, one a line as hex; empty for the whole project."""
    broken: bool = False
    """Its process was killed: what has changed until that was noticed counts as part of it."""


class ChangedPath(NamedTuple):
    path: RawPath
    before: PathState | None
    after: PathState | None
    skipped: bool = False
    """Left alone by an undo, because the user has changed it since."""


def database_of(data: Path, root: Path) -> Path:
    return data / FOLDER_NAME / f"{sha256(os.fsencode(root.resolve())).hexdigest()[:24]}.db"


class KeptFiles:
    def __init__(self, path: Path) -> None:
        """Open or create it; `OSError` where that cannot be done."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_unused(path.parent, path)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        os.utime(path)
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(path, timeout=20, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(SCHEMA)
            self._add_missing_columns()
        except sqlite3.Error as why:
            raise OSError(0, str(why), str(path)) from why

    def _add_missing_columns(self) -> None:
        """Bring a database of an earlier version up to date."""
        if "broken" not in [row[1] for row in self._query("PRAGMA table_info(changes)")]:
            self._query("ALTER TABLE changes ADD COLUMN broken INTEGER DEFAULT 0")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing of what is written inside, also by others that do the same."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # -- Contents

    def keep(self, found: FoundPath) -> None:
        if found.content is not None:
            row = (found.state.hash, zlib.compress(found.content, 1))
            self._query("INSERT OR IGNORE INTO contents VALUES (?, ?)", row)

    def content(self, state: PathState) -> bytes:
        """Return the content of a state; `KeyError` where it was dropped."""
        row = self._query("SELECT data FROM contents WHERE hash = ?", (state.hash,)).fetchone()
        if row is None:
            raise KeyError(state.hash.hex())
        return zlib.decompress(row[0])

    # -- Last known states

    def known(self) -> dict[RawPath, KnownPath]:
        rows = self._query("SELECT path, kind, mode, hash, stamp FROM paths")
        return {row[0]: KnownPath(PathState(*row[1:4]), _parse_stamp(row[4])) for row in rows}

    def know(self, path: RawPath, state: PathState | None, stamp: Stamp | None) -> None:
        if state is None:
            self._query("DELETE FROM paths WHERE path = ?", (path,))
        else:
            row = (path, *state, " ".join(map(str, stamp)) if stamp else "")
            self._query("INSERT OR REPLACE INTO paths VALUES (?, ?, ?, ?, ?)", row)

    def left_out(self) -> dict[RawPath, int]:
        """Return what the last scan left out, with the numbers of the files."""
        return dict(self._query("SELECT path, number FROM left_out").fetchall())

    def set_left_out(self, found: dict[RawPath, int]) -> None:
        before = self.left_out()
        for path in before.keys() - found.keys():
            self._query("DELETE FROM left_out WHERE path = ?", (path,))
        for path, number in found.items() - before.items():
            self._query("INSERT OR REPLACE INTO left_out VALUES (?, ?)", (path, number))

    # -- Changes

    def add_change(self, run: str, title: str, began: int, named: str) -> int:
        row = (run, title, time.time(), "open", os.getpid(), began, named)
        done = self._query(
            "INSERT INTO changes (run, title, at, status, process, began, named) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        )
        return int(done.lastrowid or 0)

    def changes(self, *statuses: Status, run: str | None = None) -> list[FileChange]:
        """Return changes with these statuses, the newest first."""
        marks = ", ".join("?" * len(statuses))
        rows = self._query(
            f"SELECT id, run, title, at, status, process, began, named, broken FROM changes WHERE status IN ({marks}) "
            "ORDER BY id DESC",
            statuses,
        )
        return [FileChange(*row)._replace(broken=bool(row[-1])) for row in rows if run is None or row[1] == run]

    def set_status(self, change: int, status: Status) -> None:
        self._query("UPDATE changes SET status = ?, process = ? WHERE id = ?", (status, os.getpid(), change))

    def mark_broken(self, change: int) -> None:
        self._query("UPDATE changes SET broken = 1 WHERE id = ?", (change,))

    def drop(self, change: int) -> None:
        self._query("DELETE FROM parts WHERE change = ?", (change,))
        self._query("DELETE FROM changes WHERE id = ?", (change,))

    def add_part(self, change: int, part: ChangedPath) -> None:
        states = (*(part.before or (None,) * 3), *(part.after or (None,) * 3))
        self._query(
            "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (change, part.path, *states, part.skipped),
        )

    def clear_parts(self, change: int) -> None:
        self._query("DELETE FROM parts WHERE change = ?", (change,))

    def parts(self, change: int) -> list[ChangedPath]:
        rows = self._query(
            "SELECT path, before_kind, before_mode, before_hash, after_kind, after_mode, after_hash, skipped "
            "FROM parts WHERE change = ? ORDER BY path",
            (change,),
        )
        return [ChangedPath(row[0], _parse_state(row[1:4]), _parse_state(row[4:7]), bool(row[7])) for row in rows]

    def trim(self) -> None:
        """Drop the oldest changes beyond the bounds, and the contents that nothing needs any more; never the newest."""
        self._drop_changes(self.changes("done", "undone")[MAX_CHANGES:])
        while self._count_bytes() > MAX_DATABASE_BYTES and len(done := self.changes("done", "undone")) > 1:
            self._drop_changes(done[len(done) // 2 :])

    def _count_bytes(self) -> int:
        """Return the bytes in use: what was dropped leaves room in the file, and does not shorten it."""
        pages, free, size = (
            self._query(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _drop_changes(self, excess: list[FileChange]) -> None:
        if not excess:
            return
        with self.writing():
            for change in excess:
                self.drop(change.id)
            self._query(
                "DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM paths) AND hash NOT IN (SELECT before_hash "
                "FROM parts WHERE before_hash IS NOT NULL) AND hash NOT IN (SELECT after_hash FROM parts WHERE "
                "after_hash IS NOT NULL)"
            )

    def _query(self, text: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        with self._lock:
            return self._db.execute(text, tuple(values))


def remove_unused(folder: Path, but: Path) -> None:
    """Remove the histories of projects that nobody has worked on for long."""
    oldest = time.time() - MAX_UNUSED_DAYS * 86_400
    for path in folder.glob("*.db"):
        with suppress(OSError):
            if path != but and path.stat().st_mtime < oldest:
                for end in ("", "-wal", "-shm"):
                    path.with_name(path.name + end).unlink(missing_ok=True)


def _parse_state(row: tuple[Any, ...]) -> PathState | None:
    return PathState(*row) if row[0] is not None else None


def _parse_stamp(text: str) -> Stamp | None:
    return tuple(map(int, text.split())) if text else None  # type: ignore[return-value]
