"""The ledger of files: what has become of each that the calls of a conversation touched.

Law: no ledger tells of what a failed call was about to do. A path is told as it was said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yohaku.analysis.file_access import find_accesses
from yohaku.analysis.touch import AccessKind, FileAccess, LineRange
from yohaku.core.model import Turn


@dataclass(frozen=True, slots=True)
class FileRecord:
    path: str
    state: AccessKind
    """What has become of it: "created" stays so when it is modified later; reading changes nothing."""
    ranges: tuple[LineRange, ...]
    """The lines that were read, in order and joined; (1, -1) is all of it."""
    step: int
    """The number of the step that touched it last, from 0."""


def read_file_log(turns: Iterable[Turn]) -> dict[str, FileRecord]:
    """Each file that was touched, by path, in the order of its last touch. What failed is left out."""
    steps = (step for turn in turns for step in turn.steps)
    return build_file_log(
        (number, touch) for number, step in enumerate(steps) for use in step.uses for touch in find_accesses(use)
    )


def build_file_log(touches: Iterable[tuple[int, FileAccess]]) -> dict[str, FileRecord]:
    """The same of touches that are known, each with the number of its step, in order."""
    done = [(number, touch) for number, touch in touches if touch.ok]
    whole = _find_absolute_paths({touch.path for _, touch in done})
    found: dict[str, FileRecord] = {}
    for number, touch in done:
        path = whole.get(touch.path, touch.path)
        found[path] = update_record(found.pop(path, None), touch._replace(path=path), number)
    return found


def _find_absolute_paths(paths: set[str]) -> dict[str, str]:
    """For a relative path the absolute one it is the end of, where there is just one: they are the same file."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        if path.startswith(("/", "~")):
            by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    found: dict[str, str] = {}
    for path in paths:
        if not path.startswith(("/", "~", "..")):
            same = [known for known in by_name.get(path.rsplit("/", 1)[-1], ()) if known.endswith("/" + path)]
            if len(same) == 1:
                found[path] = same[0]
    return found


def update_record(before: FileRecord | None, touch: FileAccess, step: int) -> FileRecord:
    state, ranges = (before.state, before.ranges) if before else (touch.how, ())
    if touch.how == "read":
        return FileRecord(touch.path, state, merge_ranges((*ranges, touch.lines or (1, -1))), step)
    if touch.how == "modified" and state in ("created", "modified"):
        return FileRecord(touch.path, state, ranges, step)
    if touch.how == "created" and before and state in ("read", "modified"):
        return FileRecord(touch.path, "modified", ranges, step)
    return FileRecord(touch.path, touch.how, ranges, step)


def merge_ranges(ranges: tuple[LineRange, ...]) -> tuple[LineRange, ...]:
    """Ranges in order, those that meet made one."""
    done: list[LineRange] = []
    for first, last in sorted(ranges):
        if done and (done[-1][1] == -1 or first <= done[-1][1] + 1):
            done[-1] = done[-1][0], -1 if -1 in (last, done[-1][1]) else max(last, done[-1][1])
        else:
            done.append((first, last))
    return tuple(done)
