"""Session files of the tools we know, one file each: rows in, rows out.

Law: a row that needs nothing leaves as it came, with all that its tool wrote beside the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from yohaku.doctor.kit import Json, Kit
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairs import paired
from yohaku.doctor.salvage import Row


class Session(Protocol):
    """What each module of this folder has."""

    def knows(self, values: list[Json]) -> bool:
        """Whether these are rows of such a file, be its beginning lost or not."""

    def mended(self, rows: list[Row], notes: Notes) -> list[Row]:
        """The rows as they should be; a row with nothing to mend is the very one that came in."""

    def eased(self, value: Json) -> Json:
        """A row that the reader still refuses, with its results as plain words; None to leave it out."""


def in_line(
    kit: Kit,
    rows: list[Row],
    notes: Notes,
    entry_of: Callable[[Json], Json],
    row_of: Callable[[Json, Json], Json],
) -> list[Row]:
    """Mends files that hold an entry a row, in the order it was said.

    `entry_of` takes the entry out of a row, None where nobody says anything; `row_of` puts another one in, or makes
    a new row for it.
    """
    entries: list[Json] = []
    homes: list[int] = []
    for place, row in enumerate(rows):
        if (entry := entry_of(row.value)) is not None:
            notes.where = f"line {row.number}"
            shaped = kit.mended(entry, notes)
            entries += shaped
            homes += [place] * len(shaped)
    written = paired(kit, entries, [f"line {rows[home].number}" for home in homes], notes)
    present = {homes[home] for _, home in written if home is not None}
    silent = _silent(rows, present, entry_of)
    made: list[Row] = []
    for entry, home in written:
        if home is None:
            made.append(Row(0, row_of(None, entry)))
            continue
        row = rows[homes[home]]
        made += silent.pop(homes[home], [])
        made.append(row if entry is entry_of(row.value) else Row(row.number, row_of(row.value, entry)))
    return [*made, *(row for left in silent.values() for row in left)]


def _silent(rows: list[Row], present: set[int], entry_of: Callable[[Json], Json]) -> dict[int, list[Row]]:
    """Rows in which nobody says anything, by the row they stand before; those behind the last come at -1."""
    silent: dict[int, list[Row]] = {}
    waiting: list[Row] = []
    for place, row in enumerate(rows):
        if entry_of(row.value) is None:
            waiting.append(row)
        elif place in present:
            silent[place], waiting = waiting, []
    return {**silent, -1: waiting}
