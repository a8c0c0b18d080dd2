"""Stores beside the bare client library, as ratios within one run; and a gigabyte, with the memory it takes.

python3 dev.py stores               after its loads
python3 benchmarks/stores.py        alone; `--gigabyte 0` leaves the gigabyte out

Bare: the client alone writes the same 50 KB, as they are, in one row or key; and for 200 lines fetches the one chunk,
known beforehand, cut by hand and packed like ours, unpacks and splits it, and numbers the lines.
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from yohaku import recall, stores  # noqa: E402
from yohaku.core.originals import ref_of  # noqa: E402
from yohaku.stores.chunks import zstd  # noqa: E402

CHUNK = 64 * 1024
Work = Callable[[], object]


def log(lines: int, seed: int = 0) -> str:
    day = f"2026-01-{seed % 28 + 1:02}"
    return "".join(
        f"{day} 12:{n // 60 % 60:02}:{n % 60:02} INFO {n * 7919 % 97} took {n * 104729 % 1000003} 済\n"
        for n in range(lines)
    )


@cache
def puts() -> list[str]:
    """About 50 KB each."""
    return [log(560, seed) for seed in range(28)]


@cache
def long() -> str:
    """About 10 MB."""
    return log(150_000)


LINE = 80_000


def ours(url: str, rounds: int) -> tuple[Work, Work, Work]:
    store = stores.open(url)
    fresh = [f"{number}\n{puts()[number % 28]}" for number in range(rounds + 10)]
    given = iter([(ref_of(text), text) for text in fresh])
    ref = ref_of(long())
    store.put(ref, long())
    return lambda: store.put(*next(given)), lambda: recall.read(store, ref, LINE, 200), lambda: store.version


def pieces() -> Iterator[bytes]:
    data = long().encode()
    return (zstd.compress(data[at : at + CHUNK], 1) for at in range(0, len(data), CHUNK))


def lines_of(data: bytes) -> list[tuple[int, str]]:
    return list(enumerate(zstd.decompress(data).decode("utf-8", "replace").split("\n")))[:200]


def place() -> int:
    """Return the chunk that holds the line, in chunks cut by hand."""
    return len("\n".join(long().split("\n")[:LINE]).encode()) // CHUNK


def bare_sqlite(url: str) -> tuple[Work, Work]:
    db = sqlite3.connect(url.removeprefix("sqlite://") + ".bare", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE bare (key TEXT PRIMARY KEY, data BLOB)")
    db.executemany("INSERT INTO bare VALUES (?, ?)", ((f"long{n}", piece) for n, piece in enumerate(pieces())))
    numbers, wanted = itertools.count(), f"long{place()}"

    def put() -> None:
        number = next(numbers)
        db.execute("INSERT INTO bare VALUES (?, ?)", (f"{number}", puts()[number % 28].encode()))

    def read() -> object:
        (data,) = db.execute("SELECT data FROM bare WHERE key = ?", (wanted,)).fetchone()
        return lines_of(data)

    return put, read


def bare_redis(url: str) -> tuple[Work, Work]:
    import redis

    client = redis.Redis.from_url(url)
    for number, piece in enumerate(pieces()):
        client.set(f"bare:long{number}", piece)
    numbers, wanted = itertools.count(), f"bare:long{place()}"

    def put() -> None:
        number = next(numbers)
        client.set(f"bare:{number}", puts()[number % 28].encode())

    def read() -> object:
        data = client.get(wanted)
        assert isinstance(data, bytes)
        return lines_of(data)

    return put, read


def bare_postgres(url: str) -> tuple[Work, Work]:
    import psycopg

    db = psycopg.connect(url, autocommit=True)
    db.execute("CREATE TABLE bare (key text PRIMARY KEY, data bytea)")
    for number, piece in enumerate(pieces()):
        db.execute("INSERT INTO bare VALUES (%s, %s)", (f"long{number}", piece))
    numbers, wanted = itertools.count(), f"long{place()}"

    def put() -> None:
        number = next(numbers)
        db.execute("INSERT INTO bare VALUES (%s, %s)", (f"{number}", puts()[number % 28].encode()))

    def read() -> object:
        row = db.cursor(binary=True).execute("SELECT data FROM bare WHERE key = %s", (wanted,)).fetchone()
        assert row
        return lines_of(row[0])

    return put, read


def compare(bare: Work, own: Work, rounds: int) -> tuple[float, float, float]:
    """Time both in turns. Return the milliseconds of the fastest tenth of each, and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, taken in zip((bare, own), times, strict=True):
            began = time.perf_counter()
            work()
            taken.append((time.perf_counter() - began) * 1000)
    first, second = (statistics.quantiles(taken, n=10)[0] for taken in times)
    return first, second, second / first


