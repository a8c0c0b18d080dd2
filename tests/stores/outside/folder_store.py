"""A store as another package would write one: files in a folder, by the protocol and public helpers alone."""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold
from yohaku.stores import OpenedOriginal, Original, Source, StoredBytes, StoredOriginal, check_ref
from yohaku.stores.chunks import Cutter, count_lines, cut, decode, encode, first_chunk
from yohaku.stores.joined import SEPARATOR, flatten_parts
from yohaku.stores.rows import escape_name, read_fold, slot_of, unescape_name, write_fold

LOCK = threading.RLock()
EMPTY = {"version": 0, "put": {}, "binary": [], "joined": {}, "folds": {}, "seen": {}, "rows": {}}


class FolderStore:
    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    @classmethod
    def at(cls, url: str) -> FolderStore:
        return cls(Path(url.partition(":")[2]))

    @contextmanager
    def _state(self, *, write: bool = False) -> Iterator[dict[str, Any]]:
        path = self._folder / "state.json"
        with LOCK:
            state = json.loads(path.read_text("utf-8") if path.exists() else json.dumps(EMPTY))
            yield state
            if write:
                self._folder.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(state), encoding="utf-8")

    @property
    def version(self) -> int:
        with self._state() as state:
            return int(state["version"])

    def put(self, ref: str, original: str | bytes) -> None:
        with self._state(write=True) as state:
            self._put(state, ref, original)

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        with self._state(write=True) as state:
            for ref, original in originals:
                self._put(state, ref, original)

    def _put(self, state: dict[str, Any], ref: str, original: str | bytes) -> None:
        if ref not in state["put"]:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / check_ref(ref)).write_bytes(encode(original))
            state["binary"] += [ref] if isinstance(original, bytes) else []
        state["put"][ref] = int(self._clock())

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        pairs = flatten_parts(self, parts)
        self.put_all(pairs)
        with self._state(write=True) as state:
            if ref not in state["put"]:
                state["joined"][ref] = [inner for inner, _ in pairs]
            state["put"][ref] = int(self._clock())

    def parts(self, ref: str) -> tuple[str, ...]:
        with self._state() as state:
            return tuple(state["joined"].get(ref, ()))

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        cutter = Cutter(source, binary=binary)
        data = b"".join(cutter)
        self.put(cutter.original.ref, decode(data, binary))
        return cutter.original

    def get(self, ref: str) -> str | bytes:
        with self._state() as state:
            if ref not in state["put"]:
                raise UnknownRef(ref)
            if joined := state["joined"].get(ref):
                return SEPARATOR.join(str(self.get(part)) for part in joined)
            return decode((self._folder / ref).read_bytes(), ref in state["binary"])

    def about(self, ref: str) -> Original:
        original = self.get(ref)
        data = encode(original)
        return Original(ref, len(data), count_lines(data), isinstance(original, bytes))

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        chunks = list(cut([encode(self.get(ref))]))
        marks = array("Q", [0])
        for chunk in chunks[:-1]:
            marks.append(marks[-1] + chunk.count(b"\n"))
        start = first_chunk(marks, line)
        return OpenedOriginal(self.about(ref), map(StoredBytes, marks[start:], chunks[start:]))

    def keep(self, folds: Iterable[Fold]) -> None:
        with self._state(write=True) as state:
            state["version"] += 1
            for fold in folds:
                state["folds"].setdefault(fold.key, {})[slot_of(fold)] = write_fold(fold)
                state["seen"][fold.key] = int(self._clock())

    def forget(self, folds: Iterable[Fold]) -> None:
        with self._state(write=True) as state:
            state["version"] += 1
            for fold in folds:
                state["folds"].get(fold.key, {}).pop(slot_of(fold), None)

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        with self._state(write=True) as state:
            found = [key for key in keys if key in state["folds"]]
            state["seen"].update(dict.fromkeys(found, int(self._clock())))
            return [
                read_fold(slot, row, str(self._folder)) for key in found for slot, row in state["folds"][key].items()
            ]

    def record(self, conversation: str, row: str) -> None:
        with self._state(write=True) as state:
            state["rows"].setdefault(conversation, []).append(row)

    def recorded(self, conversation: str) -> list[str]:
        with self._state() as state:
            return list(state["rows"].get(conversation, ()))

    def conversations(self) -> list[str]:
        with self._state() as state:
            return sorted(name for name, rows in state["rows"].items() if rows)

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        with self._state(write=True) as state:
            kept = state["rows"].get(conversation, [])
            for row in rows:
                if row in kept:
                    kept.remove(row)

    def kept(self) -> Iterator[StoredOriginal]:
        with self._state() as state:
            for ref, at in sorted(state["put"].items(), key=lambda put: put[1], reverse=True):
                joined = ref in state["joined"]
                size = 12 * len(state["joined"][ref]) if joined else (self._folder / ref).stat().st_size
                yield StoredOriginal(ref, size, at, joined)

    def standing(self, since: int) -> Iterator[Fold]:
        with self._state() as state:
            for key, slots in state["folds"].items():
                if state["seen"][key] >= since:
                    yield from (read_fold(slot, row, str(self._folder)) for slot, row in slots.items())

    def expire(self, before: int) -> int:
        with self._state(write=True) as state:
            gone = [key for key in state["folds"] if state["seen"][key] < before]
            count = sum(len(state["folds"].pop(key)) for key in gone)
            state["version"] += bool(count)
            return count

    def drop(self, refs: Iterable[str], before: int) -> int:
        with self._state(write=True) as state:
            gone = [ref for ref in refs if state["put"].get(ref, before) < before]
            for ref in gone:
                del state["put"][ref]
                state["joined"].pop(ref, None)
                (self._folder / ref).unlink(missing_ok=True)
            return len(gone)

    def of(self, tenant: str) -> FolderStore:
        return FolderStore(self._folder / f"tenant-{escape_name(tenant)}", self._clock) if tenant else self

    def tenants(self) -> list[str]:
        with self._state() as state:
            ours = [""] * bool(state["put"] or state["folds"] or state["rows"])
        inner = sorted(self._folder.glob("tenant-*")) if self._folder.is_dir() else []
        names = [unescape_name(path.name.removeprefix("tenant-"), str(path)) for path in inner]
        return ours + sorted(name for name in names if self.of(name).tenants())

    def close(self) -> None:
        pass
