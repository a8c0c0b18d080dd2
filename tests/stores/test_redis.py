from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from tests.stores import servers
from tests.stores.conformance import LONG, Clock, Conformance, put, stub
from tests.stores.loads import hammer

from yohaku.core.errors import StoreFailed
from yohaku.stores import DAY, Store
from yohaku.stores import open as open_store
from yohaku.stores.redis import RedisStore


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with servers.redis() as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    client = redis.Redis.from_url(url)
    client.flushall()
    yield client
    client.config_set("maxmemory", "0")
    client.close()


@pytest.fixture
def again(url: str, clock: Clock, client: Any) -> Iterator[Callable[[], Store]]:
    opened: list[RedisStore] = []

    def opens() -> RedisStore:
        opened.append(RedisStore(redis.Redis.from_url(url), url, clock))
        return opened[-1]

    yield opens
    for each in opened:
        each.close()


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()


class TestRedis(Conformance):
    pass


@pytest.mark.slow
def test_what_processes_put_at_once_is_all_there(client: Any, url: str) -> None:
    assert hammer(url, processes=3, puts=100) == []


def test_a_server_that_is_not_there_is_said_without_its_password() -> None:
    store = open_store(f"redis://user:secret@127.0.0.1:{servers.free_port()}/0")
    for ask in (lambda: store.version, lambda: store.folds(["a"]), lambda: put(store, "text")):
        with pytest.raises(
            StoreFailed, match=r"the store redis://user:…@127.*refused.*see that the server runs"
        ) as raised:
            ask()
        assert "secret" not in str(raised.value)


def test_a_server_without_memory_is_said_and_what_was_there_stays(store: Store, client: Any) -> None:
    ref = put(store, LONG)
    client.config_set("maxmemory", "1")
    with pytest.raises(StoreFailed, match="maxmemory"):
        put(store, os.urandom(1_000_000))
    with pytest.raises(StoreFailed, match="maxmemory"):
        store.keep([stub("a")])
    assert store.get(ref) == LONG
    client.config_set("maxmemory", "0")
    store.keep([stub("a")])
    assert (store.folds(["a"]), store.version) == ([stub("a")], 1)


def test_a_server_that_comes_back_is_used_again() -> None:
    with servers.redis() as url:
        store = open_store(url)
        put(store, "before")
        port = int(url.rpartition(":")[2].partition("/")[0])
    with pytest.raises(StoreFailed):
        put(store, "between")
    program = servers.program("redis-server")
    assert program
    with servers.running(
        [program, "--port", str(port), "--save", "", "--dir", "/tmp"], lambda: servers.listening(port)
    ):
        assert store.get(put(store, "after")) == "after"


@pytest.mark.slow
def test_a_stream_that_broke_off_leaves_no_keys_and_one_that_was_killed_expires(
    store: Store, client: Any, url: str
) -> None:
    with pytest.raises(ZeroDivisionError):
        store.put_stream(os.urandom(1 << 20) + bytes(1 // number) for number in range(20, -1, -1))
    assert client.keys("*") == []
    code = (
        "import os, sys; from yohaku import stores;"
        "stores.open(sys.argv[1]).put_stream(os.urandom(1 << 20) if n else os.abort() for n in range(20, -1, -1))"
    )
    assert subprocess.run([sys.executable, "-c", code, url], check=False).returncode < 0
    (left,) = client.keys("*")
    assert 0 < client.ttl(left) <= DAY
