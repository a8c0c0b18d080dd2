"""Which files are no longer what the conversation has read.

Law: a file is looked at when a step that touched it is first seen, so that what the model itself wrote is no news to
it; and the paths of one file, as far as they can be told to be, are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from yohaku.analysis.file_access import FileAccess, find_accesses
from yohaku.analysis.file_log import build_file_log
from yohaku.core.model import Step
from yohaku.core.originals import ref_of


class _Known(NamedTuple):
    touch: FileAccess
    """The last one."""
    read: bool
    """Whether any was a read."""
    was: str | None
    """The address of its text then; None where there was none to read."""


class FileWatch:
    def __init__(self, look: Callable[[str], str | None]) -> None:
        self._look = look
        self._steps: set[str] = set()
        self._known: dict[str, _Known] = {}
        """By path, in the order of the last touch."""

    def see(self, steps: Iterable[Step]) -> None:
        last: dict[str, tuple[FileAccess, bool]] = {}
        for step in steps:
            if step.key in self._steps:
                continue
            self._steps.add(step.key)
            for touch in (touch for use in step.uses for touch in find_accesses(use) if touch.ok):
                known = self._known.get(touch.path)
                read = last.pop(touch.path)[1] if touch.path in last else known is not None and known.read
                last[touch.path] = touch, read or touch.kind == "read"
        for path, (touch, read) in last.items():
            self._known.pop(path, None)
            self._known[path] = _Known(touch, read, None if touch.kind == "deleted" else self._now(path))

    def changed(self) -> tuple[str, ...]:
        """Those that were read and are something else now, or gone, the one touched last at the end."""
        known = list(self._known.values())
        read = ((number, FileAccess(one.touch.path, "read")) for number, one in enumerate(known) if one.read)
        found = build_file_log(sorted([*read, *((number, one.touch) for number, one in enumerate(known))], key=_number))
        then = ((file.path, known[file.step]) for file in found.values() if file.ranges)
        return tuple(path for path, one in then if one.was is not None and self._now(one.touch.path) != one.was)

    def _now(self, path: str) -> str | None:
        try:
            text = self._look(path)
        except (OSError, ValueError):  # a folder, a file nobody may read, bytes that are no text
            return None
        return None if text is None else ref_of(text)


def _number(found: tuple[int, FileAccess]) -> int:
    return found[0]
