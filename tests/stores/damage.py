"""A small SQLite store with something of everything in it, and ways in which disks, crashes and editors break it."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yohaku.core.folds import Fold
from yohaku.core.originals import ref_of
from yohaku.session.session import Session
from yohaku.stores import Store
from yohaku.stores.chunks import pack, read_index
from yohaku.stores.integrity import SEAL
from yohaku.stores.sqlite import SQLiteStore

PAGE = 4096
WINDOW = 4096


def conversation(steps: int) -> dict[str, Any]:
    """A body whose results are small, but for one of half a megabyte and one in Japanese."""
    entries: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs, and never delete anything."}]
    for number in range(steps):
        arguments = json.dumps({"command": f"cat {number}.log"})
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        entries.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
        entries.append({"role": "tool", "tool_call_id": f"c{number}", "content": _output(number)})
    return {"model": "gpt-4o", "messages": entries}


def _output(number: int) -> str:
    if number == 3:
        return "".join(f"{line} {line * 7919 % 1_000_003}\n" for line in range(40_000))
    if number == 5:
        return "".join(f"{line} 行目: 余白は {line * 31} 字\n" for line in range(60))
    return "".join(f"{number}.log {line}: all is well {line * number}\n" for line in range(60))


@dataclass(frozen=True, repr=False)
class Content:
    originals: dict[str, str | bytes]
    folds: list[Fold]
    records: dict[str, list[str]]
    conversation: str


@dataclass(frozen=True, repr=False)
class HealthyStore(Content):
    file: bytes


def fill(store: Store) -> Content:
    """Fold twice, undo and redo, pin, and put a binary, a long line and an original in parts."""
    with Session(WINDOW, model="gpt-4o", recipe="local", store=store) as session:
        for steps in (8, 16):
            session.fit(conversation(steps))
        session.fit(conversation(24), fold=True)
        session.undo()
        session.redo()
        session.pin("Step 22.")
        (name,) = store.conversations()
    for original in (bytes(range(256)) * 20, "x" * 200_000, "plain text", b"plain bytes"):
        store.put(ref_of(original), original)
    parts = [_output(1), _output(3), "the last part"]
    store.put_joined(ref_of("\n\n".join(parts)), parts)
    originals = {kept.ref: store.get(kept.ref) for kept in store.kept()}
    return Content(originals, list(store.standing(0)), {name: store.recorded(name)}, name)


def build(folder: Path) -> HealthyStore:
    path = folder / "healthy.db"
    store = SQLiteStore(path)
    content = fill(store)
    store.close()
    return HealthyStore(**vars(content), file=path.read_bytes())


def remove_checksums(path: Path) -> None:
    """Write a store as version 3 wrote it: without seals, and with no checksum in an index, a fold or a record."""
    db = sqlite3.connect(path)
    for number, head, marks in db.execute("SELECT id, head, marks FROM originals").fetchall():
        if marks is not None:
            lines, _ = read_index(marks, "here", sealed=True)
            values = (head, pack(lines.tobytes()), number)
        else:
            values = (head.partition(SEAL)[0], None, number)
        db.execute("UPDATE originals SET head = ?, marks = ? WHERE id = ?", values)
    for number, row in db.execute("SELECT id, fold FROM folds").fetchall():
        db.execute("UPDATE folds SET fold = ? WHERE id = ?", (row.partition(',"sum":')[0] + "}", number))
    for number, row in db.execute("SELECT id, row FROM records").fetchall():
        db.execute("UPDATE records SET row = ? WHERE id = ?", (json.dumps(json.loads(row)[0]), number))
    db.execute("PRAGMA user_version = 3")
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def break_file(healthy: bytes, path: Path, seed: int) -> str:
    """Write a damaged copy of a store to `path`, and return how it was damaged."""
    chance = random.Random(seed)
    path.write_bytes(healthy)
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    damage = WAYS[seed % len(WAYS)]
    return f"{damage.__name__} {damage(path, chance)}"


def _flip_bytes(path: Path, chance: random.Random) -> object:
    data = bytearray(path.read_bytes())
    places = sorted(chance.randrange(len(data)) for _ in range(chance.choice((1, 1, 2, 8, 64))))
    for place in places:
        data[place] ^= 1 << chance.randrange(8) if chance.random() < 0.5 else chance.randrange(1, 256)
    path.write_bytes(data)
    return places


def _flip_in(table: str) -> Callable[[Path, random.Random], object]:
    def flip(path: Path, chance: random.Random) -> object:
        """Flip bytes where they hurt: most pages hold nothing but compressed chunks."""
        data = bytearray(path.read_bytes())
        page = chance.choice(_pages_of(path, table))
        places = [(page - 1) * PAGE + chance.randrange(PAGE) for _ in range(chance.choice((1, 2, 8)))]
        for place in places:
            data[place] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        return places

    flip.__name__ = f"flip_in_{table}"
    return flip


def _pages_of(path: Path, table: str) -> list[int]:
    """Follow the b-tree of a table or index from its root."""
    data = path.read_bytes()
    db = sqlite3.connect(path)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    db.close()
    found, todo = [], [root]
    while todo:
        page = todo.pop()
        found.append(page)
        at = (page - 1) * PAGE + (100 if page == 1 else 0)
        if data[at] in (2, 5):
            count = int.from_bytes(data[at + 3 : at + 5])
            todo.append(int.from_bytes(data[at + 8 : at + 12]))
            for cell in range(count):
                start = (page - 1) * PAGE + int.from_bytes(data[at + 12 + 2 * cell : at + 14 + 2 * cell])
                todo.append(int.from_bytes(data[start : start + 4]))
    return found


def _truncate(path: Path, chance: random.Random) -> object:
    data = path.read_bytes()
    size = chance.choice((chance.randrange(len(data)), chance.randrange(0, len(data), PAGE), chance.randrange(200)))
    path.write_bytes(data[:size])
    return size


def _overwrite_page(path: Path, chance: random.Random) -> object:
    data = path.read_bytes()
    page, other = (chance.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    instead = chance.choice((bytes(PAGE), chance.randbytes(PAGE), data[other : other + PAGE]))
    path.write_bytes(data[:page] + instead + data[page + PAGE :])
    return page // PAGE + 1


def _overwrite_index(path: Path, chance: random.Random) -> object:
    data = bytearray(path.read_bytes())
    page = chance.choice([page for name in INDEXES for page in _pages_of(path, name)])
    for _ in range(chance.choice((1, 16, 400))):
        data[(page - 1) * PAGE + chance.randrange(PAGE)] = chance.randrange(256)
    path.write_bytes(data)
    return page


INDEXES = ("originals_ref", "records_of", "sqlite_autoindex_folds_1")

COLUMNS = (
    ("originals", ("tenant", "ref", "at", "size", "lines", "binary", "stored", "marks", "head")),
    ("chunks", ("data",)),
    ("folds", ("tenant", "key", "slot", "fold", "seen")),
    ("records", ("tenant", "conversation", "row")),
    ("versions", ("number",)),
)
CONTENTS = (
    ("originals", "head"),
    ("originals", "marks"),
    ("originals", "ref"),
    ("originals", "binary"),
    ("originals", "lines"),
    ("chunks", "data"),
    ("folds", "fold"),
    ("folds", "key"),
    ("records", "row"),
)


def _swap_rows(path: Path, chance: random.Random) -> object:
    table, column = chance.choice(CONTENTS)
    with _editing(path) as db:
        rows = db.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
        (one, its), (other, others) = chance.sample(rows, 2)
        if column == "ref":
            db.execute("UPDATE originals SET ref = NULL WHERE rowid = ?", (one,))
        for number, value in ((other, its), (one, others)):
            db.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE rowid = ?", (value, number))
    return table, column, one, other


def _put_wrong_type(path: Path, chance: random.Random) -> object:
    table, columns = chance.choice(COLUMNS)
    column = chance.choice(columns)
    value = chance.choice(("NULL", "7", "-1", "2", "9223372036854775807", "1.5", "'text'", "x'00ff'", "''", "x''"))
    with _editing(path) as db:
        _set_one(db, table, column, chance, value)
    return table, column, value


def _put_bad_json(path: Path, chance: random.Random) -> object:
    table, column = chance.choice((("folds", "fold"), ("records", "row")))
    value = chance.choice(("'{'", "'[1]'", "'null'", "'{\"key\": 1}'", "'NaN'", NESTED, "'1e9'"))
    with _editing(path) as db:
        _set_one(db, table, column, chance, value)
    return table, value[:40]


NESTED = f"'{'[' * 5000}'"


def _put_bad_text(path: Path, chance: random.Random) -> object:
    table, columns = chance.choice([each for each in COLUMNS if each[0] in ("folds", "records", "originals")])
    column = chance.choice(
        [name for name in columns if name not in ("at", "size", "lines", "stored", "binary", "seen")]
    )
    with _editing(path) as db:
        _set_one(db, table, column, chance, f"CAST(x'ff80' || CAST({column} AS BLOB) AS TEXT)")
    return table, column


def _spoil_a_letter(path: Path, chance: random.Random) -> object:
    """Change one letter of a text that stays valid JSON."""
    table, column = chance.choice(
        (("folds", "fold"), ("records", "row"), ("folds", "slot"), ("records", "conversation"))
    )
    with _editing(path) as db:
        rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        number, text = chance.choice(rows)
        letters = [at for at, letter in enumerate(text) if letter.isalnum()]
        at = chance.choice(letters or [0])
        text = text[:at] + chance.choice("abcdefghijkl0123456789") + text[at + 1 :]
        db.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE rowid = ?", (text, number))
    return table, column, number, at


def _delete_rows(path: Path, chance: random.Random) -> object:
    table = chance.choice(("originals", "chunks", "folds", "records", "versions"))
    with _editing(path) as db:
        key = "tenant" if table == "versions" else "rowid"
        found = chance.choice(db.execute(f"SELECT {key} FROM {table}").fetchall())
        db.execute(f"DELETE FROM {table} WHERE {key} = ?", found)
    return table


def _drop(path: Path, chance: random.Random) -> object:
    what = chance.choice(("TABLE chunks", "TABLE folds", "TABLE records", "INDEX originals_ref", "TABLE originals"))
    with _editing(path) as db:
        db.execute(f"DROP {what}")
    return what


def _set_one(db: sqlite3.Connection, table: str, column: str, chance: random.Random, value: str) -> None:
    """Set a column of one row to an SQL expression."""
    key = "tenant" if table == "versions" else "rowid"
    found = chance.choice(db.execute(f"SELECT {key} FROM {table}").fetchall())
    db.execute(f"UPDATE OR REPLACE {table} SET {column} = {value} WHERE {key} = ?", found)


@contextmanager
def _editing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for changes that our own statements would not make: without its constraints."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
    db.commit()
    db.close()
    db = sqlite3.connect(path)
    yield db
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


WAYS: tuple[Callable[[Path, random.Random], object], ...] = (
    _flip_bytes,
    _flip_in("originals"),
    _flip_in("folds"),
    _flip_in("records"),
    _flip_in("chunks"),
    _truncate,
    _overwrite_page,
    _overwrite_index,
    _swap_rows,
    _swap_rows,
    _put_wrong_type,
    _put_wrong_type,
    _put_bad_json,
    _put_bad_text,
    _spoil_a_letter,
    _delete_rows,
    _drop,
)


def spoil(value: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Return a value with a flipped bit or cut short, something else entirely, or another row's."""
    at = chance.randrange(len(value)) if value else 0
    flipped = value[:at] + bytes([value[at] ^ 1 << chance.randrange(8)]) + value[at + 1 :] if value else b"x"
    return chance.choice(
        (flipped, flipped, value[:at], b"{", b"\xff\x80", chance.choice(others), chance.choice(others))
    )
