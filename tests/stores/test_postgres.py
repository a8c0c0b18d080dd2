from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.stores import servers
from tests.stores.conformance import LONG, Clock, Conformance, put, stub
from tests.stores.damage import fill, spoil
from tests.stores.loads import hammer
from tests.stores.reading import wrong_in

from yohaku.cli.main import main
from yohaku.core.errors import StoreFailed
from yohaku.core.originals import ref_of
from yohaku.stores import DAY, Store
from yohaku.stores import open as open_store
from yohaku.stores.postgres import PostgresStore


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with servers.postgres() as url:
        yield url


@pytest.fixture
def url(server: str) -> str:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server


@pytest.fixture
def again(url: str, clock: Clock) -> Iterator[Callable[[], Store]]:
    opened: list[PostgresStore] = []

    def opens() -> PostgresStore:
        opened.append(PostgresStore(url, clock))
        return opened[-1]

    yield opens
    for each in opened:
        each.close()


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()


class TestPostgres(Conformance):
    pass


@pytest.mark.slow
def test_what_processes_put_at_once_is_all_there(url: str) -> None:
    assert hammer(url, processes=3, puts=100) == []


def test_a_server_that_is_not_there_is_said_without_its_password() -> None:
    store = open_store(f"postgresql://user:secret@127.0.0.1:{servers.free_port()}/name")
    for ask in (lambda: store.version, lambda: store.folds(["a"]), lambda: put(store, "text")):
        with pytest.raises(StoreFailed, match=r"the store postgresql://user:…@127.*see that the server runs") as raised:
            ask()
        assert "secret" not in str(raised.value)


def test_a_connection_that_was_cut_is_replaced(store: Store, url: str) -> None:
    ref = put(store, LONG)
    for ask in (lambda: store.get(ref), lambda: store.keep([stub("a")])):
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        ask()
    assert (store.get(ref), store.folds(["a"]), store.version) == (LONG, [stub("a")], 1)


def test_a_database_that_takes_nothing_more_is_said_and_can_still_be_read(store: Store, url: str) -> None:
    ref = put(store, LONG)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        other = PostgresStore(url)
        with pytest.raises(StoreFailed, match="read-only"):
            put(other, "more")
        assert other.get(ref) == LONG
        other.close()
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("SET default_transaction_read_only = off")
            db.execute("ALTER DATABASE postgres RESET default_transaction_read_only")


def test_a_forked_process_connects_anew(store: Store) -> None:
    put(store, "before")
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_child, args=(store, number)) for number in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 3
    assert len(list(store.kept())) == 4


def _child(store: Store, number: int) -> None:
    put(store, f"child {number}")
    os._exit(0)  # as a worker does that must not end its parent's connection


@pytest.mark.slow
def test_a_stream_that_broke_off_leaves_no_rows_and_one_that_was_killed_is_swept(
    store: Store, url: str, clock: Clock
) -> None:
    rows = "SELECT (SELECT count(*) FROM yohaku_originals), (SELECT count(*) FROM yohaku_chunks)"
    with pytest.raises(ZeroDivisionError):
        store.put_stream(os.urandom(1 << 20) + bytes(1 // number) for number in range(20, -1, -1))
    code = (
        "import os, sys; from yohaku.stores.postgres import PostgresStore;"
        "store = PostgresStore(sys.argv[1], lambda: 1e9);"
        "store.put_stream(os.urandom(1 << 20) if n else os.abort() for n in range(20, -1, -1))"
    )
    with psycopg.connect(url, autocommit=True) as db:
        assert db.execute(rows).fetchone() == (0, 0)
        assert subprocess.run([sys.executable, "-c", code, url], check=False).returncode < 0
        store.drop([], 0)
        assert db.execute(rows).fetchone() != (0, 0)
        clock.now += 2 * DAY
        store.drop([], 0)
        assert db.execute(rows).fetchone() == (0, 0)


def test_tables_of_the_first_version_are_gone_on_with(url: str, clock: Clock) -> None:
    """They had no column for joined originals, and no table for the number of the format."""
    first = PostgresStore(url, clock)
    put(first, "kept")
    first.keep([stub("a")])
    first.close()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER TABLE yohaku_originals DROP COLUMN joined")
        db.execute("DROP TABLE yohaku_format")
    for _ in range(2):
        store = PostgresStore(url, clock)
        store.put_joined(ref_of("a\n\nb"), ["a", "b"])
        found = store.get(ref_of("kept")), store.folds(["a"]), store.get(ref_of("a\n\nb"))
        assert found == ("kept", [stub("a")], "a\n\nb")
        store.close()
    with psycopg.connect(url, autocommit=True) as db:
        assert db.execute("SELECT number FROM yohaku_format").fetchall() == [(4,)]


def test_tables_of_a_later_version_are_refused_in_one_line(
    url: str, again: Callable[[], Store], capfd: pytest.CaptureFixture[str]
) -> None:
    ref = put(again(), "text")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE yohaku_format SET number = 99")
    with pytest.raises(StoreFailed, match=r"a newer yohaku wrote it.*update yohaku"):
        again().get(ref)
    assert main(["recall", ref, "--store", url]) == 2
    told = capfd.readouterr()
    assert told.err.count("\n") == 1 and "newer yohaku" in told.err and not told.out


TEXTS = (("folds", "fold"), ("folds", "slot"), ("folds", "key"), ("records", "written"), ("records", "conversation"))
BLOBS = (("originals", "head"), ("originals", "marks"), ("chunks", "data"))
FACTS = (("originals", "size"), ("originals", "lines"), ("originals", "is_binary"), ("originals", "joined"))
EMPTY = (("originals", "size"), ("originals", "is_binary"), ("originals", "head"), ("originals", "stored"))


@pytest.mark.slow
def test_no_damaged_row_gives_another_original_or_error(server: str) -> None:
    start = server.rpartition("/")[0]
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("CREATE DATABASE healthy")
        healthy = PostgresStore(f"{start}/healthy")
        content = fill(healthy)
        healthy.close()
        found = []
        for seed in range(60):
            db.execute("CREATE DATABASE damaged TEMPLATE healthy")
            with psycopg.connect(f"{start}/damaged", autocommit=True) as other:
                how = _spoil_a_row(other, random.Random(seed))
            store = PostgresStore(f"{start}/damaged")
            found += [f"{seed} {how}: {wrong}" for wrong in wrong_in(store, content)]
            store.close()
            db.execute("DROP DATABASE damaged")
    assert found == []


def _spoil_a_row(db: Any, chance: random.Random) -> object:
    columns = chance.choice((TEXTS, TEXTS, BLOBS, BLOBS, BLOBS, FACTS, EMPTY))
    table, column = chance.choice(columns)
    rows = db.execute(f"SELECT ctid, {column} FROM yohaku_{table} WHERE {column} IS NOT NULL").fetchall()
    place, value = chance.choice(rows)
    if columns is EMPTY:
        value = None
    elif isinstance(value, bool):
        value = not value
    elif isinstance(value, int):
        value += chance.choice((-1, 1, 1 << 40))
    elif isinstance(value, bytes):
        value = spoil(value, [other for _, other in rows], chance)
    else:
        spoilt = spoil(value.encode(), [other.encode() for _, other in rows], chance)
        value = spoilt.replace(b"\0", b"0").decode("utf-8", "replace")
    try:
        db.execute(f"UPDATE yohaku_{table} SET {column} = %s WHERE ctid = %s", (value, place))
    except psycopg.errors.UniqueViolation:
        db.execute(f"DELETE FROM yohaku_{table} WHERE ctid = %s", (place,))
    return table, column, place, str(value)[:30]