def ratios(url: str, bare: Callable[[str], tuple[Work, Work]], rounds: int) -> list[float]:
    bare_put, bare_read = bare(url)
    put, read, version = ours(url, rounds)
    name = url.partition(":")[0]
    found = []
    for what, one, other in (("put 50 KB", bare_put, put), ("200 lines of 10 MB", bare_read, read)):
        for _ in range(5):
            one(), other()
        alone, own, ratio = compare(one, other, rounds)
        print(f"{name:10} {what:18}  bare {alone:6.2f} ms  ours {own:6.2f} ms  ratio {ratio:.2f}", flush=True)
        found.append(ratio)
    asked = statistics.median(_timed(version) for _ in range(rounds)) * 1e6
    print(f"{name:10} version             {asked:.0f} µs", flush=True)
    return found


def _timed(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def gigabyte(path: str, size: int) -> None:
    """Run in a process of its own, to measure its memory."""
    block = log(15_000).encode()

    def source() -> Iterator[bytes]:
        for number in range(size // len(block)):
            yield block
            yield f"needle {number}\n".encode()

    store = stores.open(f"sqlite://{path}")
    began = time.perf_counter()
    original = store.put_stream(source())
    taken = time.perf_counter() - began
    print(f"{original.size / 1e9:.2f} GB, {original.lines:,} lines: stored in {taken:.1f} s, ", end="")
    print(f"{Path(path).stat().st_size / 1e6:.0f} MB on disk", flush=True)
    for what, work in (
        ("first 200 lines", lambda: recall.read(store, original.ref, 1, 200)),
        ("200 lines from the middle", lambda: recall.read(store, original.ref, original.lines // 2, 200)),
        ("search all of it", lambda: recall.grep(store, original.ref, r"needle \d+", limit=2000, seconds=600)),
        ("full text over the store", lambda: recall.search(store, "NEEDLE 139", seconds=600)),
    ):
        began = time.perf_counter()
        found = work()
        count = len(found.lines) if isinstance(found, recall.Lines) else len(found.hits)
        print(f"  {what}: {(time.perf_counter() - began) * 1000:,.1f} ms, {count:,} found", flush=True)
    peak = peak_memory()
    print(f"  peak memory: {peak:.0f} MB", flush=True)
    sys.exit(peak >= 100)


def peak_memory() -> float:
    """Return megabytes. `getrusage` would include those of the parent."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--gigabyte", type=int, default=1_000_000_000, help="bytes of the large output; 0 for none")
    parser.add_argument("--in", dest="path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.path:
        gigabyte(given.path, given.gigabyte)
    from tests.stores import servers  # not above: the process with the gigabyte holds nothing it does not need

    with tempfile.TemporaryDirectory() as folder, servers.redis() as redis_url, servers.postgres() as postgres_url:
        found = ratios(f"sqlite://{folder}/store.db", bare_sqlite, given.rounds)
        found += ratios(redis_url, bare_redis, given.rounds)
        found += ratios(postgres_url, bare_postgres, given.rounds)
        code = 0
        if given.gigabyte:
            command = [sys.executable, __file__, "--in", f"{folder}/large.db", "--gigabyte", str(given.gigabyte)]
            code = subprocess.run(command, check=False).returncode
    print(f"worst ratio {max(found):.2f} (at most 2)")
    sys.exit(code or max(found) > 2)


if __name__ == "__main__":
    main()
