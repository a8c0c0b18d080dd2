"""Each call with its result directly after it, whatever order the file has them in.

Law: nothing is lost. A result goes to its call; one without a call becomes a text of the user's; a call without a
result gets one that says so. An entry that needs nothing stays the object it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, count

from yohaku.doctor.kit import Ask, Json, Kit, Unit
from yohaku.doctor.notes import Notes

Slot = tuple[int, int]
"""A call: the index of its unit, and its number among the unit's calls."""

FEW = 50
"""Calls of one id whose answers are compared with one that nobody claims."""


def paired(kit: Kit, entries: list[Json], places: list[str], notes: Notes) -> list[tuple[Json, int | None]]:
    """The entries in order, each with the index it had; `places` are the names of those indices for the notes."""
    before = len(notes.found)
    units = [unit for home, entry in enumerate(entries) for unit in kit.units(entry, home)]
    ordered = list(_Pairing(kit, units, places, notes).run())
    written = list(_written(kit, ordered, entries, units))
    notes.where = ""
    finished = kit.finished(written, notes)
    same = len(finished) == len(entries) and all(new[0] is old for new, old in zip(finished, entries, strict=True))
    if not same and len(notes.found) == before:
        notes.add("regrouped")
    return finished


class _Pairing:
    def __init__(self, kit: Kit, units: list[Unit], places: list[str], notes: Notes) -> None:
        self.kit, self.units, self.places, self.notes = kit, units, places, notes
        self.unique = kit.unique or notes.unique
        self.answers: dict[Slot, int] = {}
        """The unit that answers each call."""
        self.owners: dict[int, Slot] = {}
        self.called: defaultdict[str, list[int]] = defaultdict(list)
        """The units that make a call of an id."""
        self.ids = {ask.id for unit in units for ask in unit.asks}
        self.seen: set[str] = set()
        self.left_out: set[int] = set()
        """Units that say only what another one says, which stays."""
        self.numbers = count(1)
        self.between = list(accumulate((unit.kind != "answer" for unit in units), initial=0))
        self._by_id()
        self._by_order()

    def _by_id(self) -> None:
        """An answer belongs to the nearest call before it that has its id; failing that, to the first one after it."""
        early: defaultdict[str, list[int]] = defaultdict(list)
        for place, unit in enumerate(self.units):
            for ask in unit.asks:
                self.called[ask.id].append(place)
            if unit.kind == "answer" and unit.id:
                if unit.id not in self.called:
                    early[unit.id].append(place)
                elif free := self._free(self.called[unit.id][-1], unit.id):
                    self._claim(free, place)
        for name, answers in early.items():
            for place in self.called.get(name, ()):
                if answers and (free := self._free(place, name)):
                    self._claim(free, answers.pop(0))

    def _by_order(self) -> None:
        """An answer whose id says nothing goes to the first open call of its name in the reply before it."""
        asked: list[Slot] = []
        fresh = False
        for place, unit in enumerate(self.units):
            if unit.kind == "reply":
                own = [(place, number) for number in range(len(unit.asks))]
                asked = own if fresh or not self.kit.joined else [*asked, *own]
                fresh = False
            elif unit.kind == "answer":
                fresh = True
                if place not in self.owners and (not unit.id or unit.id not in self.ids):
                    self._take(unit, place, [slot for slot in asked if slot not in self.answers])

    def _take(self, unit: Unit, place: int, free: list[Slot]) -> None:
        named = [slot for slot in free if not unit.name or self._ask(slot).name == unit.name]
        if unit.id and self.kit.needs_ids:
            # Its call may be lost; only when one call alone is waiting, is it surely that one.
            named = named if len(free) == 1 and self._next_to(free[0], place) else []
        if named:
            self._claim(named[0], place)

    def _next_to(self, slot: Slot, place: int) -> bool:
        return all(unit.kind == "answer" for unit in self.units[slot[0] + 1 : place])

    def _ask(self, slot: Slot) -> Ask:
        return self.units[slot[0]].asks[slot[1]]

    def _free(self, place: int, name: str) -> Slot | None:
        asks = enumerate(self.units[place].asks)
        return next(((place, n) for n, ask in asks if ask.id == name and (place, n) not in self.answers), None)

    def _claim(self, slot: Slot, answer: int) -> None:
        self.answers[slot] = answer
        self.owners[answer] = slot

    def run(self) -> Iterator[Unit]:
        place = 0
        while place < len(self.units):
            unit = self.units[place]
            self._at(unit)
            if unit.kind == "reply":
                end = self._end(place)
                yield from self._step(place, end)
                place = end
                continue
            if unit.kind != "answer":
                yield unit
            elif place not in self.owners:
                yield from self._orphan(unit)
            place += 1

    def _end(self, place: int) -> int:
        """Where the reply that begins here ends."""
        end = place + 1
        if not self.kit.joined:
            return end
        waiting = bool(self.units[place].asks)
        while end < len(self.units):
            unit = self.units[end]
            if unit.kind == "reply":
                waiting = waiting or bool(unit.asks)
            elif not (unit.kind == "note" and waiting and self._answered_later(place, end)):
                break
            end += 1
        while self.units[end - 1].kind == "note":
            end -= 1
        return end if end > place else place + 1

    def _answered_later(self, begin: int, end: int) -> bool:
        return any(
            self.answers.get((place, number), 0) > end
            for place in range(begin, end)
            for number in range(len(self.units[place].asks))
        )

    def _step(self, begin: int, end: int) -> Iterator[Unit]:
        if self._twice(begin, end):
            self.left_out.update(range(begin, end))
            self.notes.add("twice")
            return
        used: set[str] = set()
        found: list[tuple[int, Unit]] = []
        for place in range(begin, end):
            unit = self.units[place]
            self._at(unit)
            entry = unit.entry
            for number, ask in enumerate(unit.asks):
                kept = self._named(ask, used)
                if kept != ask:
                    entry = self.kit.renamed(entry, ask, kept.id)
                used.add(kept.id)
                self.seen.add(kept.id)
                found.append(self._answer(kept, self.answers.get((place, number))))
            yield unit if entry is unit.entry else Unit("reply", entry, unit.home, unit.asks)
        late = len(self.units)
        ordered = sorted(found, key=lambda pair: late if pair[0] < 0 else pair[0])
        self._note_moves(begin, end, [place for place, _ in ordered if place >= 0])
        yield from (unit for _, unit in ordered)

    def _named(self, ask: Ask, used: set[str]) -> Ask:
        """The call with an id of its own; those of a later reply may repeat one where the dialect allows it."""
        if not ask.id and (not self.kit.needs_ids or ask.kind == "legacy"):
            return ask
        if ask.id and ask.id not in used and not (self.unique and ask.id in self.seen):
            return ask
        new = next(name for n in self.numbers if (name := f"{ask.id or 'call'}_{n}") not in self.ids)
        self.ids.add(new)
        self.notes.add("same_id" if ask.id else "no_id", ask.id or ask.name, new)
        return ask._replace(id=new)

    def _answer(self, ask: Ask, place: int | None) -> tuple[int, Unit]:
        if place is None:
            self.notes.add("no_result", ask.name or ask.id)
            return -1, Unit("answer", self.kit.answer(ask), None)
        unit = self.units[place]
        entry = self.kit.fitted(unit.entry, ask)
        if entry is unit.entry:
            return place, unit
        self._at(unit)
        self.notes.add("fitted", ask.name)
        return place, Unit("answer", entry, unit.home, id=ask.id)

    def _twice(self, begin: int, end: int) -> bool:
        """Whether this reply was only written down again: the same words and ids, and no results of its own."""
        asks = [ask for unit in self.units[begin:end] for ask in unit.asks]
        if not asks or not all(ask.id for ask in asks):
            return False
        if any((place, n) in self.answers for place in range(begin, end) for n in range(len(self.units[place].asks))):
            return False
        here = [unit.entry for unit in self.units[begin:end]]
        return any(
            [unit.entry for unit in self.units[other : other + len(here)]] == here
            for other in self._others(asks[0].id, begin, end)
        )

    def _others(self, name: str, begin: int, end: int) -> Iterable[int]:
        own = next(place for place in range(begin, end) if self.units[place].asks) - begin
        for place in self.called.get(name, ()):
            if not begin <= place < end and place >= own and place not in self.left_out:
                yield place - own

    def _note_moves(self, begin: int, end: int, answers: list[int]) -> None:
        for place in answers:
            if place < begin or self.between[place] != self.between[end]:
                self._at(self.units[place])
                self.notes.add("moved")

    def _orphan(self, unit: Unit) -> Iterator[Unit]:
        if self.kit.partial and unit.id not in self.seen:
            self.seen.add(unit.id)
            yield unit
            return
        if unit.id and any(self._answers_as(unit, place) for place in self.called.get(unit.id, ())[:FEW]):
            self.notes.add("twice")
            return
        self.notes.add("orphan", unit.name or unit.id)
        yield Unit("other", self.kit.told(unit), unit.home)

    def _answers_as(self, unit: Unit, place: int) -> bool:
        """Whether a call of the unit here has the very same answer."""
        found = (self.answers.get((place, n)) for n, ask in enumerate(self.units[place].asks) if ask.id == unit.id)
        return any(self.units[answer].entry == unit.entry for answer in found if answer is not None)

    def _at(self, unit: Unit) -> None:
        if unit.home is not None:
            self.notes.where = self.places[unit.home]


