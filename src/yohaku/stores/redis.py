"""Store on a Redis server, for many machines. Needs Redis 6.2 or later.

Law: what belongs together is written in one transaction. Durability depends on the server: set `appendonly yes` and no
eviction.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import Any

from yohaku.core.errors import BadSetting, StoreFailed
from yohaku.core.folds import Fold
from yohaku.stores import (
    DAY,
    HOUR,
    Original,
    Source,
    StoredOriginal,
    check_ref,
    joined,
    redact,
)
from yohaku.stores.chunks import (
    CHUNK_BYTES,
    CHUNKS_PER_WRITE,
    Cutter,
    count_lines,
    damaged,
    encode,
    pack,
)
from yohaku.stores.format import FORMAT, is_older
from yohaku.stores.integrity import seal
from yohaku.stores.joined import JOINED
from yohaku.stores.opening import RowStore, StoredRow
from yohaku.stores.rows import (
    escape_name,
    read_fold,
    read_record,
    slot_of,
    unescape_name,
    write_fold,
    write_old_record,
    write_record,
)

try:
    import redis
except ImportError:
    raise BadSetting("the client for Redis is not installed: pip install 'yohaku[redis]'", "no_client") from None

# Keys, each after yohaku:{tenant}: — o:REF a hash of facts and chunks by number; refs, when each was put; f:KEY a hash
# of folds by slot; folds, when each key was seen; version; r:CONVERSATION a list; conversations; t:… while it arrives;
# format, the number of the format.
FACTS = ("size", "lines", "binary", "marks")
FORMAT_NUMBER = """
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[1], ARGV[1])
end
"""
PUBLISH = """
if redis.call('EXISTS', KEYS[1]) == 0 then
    return redis.call('EXISTS', KEYS[2])
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PERSIST', KEYS[1])
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
return 1
"""
# A script, since the client repeats a request whose answer was lost: what was renamed must not be made again, empty.
JOIN = """
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], unpack(ARGV, 3))
end
return redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
"""
DROP = """
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if at and tonumber(at) < tonumber(ARGV[2]) then
    redis.call('ZREM', KEYS[1], ARGV[1])
    return redis.call('UNLINK', KEYS[2])
end
return 0
"""
ERASE = """
for place = 2, #ARGV, 2 do
    if redis.call('LREM', KEYS[1], 1, ARGV[place]) == 0 then
        redis.call('LREM', KEYS[1], 1, ARGV[place + 1])
    end
end
return redis.call('EXISTS', KEYS[1]) == 1 or redis.call('SREM', KEYS[2], ARGV[1])
"""
EXPIRE = """
local seen = redis.call('ZSCORE', KEYS[1], ARGV[1])
if seen and tonumber(seen) < tonumber(ARGV[2]) then
    redis.call('ZREM', KEYS[1], ARGV[1])
    local gone = redis.call('HLEN', KEYS[2])
    redis.call('UNLINK', KEYS[2])
    return gone
