"""Conversations that editors began, by the ids the editors know them by.

Law: a file that cannot be read or written costs the later loading of that conversation, nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

FOLDER = "acp"
_ID = re.compile(r"[A-Za-z0-9_-]{8,100}")
"""It becomes the name of a file."""


class IndexedSession(NamedTuple):
    id: str
    cwd: str
    transcript: Path
    at: float
    """Time of the last change, in seconds since the epoch."""


class SessionIndex:
    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER

    def add(self, session: str, cwd: Path, transcript: Path) -> None:
        if not _ID.fullmatch(session):
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            row = {"cwd": str(cwd), "transcript": str(transcript)}
            (self._folder / f"{session}.json").write_text(json.dumps(row), encoding="utf-8")
        except OSError:
            pass

    def find(self, session: str) -> IndexedSession | None:
        if not _ID.fullmatch(session):
            return None
        try:
            row = json.loads((self._folder / f"{session}.json").read_text(encoding="utf-8"))
            transcript = Path(row["transcript"])
            return IndexedSession(session, str(row["cwd"]), transcript, transcript.stat().st_mtime)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def all(self, cwd: str | None = None) -> list[IndexedSession]:
        """Return those whose transcript is still there, the newest first."""
        try:
            names = [path.stem for path in self._folder.glob("*.json")]
        except OSError:
            return []
        found = [session for session in map(self.find, names) if session]
        return sorted((one for one in found if cwd in (None, one.cwd)), key=lambda one: -one.at)
