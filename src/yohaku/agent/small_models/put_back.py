"""The edits that bring files back to what they were, for changes that did not help.

Law: only files that were there before, and only what lies between the first and the last line that differ; a file that
is as it was gets no edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from yohaku.agent.small_models import Workspace
from yohaku.agent.small_models.preload import MAX_FILE_BYTES, make_call
from yohaku.agent.toolkit.file_lines import read_lines
from yohaku.core.model import Call


def read_texts(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the text of each file that is there."""
    found = {path: read_lines(path, 1, 1, MAX_FILE_BYTES) for path in paths if path.is_file()}
    return {path: each.text for path, each in found.items() if each}


def edits_back(workspace: Workspace, before: Mapping[Path, str]) -> list[Call]:
    """Return the calls by which files get the text they had before."""
    calls: list[Call] = []
    for path, text in before.items():
        now = read_texts([path]).get(path)
        if now is None or now == text or not (pair := reverse_edit(text, now)):
            continue
        old, new = pair
        calls.append(make_call("edit", path=workspace.files.name(path), old_string=old, new_string=new))
    return calls


def reverse_edit(before: str, after: str) -> tuple[str, str] | None:
    """Return lines that stand once in the text after a change, and what stood there before; None if all is new."""
    old, new = before.split("\n"), after.split("\n")
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    while start > 0 or end > 0:
        theirs, ours = "\n".join(new[start : len(new) - end]), "\n".join(old[start : len(old) - end])
        if theirs.strip() and after.count(theirs) == 1 and after.replace(theirs, ours) == before:
            return theirs, ours
        start, end = max(0, start - 1), max(0, end - 1)
    return (after, before) if after.strip() and before else None
