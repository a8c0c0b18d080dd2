"""Files the model has read or written, with their content at that time.

Law: a file that has changed since is not overwritten; the model gets the diff, or must read the file again.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from yohaku.agent.toolkit.diffs import unified_diff
from yohaku.agent.toolkit.ordinary_files import read_ordinary, show_name

MAX_REMEMBERED_BYTES = 256 * 1024
"""Size up to which the text of a file is kept for a diff."""
MAX_TOTAL_BYTES = 16 * 1024 * 1024
"""Size of all kept texts."""
MAX_HASHED_BYTES = 32 * 1024 * 1024
"""Size up to which a file is compared by content; above that by time and size."""
MAX_SHOWN_DIFF_CHARS = 4_000
"""With a longer diff the model must read the file again."""


Stamp: TypeAlias = tuple[int, int, int]
"""Time, size and number of a file."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    stamp: Stamp
    digest: bytes = b""
    text: str | None = None


class StaleFile(Exception):
    """Raised where a file is not what the model has read."""

    def __init__(self, path: str, difference: str) -> None:
        super().__init__(path, difference)
        self.path, self.difference = path, difference

    def __str__(self) -> str:
        changed = f"{self.path} has changed since you read it"
        if not self.difference:
            return f"{changed}. Read it again, then edit."
        return f"{changed}. What changed:\n{self.difference}\nCheck your edit against this and try again."


class SeenFiles:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._seen: OrderedDict[Path, SeenFile] = OrderedDict()
        self._reported: dict[Path, Stamp | None] = {}
        self._held = 0
        self._contents: set[tuple[Path, bytes]] = set()

    def name(self, path: Path) -> str:
        """Return the path from the project's folder, or the absolute one outside, on one line."""
        return show_name(path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path))

    def knows(self, path: Path) -> bool:
        return path in self._seen

    @property
    def seen(self) -> tuple[Path, ...]:
        """Paths in the order they were seen last."""
        return tuple(self._seen)

    def saw(self, path: Path, data: bytes | None = None) -> None:
        """Record that the model was shown this file, or wrote it. `data`: its bytes, if already read."""
        try:
            now = file_stamp(path)
            if data is None and now[1] <= MAX_HASHED_BYTES:
                data = read_ordinary(path)
        except OSError:
            return
        text = _text(data) if data is not None and len(data) <= MAX_REMEMBERED_BYTES else None
        self.forget(path)
        self._seen[path] = SeenFile(now, _digest(data), text)
        self._contents.add((path, _digest(data)))
        self._held += len(text or "")
        while self._held > MAX_TOTAL_BYTES:
            self._drop_oldest()

    def had(self, path: Path, data: bytes) -> bool:
        """Return whether a file has had this content since the beginning."""
        return (path, _digest(data)) in self._contents

    def forget(self, path: Path) -> None:
        self._reported.pop(path, None)
        gone = self._seen.pop(path, None)
        self._held -= len(gone.text or "") if gone else 0

    def check(self, path: Path, data: bytes) -> None:
        """Raise `StaleFile` if the bytes on disk are not what was seen. A diff shown in full counts as seen."""
        seen = self._seen.get(path)
        if seen is None or seen.digest == _digest(data) or (not seen.digest and seen.stamp == file_stamp(path)):
            return
        now = _text(data)
        difference = unified_diff(seen.text, now, self.name(path)) if seen.text is not None and now is not None else ""
        if not difference or len(difference) > MAX_SHOWN_DIFF_CHARS:
            raise StaleFile(self.name(path), "")
        self.saw(path, data)
        raise StaleFile(self.name(path), difference)

    def changed(self) -> tuple[str, ...]:
        """Return seen files that have changed or been deleted; each change is reported once."""
        found: list[str] = []
        for path, now in self._find_changes():
            if path not in self._reported or self._reported[path] != now:
                self._reported[path] = now
                found.append(self._describe_change(path, now))
        return tuple(found)

    def all_changed(self) -> tuple[str, ...]:
        """Return the same files, also those whose change was reported."""
        return tuple(self._describe_change(path, now) for path, now in self._find_changes())

    def _find_changes(self) -> Iterator[tuple[Path, Stamp | None]]:
        """Yield seen files that have changed, with the stamp of now; None for one that is gone."""
        for path, seen in list(self._seen.items()):
            try:
                now = file_stamp(path)
            except OSError:
                now = None
            if now != seen.stamp and not (now is not None and self._same(path, seen, now)):
                yield path, now

    def _describe_change(self, path: Path, now: Stamp | None) -> str:
        return self.name(path) if now else f"{self.name(path)} (deleted)"

    def _same(self, path: Path, seen: SeenFile, now: Stamp) -> bool:
        """Return whether a file was only touched, or rewritten with the same content."""
        if not seen.digest or now[1] != seen.stamp[1] or now[1] > MAX_HASHED_BYTES:
            return False
        try:
            same = _digest(read_ordinary(path)) == seen.digest
        except OSError:
            return False
        if same:
            self._seen[path] = SeenFile(now, seen.digest, seen.text)
        return same

    def _drop_oldest(self) -> None:
        """Forget the text of the file seen longest ago, but not that it was seen."""
        for path, seen in self._seen.items():
            if seen.text:
                self._held -= len(seen.text)
                self._seen[path] = SeenFile(seen.stamp, seen.digest)
                return


def write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary file and move it into place, with the old mode. Missing folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    beside = path.with_name(f".{path.name[:40]}.{token_hex(4)}")
    try:
        with beside.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def file_stamp(path: Path) -> Stamp:
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _digest(data: bytes | None) -> bytes:
    return sha256(data).digest() if data is not None else b""


def _text(data: bytes) -> str | None:
    from yohaku.agent.toolkit.text_files import decode_file

    found = decode_file(data)
    return found[0] if found else None
