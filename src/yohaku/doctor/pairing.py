"""Items of a conversation put in order: each call with its result, each reply whole.

Law: nothing is lost. A result goes to its call; one without a call becomes a text of the user; a call without a result
gets one that tells so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from yohaku.core.model import Call, Opaque, Part, Result, Step, Text, ToolUse
from yohaku.dialects.json_values import Json, arguments_object
from yohaku.doctor.claims import Claims
from yohaku.doctor.notes import Notes
from yohaku.doctor.reading import UNNAMED, ReadItem

NO_RESULT = "[no result was recorded]"
ORPHAN = "[this result was recorded without its call{name}]"


@dataclass(frozen=True, slots=True)
class Rules:
    """Demands of a dialect on neighbours."""

    unique_ids: bool = False
    """An id may be used once only in the whole conversation."""
    needs_ids: bool = True
    one_entry: bool = False
    """All results of a reply must stand in one entry."""
    elsewhere: bool = False
    """Calls may lie with the provider: a result without its call stays."""
    closed_thoughts: bool = False
    """A reply cannot end with a thought."""
    forms: bool = False
    """Each kind of call has its own kind of result."""
    trimmed: bool = False
    """The last reply cannot end with blanks."""


RULES = {
    "anthropic": Rules(closed_thoughts=True, trimmed=True),
    "gemini": Rules(needs_ids=False, one_entry=True),
    "ollama": Rules(needs_ids=False),
    "openai_responses": Rules(unique_ids=True, closed_thoughts=True, forms=True),
    "codex": Rules(unique_ids=True, closed_thoughts=True),
    "trajectory": Rules(unique_ids=True),
}


class OrderedItem(NamedTuple):
    """A step, a part of the user's or the system's, or an entry without words (None)."""

    value: Step | Part | None
    homes: tuple[int, ...]
    """The entries it came from."""
    changed: bool = False
    system: bool = False


def orphan_parts(name: str, result: Result) -> tuple[Part, ...]:
    head = ORPHAN.format(name=f" ({name})" if name else "")
    match result.parts:
        case (Text(text), *rest):
            return (Text(f"{head}\n{text}".rstrip()), *rest)
    return (Text(head), *result.parts)


class Pairing:
    def __init__(
        self, items: list[ReadItem], entries: list[Json], places: list[str], notes: Notes, rules: Rules
    ) -> None:
        self.items, self.places, self.notes, self.rules = items, places, notes, rules
        self.claims = Claims(items, rules.needs_ids)
        self.touched: set[int] = set()
        """Entries that cannot stay as they are."""
        self.left_out = self.claims.doubles(entries)
        for home in sorted(self.left_out):
            self._note(home, "twice")
        self.seen: set[str] = set()
        self.numbers = count(1)

    def _note(self, home: int, code: str, name: object = "", why: object = "") -> None:
        self.notes.where = self.places[home]
        self.notes.add(code, name, why)

    def run(self) -> list[OrderedItem]:
        ordered = list(self._order())
        if self.rules.trimmed and ordered:
            ordered[-1] = self._trim(ordered[-1])
        return ordered

    def _trim(self, last: OrderedItem) -> OrderedItem:
        match last.value:
            case Step(items=(*before, Text(text) as final)) if text != text.rstrip():
                self.notes.where = ""
                self.notes.add("blanks")
                self.touched.update(last.homes)
                return last._replace(value=Step((*before, replace(final, text=text.rstrip()))), changed=True)
        return last

    def _order(self) -> Iterator[OrderedItem]:
        reply: dict[int, None] = {}
        called = heard = False  # a call in the reply, and a result since it began
        last = -1  # place of the last result of the reply
        aside: list[OrderedItem] = []
        """Results without a call, and what the system adds while results are awaited."""
        for place, item in enumerate(self.items):
            if item.home in self.left_out and item.kind != "result":
                continue
            if item.kind == "result":
                if place not in self.claims.owners:
                    aside += self._orphan(item)
                elif self.claims.owners[place] not in reply:
                    self._note(item.home, "moved")
                heard = True
                continue
            waits = bool(reply) and last > place
            if item.kind == "system" and waits:
                aside.append(self._as_ordered(item))
                continue
            if reply and (item.kind != "said" or (heard and not waits) or (item.starts and called)):
                yield from self._step(list(reply), place)
                reply, called, last = {}, False, -1
            heard = heard and bool(reply)
            if not reply:
                yield from aside
                aside = []
            if item.kind == "said":
                reply[place] = None
                called = called or isinstance(item.value, Call)
                last = max(last, self.claims.answers.get(place, -1))
            else:
                yield self._as_ordered(item)
        if reply:
            yield from self._step(list(reply), len(self.items))
        yield from aside

    def _as_ordered(self, item: ReadItem) -> OrderedItem:
        part = item.value if isinstance(item.value, Text | Opaque) else None
        return OrderedItem(part, (item.home,), system=item.kind == "system")

    def _orphan(self, item: ReadItem) -> Iterator[OrderedItem]:
        assert isinstance(item.value, Result)
        if self.rules.elsewhere and item.id and item.id not in self.seen and item.home not in self.touched:
            self.seen.add(item.id)
            yield OrderedItem(None, (item.home,))
            return
        self.touched.add(item.home)
        if self.claims.has_same(item):
            self._note(item.home, "twice")
            return
        name = item.name or item.id
        self._note(item.home, "orphan", name)
        for part in orphan_parts(name, item.value):
            yield OrderedItem(part, (item.home,), changed=True)

    def _step(self, reply: list[int], end: int) -> Iterator[OrderedItem]:
        reply = self._without_late_thoughts(reply)
        homes = [self.items[place].home for place in reply]
        items: list[Part | ToolUse] = []
        changed = False
        used: set[str] = set()
        for place in reply:
            value = self.items[place].value
            if isinstance(value, Call):
                call = self._give_id(place, used)
                used.add(call.id)
                self.seen.add(call.id)
                result, away = self._find_result(place, call, end)
                changed = changed or away or call is not value
                items.append(ToolUse(call, result))
                homes += [answer.home] if (answer := self.claims.answer(place)) else []
            elif isinstance(value, Text | Opaque):
                items.append(value)
        changed = self._are_apart(reply) or changed
        if items:
            yield OrderedItem(Step(tuple(items)), tuple(sorted(set(homes))), changed)

    def _without_late_thoughts(self, reply: list[int]) -> list[int]:
        if not self.rules.closed_thoughts:
            return reply
        kept: list[int] = []
        for place in reversed(reply):
            item = self.items[place]
            if not is_thought(item):
                kept.append(place)
            elif kept and _is_model(self.items[kept[-1]]):
                kept.append(place)
                after = self.items[place + 1]
                if after.kind == "result" or (not self.rules.forms and after.home != item.home):
                    self.touched.add(item.home)  # the thought ends its entry, and the reply goes on in another
                    self._note(item.home, "regrouped")
            else:
                self._note(item.home, "thought")
                self.touched.add(item.home)
        return kept[::-1]

    def _give_id(self, place: int, used: set[str]) -> Call:
        """The call with an id of its own; a later reply may use one again where the dialect allows it."""
        item, call = self.items[place], self.claims.call(place)
        answer = self.claims.answer(place)
        if call.name == UNNAMED and answer:
            call = replace(call, name=answer.name or UNNAMED)
        if call.id and call.id not in used and not (self.rules.unique_ids and call.id in self.seen):
            return call
        new = next(new for n in self.numbers if (new := f"{call.id or 'call'}_{n}") not in self.claims.calls)
        self._note(item.home, "same_id" if call.id else "no_id", call.id or call.name, new)
        self.touched |= {item.home, answer.home} if answer else {item.home}
        return replace(call, id=new)

    def _find_result(self, place: int, call: Call, end: int) -> tuple[Result, bool]:
        """The result of a call, and whether it was changed or comes from elsewhere."""
        item, answer = self.items[place], self.claims.answer(place)
        if answer is None:
            self._note(item.home, "no_result", call.name or call.id)
            return Result((Text(NO_RESULT),), error=True), True
        fits = answer.id == self.claims.call(place).id and answer.name in ("", call.name)
        if self.rules.forms:
            fits = fits and _form_of_result(item.form) == answer.form
        elif "function" in (item.form, answer.form):
            fits = fits and item.form == answer.form
        if not fits:
            self._note(answer.home, "fitted", call.name)
            self.touched |= {answer.home, item.home} if self.rules.forms else {answer.home}
        return self.claims.result(self.claims.answers[place]), not fits or not place < self.claims.answers[place] < end

    def _are_apart(self, reply: list[int]) -> bool:
        """True where the results of one reply stand in several entries, and may not."""
        homes = {answer.home for place in reply if (answer := self.claims.answer(place))}
        if not self.rules.one_entry or len(homes) < 2 or homes & self.touched:
            return False
        self._note(min(homes), "regrouped")
        self.touched |= homes
        return True


def _form_of_result(form: str) -> str:
    return "tool_search_output" if form == "tool_search_call" else f"{form}_output"


def is_thought(item: ReadItem) -> bool:
    return isinstance(item.value, Opaque) and item.value.kind == "thought"


def _is_model(item: ReadItem) -> bool:
    """False for notes of the system and references, which no thought leads to."""
    if isinstance(item.value, Opaque):
        return item.value.kind not in ("item_reference", "mcp_approval_response")
    return not (isinstance(item.value, Text) and item.value.by == "system")


def replace_unserved(items: list[ReadItem]) -> set[int]:
    """Turn results of tools that the provider ran into texts where their calls are lost; return their entries."""
    served: set[str] = set()
    found: set[int] = set()
    for item in items:
        if not isinstance(item.value, Opaque):
            continue
        kind, block = item.value.kind, arguments_object(item.value.data)
        if kind in ("server_tool_use", "mcp_tool_use"):
            served.add(str(block.get("id")))
        elif kind == "tool_search_call":
            served.add(kind)
        orphan = kind.endswith("_tool_result") and block.get("tool_use_id") not in served
        if orphan or (kind == "tool_search_output" and "tool_search_call" not in served):
            item.value = Text(item.value.data)
            found.add(item.home)
    return found
