"""Pins: pieces and passages that the user wants shown verbatim, whatever is folded around them.

Law: a stub that would hide something pinned is not applied, and a gist that hides a pinned text shows it word for word,
with its call. For passes, pinned pieces weigh nothing, since folding cannot save their tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from yohaku.core.find_texts import TextFinder
from yohaku.core.folds import KANA
from yohaku.core.meter import Meter
from yohaku.core.model import History, Part, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, argument_text, arguments_of, is_media, original_at, original_of, ref_of
from yohaku.core.weigh import Ledger, Weigher


class Pin(NamedTuple):
    kind: Literal["ref", "key", "text"]
    """Piece by the ref of its original, whole prompt or step by its key, or passage by its words."""
    value: str

    def __str__(self) -> str:
        if self.kind == "text":
            return f"“{self.value if len(self.value) <= 40 else self.value[:39] + '…'}”"
        return f"ref={self.value}" if self.kind == "ref" else self.value


def _call_name(use: ToolUse) -> str:
    return use.call.name


@dataclass(frozen=True, slots=True)
class PinnedPlaces:
    """Places of the pinned pieces of one history: by the key of the turn or step, then by slot."""

    whole: Mapping[str, Mapping[Slot, Pin]] = field(default_factory=dict)
    passages: Mapping[str, Mapping[Slot, tuple[Pin, ...]]] = field(default_factory=dict)
    media: frozenset[str] = frozenset()
    """Keys with a pinned image or document: a gist cannot show it, so it may not hide it."""
    steps: frozenset[str] = frozenset()
    """Keys that are pinned themselves: the thoughts of such a step stay as long as it is shown."""
    describe: Callable[[ToolUse], str] = field(default=_call_name, compare=False, repr=False)
    """Return the call of a pinned piece, in a few words."""

    def __bool__(self) -> bool:
        return bool(self.whole or self.passages)

    def spares(self, key: str, slot: Slot, text: str) -> bool:
        """Test whether this text may replace the piece in that slot."""
        if not self:
            return True
        if slot.where == "thought" and key in self.steps:
            return False
        passages = self.passages.get(key, {}).get(slot, ())
        return slot not in self.whole.get(key, ()) and all(pin.value in text for pin in passages)


Known = dict[str, tuple[frozenset[Pin], dict[Pin, tuple[Slot, ...]]]]
"""Cache by the key of a turn or step: the pins it was searched for, and the slots of those found in it."""


def locate_pins(
    history: History,
    pins: Iterable[Pin],
    known: Known | None = None,
    describe: Callable[[ToolUse], str] = _call_name,
) -> PinnedPlaces:
    """Find the pins in a history: a ref at all its places, a passage at its first."""
    known = {} if known is None else known
    whole: dict[str, dict[Slot, Pin]] = {}
    passages: dict[str, dict[Slot, tuple[Pin, ...]]] = {}
    media = set[str]()
    order = {pin: number for number, pin in enumerate(dict.fromkeys(pins))}
    search, placed = _Search(frozenset(order)), set[Pin]()
    for owner in _owners(history.turns) if order else ():
        found = search.find_in(owner, known)
        for pin in sorted(found, key=order.__getitem__):
            if pin.kind != "text":
                whole.setdefault(owner.key, {}).update(dict.fromkeys(found[pin], pin))
            elif pin not in placed:
                placed.add(pin)
                mine = passages.setdefault(owner.key, {})
                mine[found[pin][0]] = (*mine.get(found[pin][0], ()), pin)
        if any(_is_media(owner, slot) for slot in whole.get(owner.key, ())):
            media.add(owner.key)
    keys = frozenset(pin.value for pin in order if pin.kind == "key")
    return PinnedPlaces(whole, passages, frozenset(media), keys, describe)


class _NewPins(NamedTuple):
    """Pins that a turn or step was not searched for yet."""

    keys: frozenset[str]
    refs: frozenset[str]
    texts: TextFinder | None

    def find_in(self, owner: Turn | Step) -> Iterator[tuple[Pin, Slot]]:
        if owner.key in self.keys:
            yield from ((Pin("key", owner.key), slot) for slot, _ in places(owner))
        if self.refs:
            named = ((ref_of(original), slot) for slot, original in places(owner))
            yield from ((Pin("ref", ref), slot) for ref, slot in named if ref in self.refs)
        if self.texts:
            for slot, text in places(owner):
                if isinstance(text, str):
                    yield from ((Pin("text", value), slot) for value in self.texts.find_in(text))


class _Search:
    """Search for pins in turns and steps, each searched once for each pin."""

    def __init__(self, pins: frozenset[Pin]) -> None:
        self._pins = pins
        self._refs = _values(pins, "ref")
        self._new: dict[frozenset[Pin], _NewPins | None] = {}
        """By the pins searched for before, which most turns share; None if these are all."""

    def find_in(self, owner: Turn | Step, known: Known) -> dict[Pin, tuple[Slot, ...]]:
        """Return the pins that are in this turn or step, with their slots."""
        before, found = known.get(owner.key, (frozenset[Pin](), {}))
        if new := self._missing(before):
            found = {pin: slots for pin, slots in found.items() if pin in self._pins} | _gather(new.find_in(owner))
            known[owner.key] = self._pins, found
        thoughts = owner.thoughts if self._refs and isinstance(owner, Step) else ()
        if not thoughts:
            return found
        # Not cached: a step has the same key without its thoughts.
        named = ((ref_of(original_of(part)), Slot("thought", index)) for index, part in enumerate(thoughts))
        pairs = [(pin, slot) for pin, slots in found.items() for slot in slots]
        return _gather([*pairs, *((Pin("ref", ref), slot) for ref, slot in named if ref in self._refs)])

    def _missing(self, before: frozenset[Pin]) -> _NewPins | None:
        if before not in self._new:
            new = self._pins - before
            texts = _values(new, "text")
            finds = _NewPins(_values(new, "key"), _values(new, "ref"), TextFinder(texts) if texts else None)
            self._new[before] = finds if before != self._pins else None
        return self._new[before]


def _values(pins: Iterable[Pin], kind: str) -> frozenset[str]:
    return frozenset(pin.value for pin in pins if pin.kind == kind)


def _gather(pairs: Iterable[tuple[Pin, Slot]]) -> dict[Pin, tuple[Slot, ...]]:
    slots: dict[Pin, list[Slot]] = {}
    for pin, slot in pairs:
        slots.setdefault(pin, []).append(slot)
    return {pin: tuple(each) for pin, each in slots.items()}


def places(owner: Turn | Step) -> Iterator[tuple[Slot, str | bytes]]:
    """Yield the pieces of a prompt or step that a stub can replace, each with its original."""
    for slot in _slots(owner):
        yield slot, original_at(owner, slot)


def _slots(owner: Turn | Step) -> Iterator[Slot]:
    if isinstance(owner, Turn):
        yield from (Slot("prompt", index) for index, part in enumerate(owner.prompt) if _may_be_folded(part))
        return
    for index, item in enumerate(owner.solid):
        if isinstance(item, ToolUse):
            yield from (Slot("argument", index, name) for name in arguments_of(item.call.arguments))
            parts = enumerate(item.result.parts)
            yield from (Slot("result", index, number) for number, part in parts if _may_be_folded(part))
        elif _may_be_folded(item):
            yield Slot("item", index)


def _may_be_folded(part: Part) -> bool:
    return isinstance(part, Text) or is_media(part)


def _owners(turns: Iterable[Turn]) -> Iterator[Turn | Step]:
    for turn in turns:
        yield turn
        yield from turn.steps


def _is_media(owner: Turn | Step, slot: Slot) -> bool:
    part = part_at(owner, slot)
    return part is not None and is_media(part)


def part_at(owner: Turn | Step, slot: Slot) -> Part | None:
    """Return the part in a slot; None for an argument, which is not a part of its own."""
    if isinstance(owner, Turn):
        return owner.prompt[slot.item]
    if slot.where == "thought":
        return owner.thoughts[slot.item]
    item = owner.solid[slot.item]
    if not isinstance(item, ToolUse):
        return item
    return None if slot.where == "argument" else item.result.parts[int(slot.part)]


# In a gist

TITLE = "Pinned by the user, word for word:"
TITLE_JA = "ユーザーがピン留めしたもの(原文のまま):"


def render_pinned(hidden: Iterable[Turn], pins: PinnedPlaces, header: str, shown: set[str]) -> str:
    """Return the pinned texts of hidden turns, each under its call, titled in the language of `header`.

    Those in `shown` are left out, and the others added to it.
    """
    titles: dict[str, str] = {}
    for owner in _owners(hidden):
        for slot, text in _pinned_texts(owner, pins):
            if text not in shown:
                titles.setdefault(text, origin_title(owner, slot, pins.describe))
    shown.update(titles)
    lines = [f"- {title}:\n{text}" for text, title in titles.items()]
    return "\n" + "\n".join([title_in(header), *lines]) if lines else ""


def title_in(text: str) -> str:
    """Return the title in the language of a text."""
    return TITLE_JA if KANA.search(text) else TITLE


def _pinned_texts(owner: Turn | Step, pins: PinnedPlaces) -> Iterator[tuple[Slot, str]]:
    for slot in sorted(pins.whole.get(owner.key, ()), key=str) if owner.key else ():
        original = original_at(owner, slot)
        if isinstance(original, str) and original:
            yield slot, original
    for slot, passages in pins.passages.get(owner.key, {}).items() if owner.key else ():
        yield from ((slot, pin.value) for pin in passages)


def origin_title(owner: Turn | Step, slot: Slot, describe: Callable[[ToolUse], str]) -> str:
    """Return the origin of a piece, in a few words."""
    if isinstance(owner, Turn):
        return "user"
    if slot.where == "thought":
        return "assistant"
    item = owner.solid[slot.item]
    if not isinstance(item, ToolUse):
        return "assistant"
    return f"`{describe(item)}`" + (f" {slot.part}" if slot.where == "argument" else "")


# Weights


class PinnedWeigher(Weigher):
    """Weigher for which pinned pieces weigh nothing."""

    def __init__(self, meter: Meter, history: History, pins: PinnedPlaces) -> None:
        super().__init__(meter)
        self.preface = ""
        """Text of the current gists, which may stand in one text with a prompt."""
        self.tails: tuple[str, ...] = ()
        """Pinned texts in it."""
        self.before: Part | None = None
        """Part of the prompt that it stands before."""
        self._parts: set[int] = set()
        self._arguments: dict[int, list[str]] = {}
        """Arguments by the id of their call, which the history keeps alive."""
        for owner in _owners(history.turns) if pins else ():
            for slot in pins.whole.get(owner.key, ()):
                part = part_at(owner, slot)
                if part is not None:
                    self._parts.add(id(part))
                elif isinstance(owner, Step) and isinstance(use := owner.solid[slot.item], ToolUse):
                    self._arguments.setdefault(id(use.call), []).append(argument_text(use.call, slot.part))

    def part(self, part: Part) -> int:
        if id(part) in self._parts:
            return 0
        if self.preface and isinstance(part, Text) and part.text.startswith(self.preface):
            gist, prompt = self.preface, part.text.removeprefix(self.preface)
            for tail in self.tails:
                gist = gist.replace(tail, "", 1)
            return self.meter.count(gist if id(self.before) in self._parts else gist + prompt)
        return super().part(part)

    def use(self, use: ToolUse) -> int:
        pinned = self._arguments.get(id(use.call), ())
        return max(0, super().use(use) - sum(map(self.meter.count, pinned)))

    def pinned(self, shown: History, weight: Ledger) -> Ledger:
        """Return the same total with the pinned pieces counted as fixed."""
        unpinned = self.ledger(shown)
        return replace(unpinned, system=unpinned.system + weight.total - unpinned.total)


def heaviest_pin(history: History, pins: PinnedPlaces, weigher: Weigher) -> tuple[str, Pin] | None:
    """Return the heaviest pin with its origin."""
    found: list[tuple[int, str, Pin]] = []
    for owner in _owners(history.turns):
        for slot, pin in pins.whole.get(owner.key, {}).items():
            part = part_at(owner, slot) or Text(str(original_at(owner, slot)))
            found.append((weigher.part(part), origin_title(owner, slot, pins.describe), pin))
        for slot, passages in pins.passages.get(owner.key, {}).items():
            origin = origin_title(owner, slot, pins.describe)
            found += [(weigher.part(Text(pin.value)), origin, pin) for pin in passages]
    return max(found, key=lambda one: one[0])[1:] if found else None
