"""Comparison of a project's files with their last known states.

Law: a file is read only if its stamp has changed, or is so young that a change might not show in it. A file that was
there before, hidden by an ignore rule or in another place we do not know, never counts as created, nor does one whose
content is not kept, unless the change has made it, or moved it as it was.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from yohaku.agent.file_history.file_state import (
    MAX_FILE_BYTES,
    TEMPORARY_PREFIX,
    FoundPath,
    Stamp,
    read_path,
    stamp_of,
)
from yohaku.agent.file_history.kept_files import ChangedPath, KeptFiles, KnownPath, RawPath
from yohaku.agent.toolkit.project_files import ProjectFile, walk_files

MAX_PATHS = 50_000
MAX_PROJECT_BYTES = 512 * 1024 * 1024
"""Content of a project up to which it is kept."""
YOUNG_NANOSECONDS = 2_000_000_000
"""Age up to which the time of a file may hide a change: that of the coarsest file systems."""
CLOCK_NANOSECONDS = 100_000_000
"""How much the clock of a file system may be behind."""


class ProjectTooBig(Exception):
    """Raised where a project has too many files, or too much in them, to be kept."""


def raw_path(root: Path, path: Path) -> RawPath:
    return os.fsencode(path.relative_to(root) if path.is_relative_to(root) else path)


def full_path(root: Path, raw: RawPath) -> Path:
    return root / os.fsdecode(raw)


def scan_project(root: Path, kept: KeptFiles, began: int | None = None) -> list[ChangedPath]:
    """Bring the known states up to date and return what differed. `began`: when a change began that made it differ."""
    with kept.writing():
        scan = _Scan(root, kept, time.time_ns())
        scan.walk()
        scan.look_for_missing()
        changed = scan.changed(began)
        kept.set_left_out(scan.left_out)
        return changed


class _Scan:
    def __init__(self, root: Path, kept: KeptFiles, now: int) -> None:
        self.root, self.kept, self.now = root, kept, now
        self.known = kept.known()
        self.seen: set[RawPath] = set()
        self.left_out: dict[RawPath, int] = {}
        self.bytes = 0
        self.differing: dict[RawPath, tuple[KnownPath | None, FoundPath | None]] = {}

    def walk(self) -> None:
        for each in walk_files(self.root, self.root, every_kind=True, on_left_out=self._leave_out):
            if each.entry.name.startswith(TEMPORARY_PREFIX):
                continue
            try:
                about = each.entry.stat(follow_symlinks=False)
            except OSError:
                continue
            raw = os.fsencode("/".join(each.parts))
            self.seen.add(raw)
            self.bytes += about.st_size if about.st_size <= MAX_FILE_BYTES else 0
            if len(self.seen) > MAX_PATHS or self.bytes > MAX_PROJECT_BYTES:
                raise ProjectTooBig
            known = self.known.get(raw)
            if known is None or known.stamp != stamp_of(about):
                self._compare(raw, known)

    def look_for_missing(self) -> None:
        """Compare what the walk did not come to: it is gone, or ignored by now, or lies outside the project."""
        for raw in self.known.keys() - self.seen:
            self._compare(raw, self.known[raw])

    def changed(self, began: int | None) -> list[ChangedPath]:
        gone = {
            known.stamp[3]: known
            for known, found in self.differing.values()
            if known and known.stamp and (not found or found.stamp[3] != known.stamp[3])
        }
        hidden = self.kept.left_out()
        moved = set(hidden.values())

        def is_new(raw: RawPath, found: FoundPath | None) -> bool:
            """Return whether a path that we did not know has come into being since the change began."""
            if found is None or began is None:
                return found is not None
            if any(path in hidden for path in _with_ancestors(raw)):
                return False
            earlier, (modified, changed, _, number, _) = began - CLOCK_NANOSECONDS, found.stamp
            if number in gone:  # moved; where it was changed too, what it was must be kept
                return found.state.kept or gone[number].state.kept or found.state == gone[number].state
            if not found.state.kept and modified < earlier:
                return False  # it came from elsewhere
            return changed >= earlier and not (number in moved and modified < earlier)

        return [
            ChangedPath(raw, known.state if known else None, found.state if found else None)
            for raw, (known, found) in sorted(self.differing.items())
            if known or is_new(raw, found)
        ]

    def _leave_out(self, file: ProjectFile) -> None:
        if len(self.left_out) < MAX_PATHS:
            self.left_out[os.fsencode("/".join(file.parts))] = file.entry.inode()

    def _compare(self, raw: RawPath, known: KnownPath | None) -> None:
        found = read_path(full_path(self.root, raw))
        if found:
            self.kept.keep(found)
        if known is None or not found or known.stamp != found.stamp:
            self.kept.know(raw, found.state if found else None, _trusted(found.stamp, self.now) if found else None)
        if (known.state if known else None) != (found.state if found else None):
            self.differing[raw] = known, found


def _trusted(stamp: Stamp, now: int) -> Stamp:
    """Return a stamp that matches nothing where the file is too young to trust it."""
    return (-1, *stamp[1:]) if max(stamp[:2]) >= now - YOUNG_NANOSECONDS else stamp


def _with_ancestors(raw: RawPath) -> list[RawPath]:
    parts = raw.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts) + 1)]
