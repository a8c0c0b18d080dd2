"""Session files of the tools we know, one file each: rows in, rows out.

Law: a row that needs nothing leaves as it came, with all that its tool wrote beside the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json
from yohaku.doctor.notes import Notes
from yohaku.doctor.rewrite import repair_entries
from yohaku.doctor.salvage import Row


class SessionRepair(Protocol):
    """Functions that each module of this folder has."""

    def knows(self, values: list[Json]) -> bool:
        """True for rows of such a file, also where its beginning is lost."""

    def repair(self, rows: list[Row], notes: Notes) -> list[Row]:
        """The rows as they should be; a row with nothing to repair is the very one that came in."""


def repair_rows(
    dialect: Dialect,
    rows: list[Row],
    notes: Notes,
    entry_of: Callable[[Json], Json],
    row_of: Callable[[Json, Json], Json],
) -> list[Row]:
    """Repair a file that holds an entry a row, in the order of the conversation.

    `entry_of` takes the entry out of a row, None where there is none; `row_of` puts another one in, or makes a new
    row for it.
    """
    found = [(place, entry) for place, row in enumerate(rows) if (entry := entry_of(row.value)) is not None]
    places = [f"line {rows[place].number}" for place, _ in found]
    written = repair_entries(dialect, [entry for _, entry in found], places, notes)
    silent = _silent(rows, {place for place, _ in found}, {found[home][0] for _, home in written if home is not None})
    made: list[Row] = []
    for entry, home in written:
        if home is None:
            made.append(Row(0, row_of(None, entry)))
            continue
        place, old = found[home]
        made += silent.pop(place, [])
        made.append(rows[place] if entry is old else Row(rows[place].number, row_of(rows[place].value, entry)))
    return [*made, *(row for left in silent.values() for row in left)]


def _silent(rows: list[Row], spoken: set[int], present: set[int]) -> dict[int, list[Row]]:
    """Rows without an entry, by the row they stand before; those behind the last come at -1."""
    silent: dict[int, list[Row]] = {}
    waiting: list[Row] = []
    for place, row in enumerate(rows):
        if place not in spoken:
            waiting.append(row)
        elif place in present:
            silent[place], waiting = waiting, []
    return {**silent, -1: waiting}
