"""Contents of a stretch of the conversation: a row for each prompt, reply and call, with its size and its lines.

Law: a row's lines open what it tells of and nothing else, and there are at most MAX_ROWS rows, however long the stretch
is: more of them become runs, whose lines open to contents of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.recall.blocks import utf8_size
from yohaku.recall.lines import MAX_SHOWN_BYTES, OpenedLines, read
from yohaku.recall.ref import RefAndLine
from yohaku.stores import Store

MAX_ROWS = 40
MAX_TEXT_CHARS = 72
"""Characters of an entry that its row shows."""
SMALL_STRETCH_BYTES = 2_000
"""A stretch up to this size is shown itself: its contents would be hardly shorter."""
USUAL_LINES = 200

_TITLE = re.compile(r"## (?P<title>[^\n]{1,200})(?:\n|\Z)")
_RESULTS = ("result", "error")


class Entry(NamedTuple):
    """One prompt, reply, call or result in the original of a stretch."""

    first: int
    """Line of the stretch it begins on, counted from 1."""
    last: int
    title: str
    text: str
    """Its beginning, without the title."""
    lines: int
    """Without the title's, like the size."""
    size: int
    """Bytes."""

    def __str__(self) -> str:
        lines = f"{self.lines:,} lines, " if self.lines > 1 else ""
        return f"{self.title} ({lines}{self.size:,} bytes)"


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of a stretch, or of some lines of it. `str()` gives the text shown to a model."""

    ref: str
    rows: tuple[tuple[Entry, ...], ...]
    """A call with its result, and every other entry alone."""

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.size for row in self.rows for entry in row)

    def __str__(self) -> str:
        first, last = self.rows[0][0].first, self.rows[-1][-1].last
        span = f"contents of lines {first:,}-{last:,}, {self.size:,} bytes"
        head = f"[ref={self.ref}: {span}; each ref here opens its lines]"
        each = -(-len(self.rows) // MAX_ROWS)
        runs = (self.rows[at : at + each] for at in range(0, len(self.rows), each))
        return "\n".join([head, *(f"ref={self.ref}:{run[0][0].first}-{run[-1][-1].last} {_tell(run)}" for run in runs)])


def list_contents(store: Store, ref: str, first: int = 1, last: int | None = None) -> Contents | None:
    """Return the contents of some lines; None unless several whole rows stand there and nothing else."""
    rows = [
        row
        for row in _pair_calls(_read_entries(store, ref))
        if row[-1].last >= first and (last is None or row[0].first <= last)
    ]
    whole = len(rows) > 1 and rows[0][0].first == first and last in (None, rows[-1][-1].last)
    return Contents(ref, tuple(rows)) if whole else None


def open_ref(
    store: Store, given: RefAndLine, offset: int | None = None, limit: int | None = None, *, room: int = MAX_SHOWN_BYTES
) -> Contents | OpenedLines:
    """Open a ref as it was copied: the contents of a long stretch, and the lines of everything else."""
    ref, line, last = given
    if offset is None and limit is None and (line is None or last is not None):
        found = list_contents(store, ref, line or 1, last)
        if found and found.size > SMALL_STRETCH_BYTES:
            return found
    first = offset or line or 1
    usual = last - first + 1 if last and first <= last else USUAL_LINES
    return read(store, ref, first, limit or usual, room=room)


def _read_entries(store: Store, ref: str) -> Iterator[Entry]:
    first = 1
    for part in store.parts(ref):
        text = str(store.get(part))
        last = first + text.count("\n")
        found = _TITLE.match(text)
        title, begin = (found["title"], found.end()) if found else ("part", 0)
        lines = last - first + (0 if found else 1)
        yield Entry(first, last, title, _clip(text[begin : begin + 1_000]), lines, utf8_size(text) - begin)
        first = last + 2


def _pair_calls(entries: Iterator[Entry]) -> Iterator[tuple[Entry, ...]]:
    """Yield each call with its result, and every other entry alone."""
    held: tuple[Entry, ...] = ()
    for entry in entries:
        if held and entry.title in _RESULTS:
            yield (*held, entry)
            held = ()
            continue
        if held:
            yield held
        held = (entry,)
        if not entry.title.startswith("call "):
            yield held
            held = ()
    if held:
        yield held


def _tell(rows: Sequence[tuple[Entry, ...]]) -> str:
    if len(rows) > 1:
        titles = Counter(row[0].title for row in rows)
        names = ", ".join(f"{title} ×{count}" if count > 1 else title for title, count in titles.items())
        alone = [row[0] for row in rows if len(row) == 1]
        said = next((entry for entry in alone if entry.title == "user"), (alone or rows[0])[0])
        return f"{names} ({sum(entry.size for row in rows for entry in row):,} bytes): {said.text}"
    (entry, *results) = rows[0]
    told = f"{entry.title}: {entry.text}" if results else f"{entry}: {entry.text}"
    return " → ".join([told, *map(str, results)])


def _clip(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= MAX_TEXT_CHARS else f"{plain[:MAX_TEXT_CHARS]}…"
