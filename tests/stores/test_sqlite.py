from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.stores.conformance import LONG, Clock, Conformance, put, stub
from tests.stores.damage import remove_checksums
from tests.stores.loads import hammer, kill_while_writing

from yohaku.core.errors import StoreFailed, UnknownRef
from yohaku.core.originals import ref_of
from yohaku.stores import DAY, Store
from yohaku.stores.sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folders" / "store.db"


@pytest.fixture
def again(path: Path, clock: Clock) -> Iterator[Callable[[], Store]]:
    opened: list[SQLiteStore] = []

    def opens() -> SQLiteStore:
        opened.append(SQLiteStore(path, clock=clock))
        return opened[-1]

    yield opens
    for each in opened:
        each.close()


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()


class TestSQLite(Conformance):
    pass


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SQLiteStore(tmp_path / "data" / "yohaku" / "store.db")
        put(store, LONG)
    finally:
        os.umask(before)
    modes = {
        str(each.relative_to(tmp_path)): stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "data").rglob("*")
    }
    assert modes == {
        "data/yohaku": 0o700,
        "data/yohaku/store.db": 0o600,
        "data/yohaku/store.db-wal": 0o600,
        "data/yohaku/store.db-shm": 0o600,
    }
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    put(SQLiteStore(tmp_path / "store.db"), "text")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_nothing_is_made_before_it_is_used(path: Path) -> None:
    SQLiteStore(path)
    assert not path.parent.exists()


def test_what_is_compressible_takes_little_room(path: Path) -> None:
    store = SQLiteStore(path)
    put(store, LONG * 10)
    (kept,) = store.kept()
    assert kept.stored < len(LONG)


def test_lines_from_the_middle_are_read_without_the_rest(path: Path) -> None:
    store = SQLiteStore(path)
    ref = put(store, LONG * 20)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE chunks SET data = x'00' WHERE id % 100 != 80")  # whatever is opened there fails
    db.close()
    line = next(n for n in range(0, 400_000, 500) if len(_start(store, ref, n)) > 1000)
    assert b"of a long output" in _start(store, ref, line)


def _start(store: SQLiteStore, ref: str, line: int) -> bytes:
    try:
        return next(store.open(ref, line).pieces).data
    except StoreFailed:
        return b""


def test_a_stream_of_many_batches_becomes_visible_at_its_end(path: Path) -> None:
    store, other = SQLiteStore(path), SQLiteStore(path)
    seen = []
    block = os.urandom(1 << 20)

    def source() -> Iterator[bytes]:
        for _ in range(20):
            seen.append(len(list(other.kept())))
            put(other, f"written while the other streams {len(seen)}")
            yield block

    found = store.put_stream(source(), binary=True)
    assert seen == list(range(20))
    assert other.get(found.ref) == block * 20


ROWS = "SELECT (SELECT count(*) FROM originals), (SELECT count(*) FROM chunks)"


