"""Many processes on one store, and processes killed while they write: short in the tests, long by `dev.py stores`.

python3 -m tests.stores.loads [--kills 1000] [--processes 8] [--puts 10000]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from yohaku import stores
from yohaku.core.folds import Stub
from yohaku.core.originals import Slot, ref_of
from yohaku.stores.sqlite import SQLiteStore


def sample(number: int) -> str:
    """Mostly small, now and then of several chunks; the same for the same number."""
    unit = f"output {number} 出力\n"
    return unit * (12_000 if number % 50 == 49 else number % 40 + 1)


def start(task: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.stores.loads", "--task", task, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def hammer(url: str, processes: int, puts: int) -> list[str]:
    """What went wrong when so many processes each put and read so many originals and kept their folds."""
    started = [start("puts", url, str(number), str(puts)) for number in range(processes)]
    wrong = [f"process {number}: {told}" for number, each in enumerate(started) if (told := each.communicate()[0])]
    wrong += [
        f"process {number} ended with {each.returncode}" for number, each in enumerate(started) if each.returncode
    ]
    store = stores.open(url)
    expected = {ref_of(sample(n)) for n in range(puts)} | {
        ref_of(f"{p} {n}") for p in range(processes) for n in range(puts)
    }
    missing = expected - {kept.ref for kept in store.kept()}
    wrong += [f"{len(missing)} originals are missing"] if missing else []
    keys = {f"{p}-{n}" for p in range(processes) for n in range(0, puts, 10)}
    lost = keys - {fold.key for fold in store.folds(keys)}
    wrong += [f"{len(lost)} folds are missing"] if lost else []
    if store.version != len(keys):
        wrong.append(f"the version is {store.version}, after {len(keys)} folds")
    store.close()
    return wrong


def puts(url: str, process: str, count: str) -> None:
    """One process of `hammer`: half of what it puts the others put too, and it reads what they may have put."""
    store = stores.open(url)
    dice = random.Random(int(process))
    for number in range(int(count)):
        for original in (sample(number), f"{process} {number}"):
            store.put(ref_of(original), original)
        seen = sample(dice.randrange(number + 1))
        if store.get(ref_of(seen)) != seen:
            print(f"{ref_of(seen)} came back changed")
        if number % 10 == 0:
            text = Stub(f"{process}-{number}", Slot("result", 0), "[folded]", ref_of(seen), "result", "why", 9, 1)
            store.keep([text])
    store.close()


def kill_while_writing(path: Path, kills: int) -> list[str]:
    """What was missing after a writing process was killed so many times: everything it acknowledged must be there."""
    wrong = []
    dice = random.Random(kills)
    done = 0
    for kill in range(kills):
        writer = start("writes", str(path), str(done))
        assert writer.stdout
        time.sleep(dice.random() * 0.05)
        first = writer.stdout.readline()  # it has begun
        time.sleep(dice.random() ** 2 * 0.1)
        writer.send_signal(signal.SIGKILL)
        told = [line for line in [first, *writer.communicate()[0].splitlines(keepends=True)] if line.endswith("\n")]
        numbers = [int(line) for line in told]
        store = SQLiteStore(path)
        for number in numbers:
            original = sample(number)
            if store.get(ref_of(original)) != original:
                wrong.append(f"kill {kill}: {number} came back changed")
            if not store.folds([f"key {number}"]) or str(number) not in store.recorded(f"{number // 100}"):
                wrong.append(f"kill {kill}: fold or row {number} is missing")
        store.close()
        done = max([done, *(number + 1 for number in numbers)])
        if kills >= 100 and kill % 100 == 99:
            print(f"{kill + 1} kills, {done} acknowledged, {len(wrong)} wrong", flush=True)
    store = SQLiteStore(path)
    wrong += [f"{n} is lost" for n in range(done) if store.get(ref_of(sample(n))) != sample(n)]
    store.close()
    if (checked := _integrity(path)) != "ok":
        wrong.append(checked)
    return wrong


def _integrity(path: Path) -> str:
    import sqlite3

    db = sqlite3.connect(path)
    found: str = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return found


def writes(path: str, begin: str) -> None:
    """Says each number once all that belongs to it was acknowledged; ends when it is killed."""
    store = SQLiteStore(path)
    number = int(begin)
    while True:
        original = sample(number)
        if number % 3:
            store.put(ref_of(original), original)
        else:
            store.put_stream([original])
        store.keep([Stub(f"key {number}", Slot("result", 0), "[folded]", ref_of(original), "result", "why", 9, 1)])
        store.record(f"{number // 100}", str(number))
        os.write(1, f"{number}\n".encode())
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--puts", type=int, default=10_000)
    given = parser.parse_args()
    if given.task:
        {"puts": puts, "writes": writes}[given.task[0]](*given.task[1:])
        return
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        wrong += kill_while_writing(Path(folder) / "killed.db", given.kills)
        print(f"sqlite, {given.kills} kills: {len(wrong)} wrong, {time.monotonic() - began:.0f} s", flush=True)
        from tests.stores.servers import postgres, redis

        with redis() as redis_url, postgres() as postgres_url:
            for url in (f"sqlite://{folder}/hammered.db", redis_url, postgres_url):
                began = time.monotonic()
                found = hammer(url, given.processes, given.puts)
                told = f"{url.partition(':')[0]}, {given.processes} × {given.puts}: {len(found)} wrong"
                print(f"{told}, {time.monotonic() - began:.0f} s", flush=True)
                wrong += found
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
