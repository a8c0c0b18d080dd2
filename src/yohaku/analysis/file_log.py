"""File log: the state of each file that the calls of a conversation accessed.

Law: what a failed call was about to do is not in the log. Paths stay as they were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yohaku.analysis.file_access import AccessKind, FileAccess, LineRange, find_accesses
from yohaku.core.model import Turn


@dataclass(frozen=True, slots=True)
class FileRecord:
    path: str
    state: AccessKind
    """"created" stays so when the file is modified later; reading changes nothing."""
    ranges: tuple[LineRange, ...]
    """The lines that were read, in order and merged; (1, -1) is the whole file."""
    step: int
    """Number of the last step that accessed it, from 0."""


def read_file_log(turns: Iterable[Turn]) -> dict[str, FileRecord]:
    """Return the record of each file by its path, in the order of last access."""
    steps = enumerate(step for turn in turns for step in turn.steps)
    return build_file_log(
        (number, access) for number, step in steps for use in step.uses for access in find_accesses(use)
    )


def build_file_log(accesses: Iterable[tuple[int, FileAccess]]) -> dict[str, FileRecord]:
    """Return the records for accesses in order, each with the number of its step."""
    done = [(number, access) for number, access in accesses if access.ok]
    absolute = _find_absolute_paths({access.path for _, access in done})
    found: dict[str, FileRecord] = {}
    for number, access in done:
        path = absolute.get(access.path, access.path)
        found[path] = update_record(found.pop(path, None), access._replace(path=path), number)
    return found


def _find_absolute_paths(paths: set[str]) -> dict[str, str]:
    """Map a relative path to the absolute one that ends with it, if there is just one: they are the same file."""
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


def update_record(before: FileRecord | None, access: FileAccess, step: int) -> FileRecord:
    state, ranges = (before.state, before.ranges) if before else (access.kind, ())
    if access.kind == "read":
        return FileRecord(access.path, state, merge_ranges((*ranges, access.lines or (1, -1))), step)
    if access.kind == "modified" and state in ("created", "modified"):
        return FileRecord(access.path, state, ranges, step)
    if access.kind == "created" and before and state in ("read", "modified"):
        return FileRecord(access.path, "modified", ranges, step)
    return FileRecord(access.path, access.kind, ranges, step)


def merge_ranges(ranges: tuple[LineRange, ...]) -> tuple[LineRange, ...]:
    """Sort ranges, and join those that touch."""
    merged: list[LineRange] = []
    for first, last in sorted(ranges):
        if merged and (merged[-1][1] == -1 or first <= merged[-1][1] + 1):
            merged[-1] = merged[-1][0], -1 if -1 in (last, merged[-1][1]) else max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)
