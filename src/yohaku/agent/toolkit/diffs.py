"""Unified diffs of two texts.

Law: the cost grows with the changed lines, not with the file; a rewrite too large to compare is one hunk.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TypeAlias

CONTEXT_LINES = 3
"""Unchanged lines around a change."""
MAX_COMPARED_LINES = 1000
"""Changed lines that are compared with each other; more become one removal and one insertion."""
MAX_DIFF_CHARS = 100_000


def unified_diff(old: str, new: str, path: str) -> str:
    if old == new:
        return ""
    a, b = old.splitlines(), new.splitlines()
    head, tail = _common_ends(a, b)
    if head == len(a) == len(b):
        return f"--- {path}\n+++ {path}\n(only line ends differ)\n"
    out = [f"--- {path if old else '/dev/null'}", f"+++ {path if new else '/dev/null'}"]
    for group in _group_changes(a[head : len(a) - tail], b[head : len(b) - tail]):
        out += _render_hunk(a, b, [(a1 + head, a2 + head, b1 + head, b2 + head) for a1, a2, b1, b2 in group])
    text = "\n".join(out) + "\n"
    return text if len(text) <= MAX_DIFF_CHARS else text[:MAX_DIFF_CHARS].rpartition("\n")[0] + "\n[the diff goes on]\n"


def count_changed_lines(old: str, new: str) -> tuple[int, int]:
    """Return the number of lines added and removed."""
    lines = unified_diff(old, new, "").splitlines()[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _common_ends(a: list[str], b: list[str]) -> tuple[int, int]:
    """Return the number of equal lines at the beginning and at the end."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    most -= head
    tail = next((at for at in range(most) if a[-1 - at] != b[-1 - at]), most)
    return head, tail


ChangedLines: TypeAlias = tuple[int, int, int, int]
"""First and last line in the old text, then in the new one."""


def _group_changes(a: list[str], b: list[str]) -> list[list[ChangedLines]]:
    """Return changes in groups whose context overlaps."""
    if len(a) > MAX_COMPARED_LINES or len(b) > MAX_COMPARED_LINES:
        return [[(0, len(a), 0, len(b))]]
    found: list[list[ChangedLines]] = []
    for tag, *change in SequenceMatcher(None, a, b).get_opcodes():
        a1, a2, b1, b2 = change
        if tag == "equal":
            continue
        if found and a1 - found[-1][-1][1] <= 2 * CONTEXT_LINES:
            found[-1].append((a1, a2, b1, b2))
        else:
            found.append([(a1, a2, b1, b2)])
    return found


def _render_hunk(a: list[str], b: list[str], changes: list[ChangedLines]) -> list[str]:
    first, last = changes[0], changes[-1]
    before = min(CONTEXT_LINES, first[0])
    after = min(CONTEXT_LINES, len(a) - last[1])
    lines = [" " + line for line in a[first[0] - before : first[0]]]
    at = first[0]
    for a1, a2, b1, b2 in changes:
        lines += [" " + line for line in a[at:a1]]
        lines += ["-" + line for line in a[a1:a2]]
        lines += ["+" + line for line in b[b1:b2]]
        at = a2
    lines += [" " + line for line in a[at : at + after]]
    left = _render_range(first[0] - before, last[1] + after)
    right = _render_range(first[2] - before, last[3] + after)
    return [f"@@ -{left} +{right} @@", *lines]


def _render_range(start: int, stop: int) -> str:
    length = stop - start
    begin = start + 1 if length else start
    return f"{begin}" if length == 1 else f"{begin},{length}"
