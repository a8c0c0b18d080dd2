"""Earlier sessions, found again by name, by a part of it, or by the file of another tool.

Law: a look never changes a file, and a file that cannot be read is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FOLDER = "transcripts"
MAX_HEAD_BYTES = 64 * 1024
"""Bytes of a transcript that are read for the first prompt."""
MAX_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class StoredSession:
    path: Path
    at: float
    """When it was last written, in seconds of the clock."""
    title: str
    """How it began."""

    @property
    def id(self) -> str:
        return self.path.stem


def list_sessions(data: Path, most: int = 30) -> list[StoredSession]:
    """The newest first, those in which something was said."""
    found: list[tuple[float, Path]] = []
    for path in (data / FOLDER).glob("*.jsonl"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:
            continue
    sessions = (StoredSession(path, at, title) for at, path in sorted(found, reverse=True) if (title := _title(path)))
    return [session for session, _ in zip(sessions, range(most), strict=False)]


def find_session(data: Path, name: str) -> Path | None:
    """A file as it is, else the newest session whose id begins so; no name is the newest of all."""
    with suppress(OSError, RuntimeError):  # no name of a file, or of somebody who has no home here
        if name and Path(name).expanduser().is_file():
            return Path(name).expanduser()
    return next((session.path for session in list_sessions(data, 10**6) if session.id.startswith(name)), None)


def _title(path: Path) -> str:
    return next(_said(path), "")


def _said(path: Path) -> Iterator[str]:
    """What the user said in the entries at the head of a transcript, whatever their dialect."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_HEAD_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines[1:]:
        try:
            entry = json.loads(line).get("entry")
        except (ValueError, AttributeError):
            continue
        if isinstance(entry, dict) and entry.get("role") == "user":
            text = " ".join(_text(entry).split())
            if text:
                yield text[:MAX_TITLE_CHARS]


def _text(entry: dict[str, object]) -> str:
    content = entry.get("content", entry.get("parts", ""))
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)
