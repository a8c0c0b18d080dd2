"""Sources of recorded sessions, split into those for tuning and those held out for the final measurement.

Law: a source never changes sides.
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
MAX_HEADER_BYTES = 1 << 20
"""Read of a first line."""
ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")


def held_out(source: str) -> bool:
    """Test whether a source is held out: a third of them, by a hash of the name."""
    return int.from_bytes(sha256(f"{SALT}:{source}".encode()).digest()[:8], "big") % 3 == 0


def source_of(path: Path) -> str:
    """Return the source named in the header of a recording, or else the name of its folder."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as lines:
            head = lines.readline(MAX_HEADER_BYTES)
    except (OSError, EOFError, zlib.error):
        head = b""
    first: Any = next(iter(first_rows(head, 1)), None)
    named = first.get("source") if isinstance(first, dict) else None
    return named if isinstance(named, str) and named else path.resolve().parent.name


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the files given and those in the folders given, sorted, each once."""
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
