"""Where recorded sessions come from, and which of those sources are kept apart for the final measurement.

Law: a source is on one side for good. What is tuned on the one side is judged on the other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from yohaku.core.errors import Unreadable
from yohaku.dialects.recordings.lines import first_rows

SALT = "yohaku-21"
HEADER = 1 << 20
"""Bytes of a first line that are read at most."""
ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


def held_out(source: str) -> bool:
    """A third of all sources, by name alone."""
    return int.from_bytes(sha256(f"{SALT}:{source}".encode()).digest()[:8], "big") % 3 == 0


def source_of(path: Path) -> str:
    """What the header of a recording says, or else the folder it lies in."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as lines:
            head = lines.readline(HEADER)
    except (OSError, EOFError, zlib.error):
        head = b""
    first: Any = next(iter(first_rows(head, 1)), None)
    said = first.get("source") if isinstance(first, dict) else None
    return said if isinstance(said, str) and said else path.resolve().parent.name


def files(paths: list[str]) -> Iterator[Path]:
    """The files named, and those in the folders named, each once, in order of their names."""
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise Unreadable(f"{name}: there is no such file or folder")
        found = sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS)) if path.is_dir() else [path]
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file