def _written(
    kit: Kit, ordered: list[Unit], entries: list[Json], units: list[Unit]
) -> Iterator[tuple[Json, int | None]]:
    """Entries again: each that came through whole as it was, the others from what is left of them."""
    parts: defaultdict[int | None, list[Unit]] = defaultdict(list)
    for unit in units:
        parts[unit.home].append(unit)
    place = 0
    while place < len(ordered):
        unit = ordered[place]
        whole = parts[unit.home] if unit.home is not None else []
        if whole and ordered[place : place + len(whole)] == whole and _alone(kit, ordered, place, len(whole)):
            yield entries[unit.home or 0], unit.home
            place += len(whole)
        elif unit.kind == "answer" and kit.blocks:
            end = place
            while end < len(ordered) and ordered[end].kind == "answer":
                end += 1
            yield kit.gathered([each.entry for each in ordered[place:end]]), unit.home
            place = end
        else:
            yield unit.entry, unit.home
            place += 1


def _alone(kit: Kit, ordered: list[Unit], place: int, size: int) -> bool:
    """Whether no other entry holds answers of the same reply, where they must stand together."""
    if not kit.together or ordered[place].kind != "answer":
        return True
    end = place
    while end < len(ordered) and ordered[end].kind == "answer":
        end += 1
    return all(unit.home == ordered[place].home for unit in ordered[place:end]) and (
        end - place == sum(unit.kind == "answer" for unit in ordered[place : place + size])
    )