def test_a_stream_that_broke_off_leaves_no_rows(path: Path) -> None:
    store = SQLiteStore(path)
    with pytest.raises(ZeroDivisionError):
        store.put_stream(os.urandom(1 << 20) + bytes(1 // number) for number in range(20, -1, -1))
    db = sqlite3.connect(path)
    assert db.execute(ROWS).fetchone() == (0, 0)
    db.close()


@pytest.mark.slow
def test_a_stream_whose_process_was_killed_is_swept_a_day_later(path: Path, clock: Clock) -> None:
    code = (
        "import os, sys; from yohaku.stores.sqlite import SQLiteStore;"
        "store = SQLiteStore(sys.argv[1], clock=lambda: 1e9);"
        "store.put_stream(os.urandom(1 << 20) if n else os.abort() for n in range(20, -1, -1))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode < 0
    store = SQLiteStore(path, clock=clock)
    db = sqlite3.connect(path)
    assert db.execute(ROWS).fetchone() > (0, 100)
    store.drop([], 0)
    assert db.execute(ROWS).fetchone() > (0, 100)
    clock.now += 2 * DAY
    store.drop([], 0)
    assert db.execute(ROWS).fetchone() == (0, 0)
    db.close()


def test_the_file_shrinks_when_something_is_dropped(path: Path, clock: Clock) -> None:
    store = SQLiteStore(path, clock=clock)
    ref = put(store, os.urandom(4 << 20))
    clock.now += DAY
    store.drop([ref], int(clock.now))
    store.close()
    assert path.stat().st_size < 1 << 20


def test_a_forked_process_opens_it_anew(path: Path) -> None:
    store = SQLiteStore(path)
    put(store, "before")
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=put, args=(store, f"child {number}")) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    assert len(list(store.kept())) == 5


@pytest.mark.slow
def test_a_new_file_may_be_opened_by_many_at_once(path: Path) -> None:
    code = (
        "import sys; from yohaku.stores.sqlite import SQLiteStore; from yohaku.core.originals import ref_of;"
        "SQLiteStore(sys.argv[1]).put(ref_of(sys.argv[2]), sys.argv[2])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), f"text {number}"]) for number in range(6)]
    assert [each.wait() for each in started] == [0] * 6
    assert sorted(kept.ref for kept in SQLiteStore(path).kept()) == sorted(ref_of(f"text {n}") for n in range(6))


@pytest.mark.slow
def test_what_processes_put_at_once_is_all_there(path: Path) -> None:
    assert hammer(f"sqlite://{path}", processes=3, puts=100) == []


@pytest.mark.slow
def test_a_killed_process_loses_nothing_it_had_acknowledged(path: Path) -> None:
    assert kill_while_writing(path, kills=5) == []


def test_a_full_disk_is_said_and_what_was_there_stays(small_disk: Path) -> None:
    store = SQLiteStore(small_disk / "store.db")
    kept = []
    with pytest.raises(StoreFailed) as raised:
        for _ in range(100):
            kept.append(os.urandom(50_000))
            put(store, kept[-1])
    assert str(raised.value) == f"the store {small_disk}/store.db: the disk is full; free some space"
    assert len(kept) > 5
    assert [store.get(ref_of(original)) for original in kept[:-1]] == kept[:-1]
    with pytest.raises(StoreFailed):
        store.put_stream(os.urandom(100_000) for _ in range(100))
    assert [SQLiteStore(small_disk / "store.db").get(ref_of(original)) for original in kept[:-1]] == kept[:-1]


def test_a_disk_too_full_to_begin_with_is_said(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes((2 << 20) - 4096))
    with pytest.raises(StoreFailed, match="the disk is full"):
        put(SQLiteStore(small_disk / "store.db"), "text")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_read_only_disk_is_said_and_can_still_be_read(version: int, small_disk: Path) -> None:
    store = SQLiteStore(small_disk / "store.db")
    ref = put(store, LONG)
    store.keep([stub("a")])
    store.close()
    remove_checksums(small_disk / "store.db")
    db = sqlite3.connect(small_disk / "store.db")
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    store = SQLiteStore(small_disk / "store.db")
    assert (store.get(ref), store.folds(["a"])) == (LONG, [stub("a")])
    with pytest.raises(StoreFailed, match="it is read-only"):
        put(store, "more")
    with pytest.raises(StoreFailed, match=r"Read-only file system|it is read-only"):
        put(SQLiteStore(small_disk / "other.db"), "more")


def test_a_locked_file_is_said_after_some_patience(path: Path) -> None:
    store = SQLiteStore(path, timeout=0.2)
    ref = put(store, "before")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(StoreFailed, match=r"another program holds it locked; close that program"):
        put(store, "while locked")
    assert 0.15 < time.monotonic() - started < 5
    assert store.get(ref) == "before"
    other.execute("ROLLBACK")
    other.close()
    assert store.get(put(store, "after")) == "after"


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_store_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreFailed, match=r"not a store|damaged"):
        put(SQLiteStore(tmp_path / "store.db"), "text")
    assert (tmp_path / "store.db").read_bytes() == content


def test_a_folder_in_the_place_of_the_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="it cannot be opened"):
        put(SQLiteStore(tmp_path), "text")


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailed, match="Not a directory"):
        put(SQLiteStore(tmp_path / "file" / "store.db"), "text")


def test_a_store_of_a_later_version_is_not_touched(path: Path) -> None:
    put(SQLiteStore(path), "text")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreFailed, match="a newer yohaku wrote it"):
        put(SQLiteStore(path), "text")


def test_a_damaged_chunk_is_said_and_not_given(path: Path) -> None:
    store = SQLiteStore(path)
    ref = put(store, LONG)
    with sqlite3.connect(path) as db:
        (data,) = db.execute("SELECT data FROM chunks LIMIT 1").fetchone()
        spoilt = data[:100] + bytes([data[100] ^ 1]) + data[101:]
        db.execute("UPDATE chunks SET data = ? WHERE id = (SELECT min(id) FROM chunks)", (spoilt,))
    db.close()
    with pytest.raises(StoreFailed, match="damaged"):
        store.get(ref)


def test_what_was_dropped_while_it_is_read_is_said(path: Path, clock: Clock) -> None:
    store = SQLiteStore(path, clock=clock)
    ref = put(store, LONG * 10)
    pieces = store.open(ref).pieces
    next(pieces)
    clock.now += DAY
    SQLiteStore(path, clock=clock).drop([ref], int(clock.now))
    with pytest.raises(StoreFailed, match="removed while it was being read"):
        list(pieces)
    with pytest.raises(UnknownRef):
        store.get(ref)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_older_version_is_gone_on_with(version: int, path: Path, clock: Clock) -> None:
    """The first had no joined originals, the second one fold in a place, the third no checksums."""
    first = SQLiteStore(path, clock=clock)
    put(first, "kept")
    first.keep([stub("a")])
    first.close()
    remove_checksums(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    store = SQLiteStore(path, clock=clock)
    store.put_joined(ref_of("a\n\nb"), ["a", "b"])
    assert (store.get(ref_of("kept")), store.folds(["a"]), store.get(ref_of("a\n\nb"))) == (
        "kept",
        [stub("a")],
        "a\n\nb",
    )
    store.close()
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (4,)
    db.close()
