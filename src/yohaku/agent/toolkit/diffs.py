"""What changed in a text, as a unified diff.

Law: it costs what changed, not what the file holds; a rewrite too large to compare is told as one.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TypeAlias

AROUND = 3
"""Lines of context."""
CLOSE = 1000
"""Changed lines that are compared one with another; more are told as taken out and put in."""
LONGEST = 100_000
"""Characters of a diff."""


def diff(old: str, new: str, path: str) -> str:
    if old == new:
        return ""
    a, b = old.splitlines(), new.splitlines()
    head, tail = _same(a, b)
    if head == len(a) == len(b):
        return f"--- {path}\n+++ {path}\n(only line ends differ)\n"
    out = [f"--- {path if old else '/dev/null'}", f"+++ {path if new else '/dev/null'}"]
    for group in _groups(a[head : len(a) - tail], b[head : len(b) - tail]):
        out += _hunk(a, b, [(a1 + head, a2 + head, b1 + head, b2 + head) for a1, a2, b1, b2 in group])
    text = "\n".join(out) + "\n"
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition("\n")[0] + "\n[the diff goes on]\n"


def counted(old: str, new: str) -> tuple[int, int]:
    """Lines put in and taken out."""
    lines = diff(old, new, "").splitlines()[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _same(a: list[str], b: list[str]) -> tuple[int, int]:
    """How many lines are the same at the beginning and at the end."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    most -= head
    tail = next((at for at in range(most) if a[-1 - at] != b[-1 - at]), most)
    return head, tail


Change: TypeAlias = tuple[int, int, int, int]
"""From which line to which in the old text, and in the new one."""


def _groups(a: list[str], b: list[str]) -> list[list[Change]]:
    """What changed, in groups that share their context."""
    if len(a) > CLOSE or len(b) > CLOSE:
        return [[(0, len(a), 0, len(b))]]
    found: list[list[Change]] = []
    for tag, *change in SequenceMatcher(None, a, b).get_opcodes():
        a1, a2, b1, b2 = change
        if tag == "equal":
            continue
        if found and a1 - found[-1][-1][1] <= 2 * AROUND:
            found[-1].append((a1, a2, b1, b2))
        else:
            found.append([(a1, a2, b1, b2)])
    return found


def _hunk(a: list[str], b: list[str], changes: list[Change]) -> list[str]:
    first, last = changes[0], changes[-1]
    before = min(AROUND, first[0])
    after = min(AROUND, len(a) - last[1])
    lines = [" " + line for line in a[first[0] - before : first[0]]]
    at = first[0]
    for a1, a2, b1, b2 in changes:
        lines += [" " + line for line in a[at:a1]]
        lines += ["-" + line for line in a[a1:a2]]
        lines += ["+" + line for line in b[b1:b2]]
        at = a2
    lines += [" " + line for line in a[at : at + after]]
    left = _range(first[0] - before, last[1] + after)
    right = _range(first[2] - before, last[3] + after)
    return [f"@@ -{left} +{right} @@", *lines]


def _range(start: int, stop: int) -> str:
    length = stop - start
    begin = start + 1 if length else start
    return f"{begin}" if length == 1 else f"{begin},{length}"
