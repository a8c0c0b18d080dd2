"""Permissions a user gave for good in a project, stored in the data folder.

Law: the file is read at each question, so that what is forgotten is asked again at once in every running yohaku. A
file the agent or another user could have written is ignored: one inside the project, or writable by others.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit.secrets import has_secret
from yohaku.messages import say

FILE_NAME = "allowed.json"
MAX_ROWS = 500
"""Rows of one project; the oldest are dropped, and asked again."""
KINDS = ("read", "write", "run", "net")


class StoredPermission(NamedTuple):
    kind: str
    key: str

    def describe(self, lang: str) -> str:
        """Return what it allows, in the words of the question."""
        match self.kind:
            case "write":
                return say("tools_always_edits", lang)
            case "read":
                return say("tools_always_folder", lang, folder=self.key)
            case "net":
                return say("tools_always_host", lang, host=self.key)
        name = "tools_always_exactly" if self.key.startswith("=") else "tools_always_command"
        return say(name, lang, words=self.key.removeprefix("="))


class StoredPermissions:
    def __init__(self, folder: Path, root: Path) -> None:
        self.path = folder / FILE_NAME
        self._project = str(root.resolve())
        self._is_safe = folder != Path() and not folder.resolve().is_relative_to(root.resolve())

    def rows(self) -> tuple[StoredPermission, ...]:
        """Return the permissions of this project, the oldest first."""
        said = self._projects().get(self._project)
        rows = said if isinstance(said, list) else []
        return tuple(StoredPermission(*row) for row in rows if _is_valid(row))

    def add(self, new: Iterable[StoredPermission]) -> bool:
        """Store permissions; False where they hold a secret, or there is no safe place for the file."""
        added = tuple(new)
        if not self._is_safe or any(has_secret(row.key) for row in added):
            return False
        try:
            self._write((*(row for row in self.rows() if row not in added), *added)[-MAX_ROWS:])
        except OSError:
            return False
        return True

    def forget(self, gone: Iterable[StoredPermission]) -> None:
        """Remove permissions; `OSError` where the file cannot be written."""
        less = set(gone)
        self._write(tuple(row for row in self.rows() if row not in less))

    def _projects(self) -> dict[str, object]:
        try:
            if not self._is_safe or writable_by_others(self.path.stat()):
                return {}
            said = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        projects = said.get("projects") if isinstance(said, dict) else None
        return projects if isinstance(projects, dict) else {}

    def _write(self, rows: tuple[StoredPermission, ...]) -> None:
        others = {name: each for name, each in self._projects().items() if name != self._project}
        projects = {**others, **({self._project: rows} if rows else {})}
        text = json.dumps({"projects": projects}, indent=1)
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=self.path.parent)  # only its owner can read it
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(text)
            os.replace(name, self.path)  # noqa: PTH105 - the same on every platform
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _is_valid(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and row[0] in KINDS and isinstance(row[1], str) and bool(row[1])


def writable_by_others(about: os.stat_result) -> bool:
    """Return whether another user may have written the file."""
    return hasattr(os, "getuid") and (about.st_uid != os.getuid() or bool(about.st_mode & 0o022))