end
return 0
"""


class RedisStore(RowStore):
    def __init__(self, client: redis.Redis, where: str = "redis", clock: Callable[[], float] = time.time) -> None:
        self._client: Any = client
        self._where = where
        self._clock = clock
        self._tenant = ""
        self._format_checked = False

    @classmethod
    def at(cls, url: str) -> RedisStore:
        return cls(redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=30), redact(url))

    def of(self, tenant: str) -> RedisStore:
        other = RedisStore(self._client, self._where, self._clock)
        other._tenant = escape_name(tenant)
        return other

    def close(self) -> None:
        self._client.close()

    @property
    def eviction_policy(self) -> str:
        """The policy by which the server drops keys when its memory is full; "" if it drops none, or does not tell."""
        try:
            policy = str(self._client.info("memory").get("maxmemory_policy", ""))
        except redis.RedisError:
            return ""
        return "" if policy == "noeviction" else policy

    def _key(self, *names: str) -> str:
        return ":".join(("yohaku", f"{{{self._tenant}}}", *names))

    def _decode(self, name: bytes) -> str:
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise damaged(self._where) from None

    @contextmanager
    def _client_errors(self) -> Iterator[Any]:
        try:
            if not self._format_checked:
                self._check_format()
                self._format_checked = True
            yield self._client
        except redis.RedisError as why:
            remedy = "see that the server runs, and has memory and disk left, or choose another store"
            reason = (str(why).strip() or type(why).__name__).splitlines()[0]
            raise StoreFailed(self._where, reason, remedy) from why

    def _check_format(self) -> None:
        found = self._client.get(self._key("format"))
        if found is not None and not _is_number(found):
            raise damaged(self._where)
        if is_older(int(found or 0), self._where):
            with suppress(redis.RedisError):  # read-only or full: an older format can be used as it is
                self._client.register_script(FORMAT_NUMBER)([self._key("format")], [FORMAT])

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._client_errors() as client, client.pipeline(transaction=True) as pipe:
            yield pipe
            pipe.execute()

    @property
    def version(self) -> int:
        with self._client_errors() as client:
            found = client.get(self._key("version"))
        if found is not None and not _is_number(found):
            raise damaged(self._where)
        return int(found or 0)

    def put(self, ref: str, original: str | bytes) -> None:
        self.put_all([(ref, original)])

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        now = int(self._clock())
        first: dict[str, bytes] = {}
        binary = set()
        for ref, original in originals:
            if check_ref(ref) not in first:
                first[ref] = encode(original)
                binary |= {ref} if isinstance(original, bytes) else set()
        large = [ref for ref, data in first.items() if len(data) > CHUNK_BYTES]
        for ref in self._unknown(large, now):
            self._put_chunks(Cutter([first[ref]], binary=ref in binary, ref=ref))
        small = [ref for ref in first if ref not in set(large)]
        for start in range(0, len(small), CHUNKS_PER_WRITE):  # a lookup before would cost as much as the put
            with self._transaction() as pipe:
                for ref in small[start : start + CHUNKS_PER_WRITE]:
                    data = first[ref]
                    found = Original(ref, len(data), count_lines(data), ref in binary)
                    facts = {"size": found.size, "lines": found.lines, "binary": int(found.binary)}
                    pipe.hset(self._key("o", ref), mapping={**facts, "0": seal(pack(data), found)})
                    pipe.zadd(self._key("refs"), {ref: now})

    def _unknown(self, refs: list[str], now: int) -> list[str]:
        with self._client_errors() as client:
            put_at = client.zmscore(self._key("refs"), refs) if refs else []
        return [ref for ref, at in zip(refs, put_at, strict=True) if at is None or at < now - HOUR]

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        pairs = joined.flatten_parts(self, parts)
        self.put_all(pairs)
        found, packed = joined.make_manifest(check_ref(ref), pairs)
        with self._client_errors() as client:
            keys = [self._key("o", ref), self._key("refs")]
            facts = ["size", found.size, "lines", found.lines, "binary", JOINED, "0", packed]
            client.register_script(JOIN)(keys, [ref, int(self._clock()), *facts])

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        return self._put_chunks(Cutter(source, binary=binary))

    def _put_chunks(self, cutter: Cutter) -> Original:
        """Write chunks under a temporary key, which expires after a crash, and rename it at the end."""
        arriving = self._key("t", token_hex(16))
        chunks, numbers = cutter.packed(), itertools.count(1)
        batch = {"0": next(chunks)}
        try:
            while batch:
                with self._transaction() as pipe:
                    pipe.hset(arriving, mapping=batch)
                    pipe.expire(arriving, DAY)
                batch = {str(next(numbers)): chunk for chunk in itertools.islice(chunks, CHUNKS_PER_WRITE)}
        except BaseException:
            with suppress(StoreFailed), self._client_errors() as client:
                client.unlink(arriving)
            raise
        found = cutter.original
        facts = (found.size, found.lines, int(found.binary), seal(cutter.index, found))
        with self._client_errors() as client:
            keys = [arriving, self._key("o", found.ref), self._key("refs")]
            given = [found.ref, int(self._clock()), *itertools.chain(*zip(FACTS, facts, strict=True))]
            if not client.register_script(PUBLISH)(keys, given):
                raise StoreFailed(self._where, "what was being put is gone", "put it again")
        return found

    def _find(self, ref: str, line: int = 0) -> StoredRow | None:
        """Find an original; with its first chunk only for line 0, or if it has no other: later lines rarely need it."""
        key = self._key("o", check_ref(ref))
        with self._client_errors() as client:
            fields = FACTS if line else (*FACTS, "0")
            size, lines, kind, index, *head = client.hmget(key, fields)
            if size is None:
                return None
            if index is None and not head:
                head = [client.hget(key, "0")]
        if not (_is_number(size) and _is_number(lines) and kind in (b"0", b"1", b"2")):
            raise damaged(self._where)
        original = Original(ref, int(size), int(lines), kind == b"1")
        return StoredRow(original, _joins(kind), index, head[0] if head else None, partial(self._fetch, key))

    def _fetch(self, key: str, start: int, stop: int) -> list[object]:
        with self._client_errors() as client:
            chunks = client.hmget(key, list(range(start, stop)))
        return [chunk for chunk in chunks if chunk is not None]

    def keep(self, folds: Iterable[Fold]) -> None:
        now = int(self._clock())
        with self._transaction() as pipe:
            for fold in folds:
                pipe.hset(self._key("f", fold.key), slot_of(fold), write_fold(fold))
                pipe.zadd(self._key("folds"), {fold.key: now})
            pipe.incr(self._key("version"))

    def forget(self, folds: Iterable[Fold]) -> None:
        with self._transaction() as pipe:
            for fold in folds:
                pipe.hdel(self._key("f", fold.key), slot_of(fold))
            pipe.incr(self._key("version"))

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        wanted = list(keys)
        if not wanted:
            return []
        now = int(self._clock())
        with self._client_errors() as client:
            seen = client.zmscore(self._key("folds"), wanted)
            there = [key for key, at in zip(wanted, seen, strict=True) if at is not None]
            stale = [key for key, at in zip(wanted, seen, strict=True) if at is not None and at < now - DAY]
            if stale:
                client.zadd(self._key("folds"), dict.fromkeys(stale, now), xx=True)
            return list(self._standing_on(client, there))

    def _standing_on(self, client: Any, keys: list[str]) -> Iterator[Fold]:
        for start in range(0, len(keys), 1000):
            with client.pipeline(transaction=False) as pipe:
                for key in keys[start : start + 1000]:
                    pipe.hgetall(self._key("f", key))
                for key, slots in zip(keys[start : start + 1000], pipe.execute(), strict=True):
                    for slot in sorted(slots):
                        fold = read_fold(slot, slots[slot], self._where)
                        if fold.key != key:
                            raise damaged(self._where)
                        yield fold

    def record(self, conversation: str, row: str) -> None:
        with self._transaction() as pipe:
            pipe.rpush(self._key("r", escape_name(conversation)), write_record(conversation, row))
            pipe.sadd(self._key("conversations"), escape_name(conversation))

    def recorded(self, conversation: str) -> list[str]:
        with self._client_errors() as client:
            rows = client.lrange(self._key("r", escape_name(conversation)), 0, -1)
        return [read_record(conversation, row, self._where) for row in rows]

    def conversations(self) -> list[str]:
        with self._client_errors() as client:
            names = client.smembers(self._key("conversations"))
        return sorted(unescape_name(name, self._where) for name in names)

    def tenants(self) -> list[str]:
        found: set[str] = set()
        with self._client_errors() as client:
            for kind in ("refs", "folds", "conversations"):
                for key in client.scan_iter(match=f"yohaku:{{*}}:{kind}", count=1000):
                    name = self._decode(key).removeprefix("yohaku:{").removesuffix(f"}}:{kind}")
                    found.add(unescape_name(name, self._where))
        return sorted(found)

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        name = escape_name(conversation)
        with self._client_errors() as client:
            keys = [self._key("r", name), self._key("conversations")]
            both = ((write_record(conversation, row), write_old_record(row)) for row in rows)
            client.register_script(ERASE)(keys, [name, *itertools.chain(*both)])

    def kept(self) -> Iterator[StoredOriginal]:
        with self._client_errors() as client:
            rows = client.zrevrange(self._key("refs"), 0, -1, withscores=True)
            for start in range(0, len(rows), 1000):
                some = [(self._decode(ref), at) for ref, at in rows[start : start + 1000]]
                with client.pipeline(transaction=False) as pipe:
                    for ref, _ in some:
                        pipe.memory_usage(self._key("o", ref), samples=0)
                        pipe.hget(self._key("o", ref), "binary")
                    answers = pipe.execute()
                for (ref, at), stored, binary in zip(some, answers[::2], answers[1::2], strict=True):
                    yield StoredOriginal(ref, stored or 0, int(at), _joins(binary))

    def standing(self, since: int) -> Iterator[Fold]:
        with self._client_errors() as client:
            keys = [self._decode(key) for key in client.zrangebyscore(self._key("folds"), since, "+inf")]
            yield from self._standing_on(client, keys)

    def expire(self, before: int) -> int:
        with self._client_errors() as client:
            script = client.register_script(EXPIRE)
            folds = self._key("folds")
            keys = [self._decode(key) for key in client.zrangebyscore(folds, "-inf", f"({before}")]
            gone = sum(script([folds, self._key("f", key)], [key, before]) for key in keys)
            if gone:
                client.incr(self._key("version"))
            return int(gone)

    def drop(self, refs: Iterable[str], before: int) -> int:
        with self._client_errors() as client:
            script = client.register_script(DROP)
            wanted = [check_ref(ref) for ref in refs]
            return sum(script([self._key("refs"), self._key("o", ref)], [ref, before]) for ref in wanted)


def _is_number(value: bytes | None) -> bool:
    return value is not None and value.isdigit() and len(value) < 20


def _joins(binary: bytes | None) -> bool:
    return binary == str(JOINED).encode()
