from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from tests.stores import servers
from tests.stores.conformance import LONG, Clock, Conformance, chat, put, stub
from tests.stores.damage import fill, spoil
from tests.stores.loads import hammer
from tests.stores.reading import wrong_in

from yohaku import Session, messages
from yohaku.cli.main import main
from yohaku.cli.parser import parser
from yohaku.cli.proxy import open_proxy
from yohaku.config.settings import Settings
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


def stored(client: Any) -> list[bytes]:
    """Return all keys but the one that holds the number of the format."""
    return [key for key in client.keys("*") if not key.endswith(b":format")]


@pytest.mark.slow
def test_a_stream_that_broke_off_leaves_no_keys_and_one_that_was_killed_expires(
    store: Store, client: Any, url: str
) -> None:
    with pytest.raises(ZeroDivisionError):
        store.put_stream(os.urandom(1 << 20) + bytes(1 // number) for number in range(20, -1, -1))
    assert stored(client) == []
    code = (
        "import os, sys; from yohaku import stores;"
        "stores.open(sys.argv[1]).put_stream(os.urandom(1 << 20) if n else os.abort() for n in range(20, -1, -1))"
    )
    assert subprocess.run([sys.executable, "-c", code, url], check=False).returncode < 0
    (left,) = stored(client)
    assert 0 < client.ttl(left) <= DAY


@pytest.mark.slow
def test_no_damaged_key_gives_another_original_or_error(url: str, client: Any) -> None:
    store = RedisStore(redis.Redis.from_url(url), url)
    content = fill(store)
    healthy = {key: client.dump(key) for key in client.keys("*")}
    found = []
    for seed in range(60):
        how = _spoil_a_key(client, random.Random(seed))
        found += [f"{seed} {how}: {wrong}" for wrong in wrong_in(store, content)]
        client.flushall()
        for key, dumped in healthy.items():
            client.restore(key, 0, dumped)
    assert found == []


def _spoil_a_key(client: Any, chance: random.Random) -> object:
    kind = chance.choice(("o:", "o:", "o:", "f:", "r:", "version", "conversations", "refs"))
    keys = sorted(client.keys(f"yohaku:{{}}:{kind}*"))
    key = chance.choice(keys)
    if chance.random() < 0.1:
        client.delete(key)
        chance.choice(
            (lambda: client.set(key, "text"), lambda: client.rpush(key, "row"), lambda: client.sadd(key, "x"))
        )()
        return key, "type"
    if kind in ("o:", "f:"):
        field = chance.choice(sorted(client.hkeys(key)))
        others = [value for other in keys for value in client.hmget(other, field) if value is not None]
        value = spoil(client.hget(key, field), others, chance)
        client.hset(key, field, value)
        return key, field, value[:30]
    if kind == "r:":
        rows = client.lrange(key, 0, -1)
        at = chance.randrange(len(rows))
        client.lset(key, at, value := spoil(rows[at], rows, chance))
        return key, value[:30]
    if kind == "version":
        client.set(key, value := spoil(client.get(key), [b"-1", b"1e9"], chance))
        return key, value
    if kind == "refs":
        client.zadd(key, {chance.choice((b"\xff", b"short", b"zzzzzzzzzzzz")): 1e9})
        return key
    client.sadd(key, chance.choice((b"\xff", b"%FF", b"none")))
    return key


@pytest.fixture
def evicting(client: Any) -> Iterator[str]:
    client.config_set("maxmemory-policy", "allkeys-lru")
    yield "allkeys-lru"
    client.config_set("maxmemory-policy", "noeviction")


def test_what_a_later_version_keeps_there_is_refused_in_one_line(
    client: Any, url: str, again: Callable[[], Store], capfd: pytest.CaptureFixture[str]
) -> None:
    ref = put(again(), "text")
    assert client.get("yohaku:{}:format") == b"4"
    client.set("yohaku:{}:format", 99)
    for ask in (lambda: again().get(ref), lambda: put(again(), "more"), lambda: again().folds(["a"])):
        with pytest.raises(StoreFailed, match=r"a newer yohaku wrote it.*update yohaku"):
            ask()
    assert main(["recall", ref, "--store", url]) == 2
    told = capfd.readouterr()
    assert told.err.count("\n") == 1 and "newer yohaku" in told.err and not told.out
    assert client.get("yohaku:{}:format") == b"99"


@pytest.mark.parametrize("number", [None, 3])
def test_what_an_earlier_version_kept_there_is_gone_on_with(
    number: int | None, client: Any, again: Callable[[], Store]
) -> None:
    first = again()
    ref = put(first, "kept")
    first.keep([stub("a")])
    client.delete("yohaku:{}:format")
    if number:
        client.set("yohaku:{}:format", number)
    store = again()
    assert (store.get(ref), store.folds(["a"])) == ("kept", [stub("a")])
    assert client.get("yohaku:{}:format") == b"4"


def test_a_server_that_takes_no_writes_is_read_in_an_older_format(client: Any, again: Callable[[], Store]) -> None:
    ref = put(again(), "kept")
    client.delete("yohaku:{}:format")
    client.config_set("maxmemory", "1")
    assert again().get(ref) == "kept"


def test_a_server_that_may_evict_what_is_kept_is_said_once(evicting: str, url: str) -> None:
    session = Session(4_000, model="gpt-4o", store=url)
    for turns in (40, 80, 120):
        session.fit(chat(turns))
    assert session.receipt and session.receipt.folds
    (notice,) = session.warnings
    assert notice.code == "store_evicts" and evicting in notice.text and "noeviction" in notice.text
    assert evicting in messages.notice(notice.code, notice.text, notice.facts, "ja")


def test_a_server_that_evicts_nothing_is_not_spoken_of(client: Any, url: str) -> None:
    session = Session(4_000, model="gpt-4o", store=url)
    session.fit(chat(40))
    assert session.receipt and session.receipt.folds and session.warnings == ()


def test_a_server_that_tells_nothing_of_itself_is_used_as_it_is(evicting: str, url: str, client: Any) -> None:
    client.acl_setuser("shy", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-info", "-config"])
    shy = url.replace("redis://", "redis://shy:x@")
    session = Session(4_000, model="gpt-4o", store=shy)
    session.fit(chat(40))
    assert session.receipt and session.receipt.folds and session.warnings == ()


def test_fit_proxy_and_doctor_say_that_a_server_may_evict(
    evicting: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"model": "gpt-4o", "messages": chat(40)}))
    assert main(["fit", str(given), "--window", "4000", "--store", url, "-q"]) == 0
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and evicting in told
    opened = open_proxy(parser().parse_args(["proxy", "--store", url]), Settings())
    assert opened
    with opened:
        assert evicting in capfd.readouterr().err
    monkeypatch.setenv("YOHAKU_STORE", url)
    assert main(["doctor"]) == 1
    assert evicting in capfd.readouterr().out
