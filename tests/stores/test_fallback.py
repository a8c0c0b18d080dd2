from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores import servers
from tests.stores.conformance import LONG, Clock, Conformance, put, stub

from yohaku.core.errors import StoreFailed, UnknownRef
from yohaku.core.originals import ref_of
from yohaku.stores import Store
from yohaku.stores import open as open_store
from yohaku.stores.fallback import MAX_BUFFERED_BYTES, FallbackStore
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore


@pytest.fixture
def store(clock: Clock) -> Store:
    return FallbackStore(MemoryStore(clock))


@pytest.fixture
def again(store: Store) -> object:
    return lambda: store


class TestShelteredIsAStore(Conformance):
    """While all is well it is what it shelters."""


def test_a_conversation_goes_on_when_the_disk_is_full(small_disk: Path) -> None:
    told: list[StoreFailed] = []
    store = FallbackStore(SQLiteStore(small_disk / "store.db"), told.append)
    originals = [os.urandom(50_000) for _ in range(100)]
    for number, original in enumerate(originals):
        put(store, original)
        store.keep([stub(f"{number}", ref=ref_of(original))])
        store.record("c", str(number))
    assert [store.get(ref_of(original)) for original in originals] == originals
    assert [fold.key for fold in store.folds(map(str, range(100)))] == [str(number) for number in range(100)]
    assert store.recorded("c") == [str(number) for number in range(100)]
    assert [str(why) for why in told] == [f"the store {small_disk}/store.db: the disk is full; free some space"]
    assert store.warning is told[0]


def test_a_conversation_goes_on_without_a_server_and_is_brought_to_it_later() -> None:
    told: list[StoreFailed] = []
    now = Clock()
    with servers.redis() as url:
        store = FallbackStore(open_store(url), told.append, rest=60, clock=now)
        before = put(store, "before")
        store.keep([stub("a")])
        version = store.version
        port = int(url.rpartition(":")[2].partition("/")[0])
    between = put(store, "between")
    store.keep([stub("b"), stub("a", text="[anew]")])
    store.record("c", "row")
    found = store.put_stream([LONG])
    assert store.get(between) == "between" and store.get(found.ref) == LONG
    assert store.folds(["a", "b"]) == [stub("a", text="[anew]"), stub("b")]
    assert store.version > version and len(told) == 1
    with pytest.raises(StoreFailed):
        store.get(before)
    with pytest.raises(StoreFailed):
        store.get("aaaaaaaaaaaa")  # it may be there: nobody can know
    program = servers.program("redis-server")
    assert program
    with servers.running([program, "--port", str(port), "--save", ""], lambda: servers.listening(port)):
        put(store, "while it rests")
        assert store.warning is not None
        now.now += 61
        seen = store.version
        put(store, "after")
        assert store.warning is None and store.version != seen
        server = open_store(url)
        assert [server.get(ref_of(text)) for text in ("between", "while it rests", "after", LONG)] == [
            *("between", "while it rests", "after", LONG)
        ]
        assert sorted(server.folds(["a", "b"]), key=repr) == sorted([stub("a", text="[anew]"), stub("b")], key=repr)
        assert server.recorded("c") == store.recorded("c") == ["row"]
        with pytest.raises(UnknownRef):
            store.get("aaaaaaaaaaaa")
        server.close()
    assert len(told) == 1


def test_a_stream_is_held_in_memory_as_far_as_that_is_small(small_disk: Path) -> None:
    store = FallbackStore(SQLiteStore(small_disk / "store.db"), rest=0)
    block = os.urandom(1 << 20)

    def blocks(count: int) -> Iterator[bytes]:
        for number in range(count):
            yield bytes([number]) + block

    with pytest.raises(StoreFailed, match="the disk is full"):
        store.put_stream(_then_much(MAX_BUFFERED_BYTES), binary=True)
    found = store.put_stream(blocks(5), binary=True)
    assert store.get(found.ref) == b"".join(blocks(5))


def _then_much(size: int) -> Iterator[bytes]:
    for _ in range(size // (1 << 20) + 30):
        yield bytes(1 << 20)
    for _ in range(10):
        yield os.urandom(1 << 20)


def test_a_store_that_cannot_even_be_opened_is_sheltered_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = FallbackStore(SQLiteStore(tmp_path / "file" / "store.db"))
    assert (store.version, store.folds(["a"]), store.conversations(), list(store.kept())) == (0, [], [], [])
    assert store.get(put(store, "text")) == "text"
    assert "Not a directory" in str(store.warning)


def test_what_was_kept_in_memory_is_brought_when_it_is_closed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = FallbackStore(SQLiteStore(tmp_path / "file" / "store.db"))
    put(store, "text")
    (tmp_path / "file").unlink()
    store.close()
    assert SQLiteStore(tmp_path / "file" / "store.db").get(ref_of("text")) == "text"
