"""Watch on the files a conversation has read, to find those that have changed since.

Law: a file is read when a step that touched it is first observed, so that the model's own writes are not reported; and
different paths count as one file as far as that can be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from yohaku.analysis.file_access import FileAccess, find_accesses
from yohaku.analysis.file_log import build_file_log
from yohaku.core.model import Step
from yohaku.core.originals import ref_of


class _WatchedFile(NamedTuple):
    last_access: FileAccess
    read: bool
    """True if any access was a read."""
    ref: str | None
    """The ref of its text then; None if there was none to read."""


class FileWatch:
    def __init__(self, look: Callable[[str], str | None]) -> None:
        self._look = look
        self._steps: set[str] = set()
        self._files: dict[str, _WatchedFile] = {}
        """By path, in the order of the last access."""

    def observe(self, steps: Iterable[Step]) -> None:
        last: dict[str, tuple[FileAccess, bool]] = {}
        for step in steps:
            if step.key in self._steps:
                continue
            self._steps.add(step.key)
            for access in (access for use in step.uses for access in find_accesses(use) if access.ok):
                known = self._files.get(access.path)
                read = last.pop(access.path)[1] if access.path in last else known is not None and known.read
                last[access.path] = access, read or access.kind == "read"
        for path, (last_access, read) in last.items():
            self._files.pop(path, None)
            ref = None if last_access.kind == "deleted" else self._current_ref(path)
            self._files[path] = _WatchedFile(last_access, read, ref)

    def changed(self) -> tuple[str, ...]:
        """Return the files that were read and have changed since, or are gone; the one accessed last at the end."""
        known = list(self._files.values())
        reads = ((number, FileAccess(file.last_access.path, "read")) for number, file in enumerate(known) if file.read)
        accesses = ((number, file.last_access) for number, file in enumerate(known))
        found = build_file_log(sorted([*reads, *accesses], key=itemgetter(0)))
        then = ((file.path, known[file.step]) for file in found.values() if file.ranges)
        return tuple(
            path for path, one in then if one.ref is not None and self._current_ref(one.last_access.path) != one.ref
        )

    def _current_ref(self, path: str) -> str | None:
        try:
            text = self._look(path)
        except (OSError, ValueError):  # a folder, a file without permission, bytes that are not text
            return None
        return None if text is None else ref_of(text)
