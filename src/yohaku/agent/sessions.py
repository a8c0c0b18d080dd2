"""Earlier sessions, found by name, by the beginning of it, or by the file of another tool.

Law: no file is changed, and a file that cannot be read is skipped.
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
    """Time of the last change, in seconds since the epoch."""
    title: str
    """The beginning of the first prompt."""

    @property
    def id(self) -> str:
        return self.path.stem


def list_sessions(data: Path, limit: int = 30) -> list[StoredSession]:
    """Return sessions with a prompt, the newest first."""
    found: list[tuple[float, Path]] = []
    for path in (data / FOLDER).glob("*.jsonl"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:
            continue
    sessions = (StoredSession(path, at, title) for at, path in sorted(found, reverse=True) if (title := _title(path)))
    return [session for session, _ in zip(sessions, range(limit), strict=False)]


def find_session(data: Path, name: str) -> Path | None:
    """Return the file of this name, else the newest session whose id begins so; without a name the newest of all."""
    with suppress(OSError, RuntimeError):  # no valid file name, or an unknown `~user`
        if name and Path(name).expanduser().is_file():
            return Path(name).expanduser()
    return next((session.path for session in list_sessions(data, 10**6) if session.id.startswith(name)), None)


def _title(path: Path) -> str:
    return next(_prompts(path), "")


def _prompts(path: Path) -> Iterator[str]:
    """Yield the prompts at the head of a transcript, in whatever dialect."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_HEAD_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines[1:]:
        try:
            entry = json.loads(line).get("entry")
        except (ValueError, AttributeError, RecursionError):
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
