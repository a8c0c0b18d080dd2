"""Results and the calls they answer, whatever order the items of a conversation are in."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import takewhile

from yohaku.core.model import Call, Result
from yohaku.dialects.json_values import Json
from yohaku.doctor.reading import ReadItem

MAX_COMPARED = 50
"""Calls of one id that are compared with one another."""


class Claims:
    def __init__(self, items: list[ReadItem], needs_ids: bool) -> None:
        self.items = items
        self.calls: defaultdict[str, list[int]] = defaultdict(list)
        """Places of the calls of each id."""
        self.answers: dict[int, int] = {}
        """The place of the result of each call."""
        self.owners: dict[int, int] = {}
        """The place of the call of each result."""
        for place, item in enumerate(items):
            if isinstance(item.value, Call):
                self.calls[item.value.id].append(place)
        self._claim_by_id()
        self._claim_by_order(needs_ids)

    def call(self, place: int) -> Call:
        value = self.items[place].value
        assert isinstance(value, Call)
        return value

    def result(self, place: int) -> Result:
        value = self.items[place].value
        assert isinstance(value, Result)
        return value

    def answer(self, call: int) -> ReadItem | None:
        return self.items[self.answers[call]] if call in self.answers else None

    def has_same(self, item: ReadItem) -> bool:
        """True where a call of its id has the very same result."""
        calls = self.calls.get(item.id, ())[:MAX_COMPARED] if item.id else ()
        return any(self.result(self.answers[call]) == item.value for call in calls if call in self.answers)

    def doubles(self, entries: list[Json]) -> set[int]:
        """Entries that were written down again: they have the same calls as another one, and no results."""
        homes: defaultdict[int, list[int]] = defaultdict(list)
        for place, item in enumerate(self.items):
            if isinstance(item.value, Call):
                homes[item.home].append(place)
        found: set[int] = set()
        for home, calls in homes.items():
            call_id = self.call(calls[0]).id
            if call_id and not any(call in self.answers for call in calls):
                same = {self.items[place].home for place in self.calls[call_id][:MAX_COMPARED]} - {home} - found
                found |= {home} if any(entries[other] == entries[home] for other in same) else set()
        return found

    def _claim(self, call: int, result: int) -> None:
        self.answers[call], self.owners[result] = result, call

    def _claim_by_id(self) -> None:
        """A result belongs to the nearest call before it that has its id; failing that, to the first one after it."""
        before: dict[str, int] = {}
        early: defaultdict[str, list[int]] = defaultdict(list)
        for place, item in enumerate(self.items):
            if isinstance(item.value, Call):
                first = before.get(item.value.id)
                if first is None or self.items[first].home != item.home:
                    before[item.value.id] = place
            elif item.kind == "result" and item.id:
                if item.id not in before:
                    early[item.id].append(place)
                elif (call := self._free(before[item.id], item.id)) is not None:
                    self._claim(call, place)
        for call_id, places in early.items():
            for call in self.calls.get(call_id, ()):
                if places and call not in self.answers:
                    self._claim(call, places.pop(0))

    def _free(self, call: int, call_id: str) -> int | None:
        """This call, or one of the same id in the same entry, that has no result yet."""
        calls, home = self.calls[call_id], self.items[call].home
        same = takewhile(lambda place: self.items[place].home == home, calls[bisect_left(calls, call) :][:MAX_COMPARED])
        return next((place for place in same if place not in self.answers), None)

    def _claim_by_order(self, needs_ids: bool) -> None:
        """A result whose id is unknown goes to the first open call of its name in the reply before it."""
        waiting: list[int] = []
        heard = False
        for place, item in enumerate(self.items):
            if item.kind == "said":
                if heard or (item.starts and waiting):
                    waiting = []
                heard = False
                waiting += [place] if isinstance(item.value, Call) else []
            elif item.kind == "result":
                heard = True
                if place not in self.owners and (not item.id or item.id not in self.calls):
                    free = [call for call in waiting if call not in self.answers]
                    self._take(item, place, free, needs_ids)

    def _take(self, item: ReadItem, place: int, free: list[int], needs_ids: bool) -> None:
        named = [call for call in free if not item.name or self.call(call).name == item.name]
        if item.id and needs_ids:
            # Its call may be lost: it surely answers the one before it only where no other call waits.
            between = self.items[free[0] + 1 : place] if len(free) == 1 else []
            named = named if len(free) == 1 and all(each.kind == "result" for each in between) else []
        if named:
            self._claim(named[0], place)
