"""View: a history with its folds, and the shorter history that is sent.

Law: `shown` is a pure function of the history and its folds; unfolding everything restores the history.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

from yohaku.core.folds import Cut, Fold, Gist, Stub
from yohaku.core.model import Call, History, Opaque, Part, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import (
    Slot,
    is_media,
    original_at,
    original_of,
    parts_of,
    ref_of,
    render_entries,
    render_turns,
    replace_arguments,
)
from yohaku.core.pins import PinnedPlaces, render_pinned

CHAPTER_BREAK = "\n\n"


class Preface(NamedTuple):
    """Text of a gist in front of what is visible, and how it stands there.

    Law: it never makes two entries of one role that follow each other, whatever is added later.
    """

    text: str
    place: Literal["joined", "beside", "acknowledged", "apart"]
    """In one text with the prompt; in one entry with the image that the prompt begins with; before the prompt, as an
    entry that the model acknowledges; or as an entry before something that is not the user's."""
    before: Part | None = None
    """First part of the prompt."""


@dataclass(frozen=True)
class View:
    history: History
    stubs: Mapping[str, Mapping[Slot, Stub]] = field(default_factory=dict)
    """Stubs by the key of their turn or step."""
    gists: Mapping[str, Gist] = field(default_factory=dict)
    pins: PinnedPlaces = field(default_factory=PinnedPlaces)

    def with_(self, folds: Iterable[Fold]) -> View:
        stubs = {key: dict(slots) for key, slots in self.stubs.items()}
        gists = dict(self.gists)
        for fold in folds:
            if isinstance(fold, Gist):
                gists[fold.key] = fold
            elif self.pins.spares(fold.key, fold.slot, fold.text):
                stubs.setdefault(fold.key, {})[fold.slot] = fold
        return View(self.history, stubs, gists, self.pins)

    def grown(self, history: History) -> View:
        """Return the same folds on a history that only adds to this one: the same gists show."""
        view = View(history, self.stubs, self.gists, self.pins)
        view.__dict__.update(cut=self.cut, _row=self._row)
        return view

    @property
    def folds(self) -> tuple[Fold, ...]:
        return (*self.gists.values(), *(stub for slots in self.stubs.values() for stub in slots.values()))

    @cached_property
    def cut(self) -> Cut:
        """End of the newest gist that shows; everything before it is hidden."""
        if self.gists:
            last = self._last_allowed_cut
            for number in range(min(len(self.history.turns) - 1, last.turn), -1, -1):
                turn = self.history.turns[number]
                for count in range(last.steps if number == last.turn else len(turn.steps), 0, -1):
                    if self._row_up_to(turn.steps[count - 1].key):
                        return Cut(number, count)
                if self._row_up_to(turn.key):
                    return Cut(number, 0)
        return Cut(0, 0)

    def _row_up_to(self, key: str) -> tuple[Gist, ...]:
        """Return the gists from the beginning of the conversation to the one at `key`; none if one is missing.

        Law: without the chapter before it a gist does not show, since what that one told would be told nowhere.
        """
        row: list[Gist] = []
        while (gist := self.gists.get(key)) is not None:
            row.append(gist)
            if not gist.start:
                return tuple(reversed(row))
            end, start = self._cuts.get(key), self._cuts.get(gist.start)
            if end is None or start is None or start >= end:
                break
            key = gist.start
        return ()

    @cached_property
    def _row(self) -> tuple[Gist, ...]:
        """Gists that show, as they were made."""
        return self._row_up_to(self.key_at(self.cut)) if self.gists and self.history.turns else ()

    @property
    def _last_allowed_cut(self) -> Cut:
        """Latest possible end of a gist: it cannot show a pinned image, and so may not hide it."""
        for number, turn in enumerate(self.history.turns) if self.pins.media else ():
            for count, step in enumerate(turn.steps):
                if step.key in self.pins.media:
                    return Cut(number, count)
            if turn.key in self.pins.media:
                return Cut(number, len(turn.steps))
        return Cut(len(self.history.turns), 0)

    @cached_property
    def chapters(self) -> tuple[Gist, ...]:
        """Gists that show, oldest first, each with the pinned texts that it hides."""
        row = zip(self._row, self.pinned, strict=True) if self.pins else ()
        return tuple(replace(gist, text=gist.text + tail) if tail else gist for gist, tail in row) or self._row

    @property
    def gist(self) -> Gist | None:
        """Newest of the chapters."""
        return self.chapters[-1] if self.chapters else None

    @cached_property
    def preface(self) -> Preface | None:
        """Chapters as they stand before the first visible turn. Only the first part of its prompt decides how."""
        gist = self.gist
        if gist is None:
            return None
        text = join_chapters(self.chapters)
        first = next(iter(next(self.visible()).prompt), None)
        if first is None or first.by:
            return Preface(text, "apart", first)
        if gist.ack:
            return Preface(text, "acknowledged", first)
        if isinstance(first, Text):
            return Preface(text + gist.closing, "joined", first)
        return Preface(text + gist.closing, "beside" if len(first.at) > 1 else "apart", first)

    @cached_property
    def stand_in(self) -> str:
        """Words in place of the replies to the first visible prompt, where all of them are hidden and another follows.

        Without them two prompts would follow each other.
        """
        if self.gist is None or self.cut.turn == len(self.history.turns) - 1:
            return ""
        whole = self.cut.steps == len(self.history.turns[self.cut.turn].steps)
        return self.gist.stand_in if self.cut.steps and whole else ""

    @cached_property
    def pinned(self) -> tuple[str, ...]:
        """Pinned texts that each chapter hides, as it shows them; a text stands in one chapter only."""
        shown: set[str] = set()
        return tuple(
            render_pinned(self.stretch(gist), self.pins, gist.text.partition("\n")[0], shown) for gist in self._row
        )

    def key_at(self, cut: Cut) -> str:
        turn = self.history.turns[cut.turn]
        return turn.steps[cut.steps - 1].key if cut.steps else turn.key

    @cached_property
    def live(self) -> tuple[Stub, ...]:
        """Stubs that no gist hides."""
        keys = (key for turn in self.visible() for key in (turn.key, *(step.key for step in turn.steps)))
        folded = ((self.stubs[key], self.dropped.get(key, ())) for key in keys if key in self.stubs)
        return tuple(
            stub
            for slots, dropped in folded
            for slot, stub in sorted(slots.items(), key=_place_in_step)
            if slot.where != "thought" or slot in dropped
        )

    @cached_property
    def dropped(self) -> Mapping[str, Mapping[Slot, Stub]]:
        """Stubs of dropped thoughts, by the key of their step.

        Keys do not cover thoughts, so the stub may meet another thought or none, or the turn may be the newest again
        because the client went back to it: then the stub is ignored.
        """
        found: dict[str, dict[Slot, Stub]] = {}
        if not any(slot.where == "thought" for slots in self.stubs.values() for slot in slots):
            return found
        for turn in filter(thoughts_are_spent, self.history.turns[self.cut.turn : -1]):
            for step in turn.steps:
                droppable = {Slot("thought", index): thought for index, thought in droppable_thoughts(step)}
                stubs = self.stubs.get(step.key, {}).items()
                mine = {
                    slot: stub
                    for slot, stub in stubs
                    if slot in droppable and stub.ref == ref_of(original_of(droppable[slot]))
                }
                found |= {step.key: mine} if mine else {}
        return found

    @property
    def shown_folds(self) -> tuple[Fold, ...]:
        """Folds that are to be seen: the chapters, and the stubs that they do not hide."""
        return (*self.chapters, *self.live)

    def visible(self) -> Iterator[Turn]:
        """Yield the turns after the cut, unfolded."""
        turns = self.history.turns
        if not turns:
            return
        first = turns[self.cut.turn]
        yield replace(first, steps=first.steps[self.cut.steps :])
        yield from turns[self.cut.turn + 1 :]

    def hidden(self, cut: Cut) -> tuple[Turn, ...]:
        """Return all turns before `cut`; the last may be a part of a turn, without its prompt."""
        return self.between(Cut(0, 0), cut)

    def between(self, start: Cut, end: Cut) -> tuple[Turn, ...]:
        """Return the turns that are hidden at `end` and not yet at `start`.

        The first may be a part of a turn, with its prompt if nothing of the turn stays; the last one without it.
        """
        turns = self.history.turns
        if start.turn == end.turn:
            steps = turns[end.turn].steps[start.steps : end.steps] if end.steps > start.steps else ()
            return (Turn((), steps),) if steps else ()
        first = turns[start.turn]
        first = replace(first, steps=first.steps[start.steps :]) if start.steps else first
        last = (Turn((), turns[end.turn].steps[: end.steps]),) if end.steps else ()
        return (first, *turns[start.turn + 1 : end.turn], *last)

    def stretch(self, gist: Gist) -> tuple[Turn, ...]:
        """Return the turns that a gist hides."""
        return self.between(self._start_of(gist), self._cuts[gist.key])

    def _start_of(self, gist: Gist) -> Cut:
        return self._cuts[gist.start] if gist.start else Cut(0, 0)

    @cached_property
    def stubbed(self) -> tuple[Turn, ...]:
        """Turns after the cut, with stubs applied."""
        return tuple([self._stub_turn(turn) for turn in self.visible()])

    @cached_property
    def shown(self) -> History:
        """History that will be sent, without a pending reply."""
        turns, preface = self.stubbed, self.preface
        if self.stand_in:
            turns = (replace(turns[0], steps=(Step((Text(self.stand_in),)),)), *turns[1:])
        if preface and self.gist and preface.place == "acknowledged":
            turns = (replace(self.gist.turn, prompt=(Text(preface.text),)), *turns)
        elif preface:
            turns = (replace(turns[0], prompt=_put_first(preface, turns[0].prompt)), *turns[1:])
        return History(self.history.system, self.history.tools, turns, forced=self.history.forced)

    def originals(self, fold: Fold) -> Iterator[tuple[str, str | bytes]]:
        """Yield the originals that a fold hides, each after its ref."""
        if isinstance(fold, Gist):
            yield fold.ref, render_turns(self.stretch(fold))
            yield from self.beside(fold)
        elif fold.slot.where != "thought" or fold.slot in self.dropped.get(fold.key, ()):
            yield fold.ref, original_at(self._owners[fold.key], fold.slot)

    def beside(self, gist: Gist) -> Iterator[tuple[str, str | bytes]]:
        """Yield the images and documents that a gist hides, each after its ref: its original has only their refs."""
        for part in parts_of(self.stretch(gist)):
            if is_media(part):
                yield ref_of(original_of(part)), original_of(part)

    def segments(self, gist: Gist) -> list[str]:
        """Split the original of a gist into its entries, each with a ref of its own; blank lines join them again."""
        return list(render_entries(self.stretch(gist)))

    @cached_property
    def _owners(self) -> dict[str, Turn | Step]:
        owners: dict[str, Turn | Step] = {turn.key: turn for turn in self.history.turns}
        owners.update((step.key, step) for step in self.history.steps)
        return owners

    @cached_property
    def _cuts(self) -> dict[str, Cut]:
        cuts = (Cut(n, count) for n, turn in enumerate(self.history.turns) for count in range(len(turn.steps) + 1))
        return {self.key_at(cut): cut for cut in cuts}

    def _stub_turn(self, turn: Turn) -> Turn:
        stubs = self.stubs
        prompt = _stub_parts(turn.prompt, stubs.get(turn.key))
        if stubs and any(step.key in stubs for step in turn.steps):
            steps = tuple(_stub_step(step, stubs.get(step.key), self.dropped.get(step.key, ())) for step in turn.steps)
            return replace(turn, prompt=prompt, steps=steps)
        return replace(turn, prompt=prompt) if prompt is not turn.prompt else turn


def join_chapters(chapters: Iterable[Gist]) -> str:
    return CHAPTER_BREAK.join(gist.text for gist in chapters)


def _put_first(preface: Preface, prompt: tuple[Part, ...]) -> tuple[Part, ...]:
    match preface.place, prompt:
        case "joined", (Text() as first, *rest):
            return (replace(first, text=preface.text + first.text), *rest)
    entry = preface.before.at[:1] if preface.before and preface.place == "beside" else ()
    return (Text(preface.text, at=entry), *prompt)


def _place_in_step(entry: tuple[Slot, Stub]) -> tuple[int, str, str]:
    """Sort key for the stubs of one step: the order must not depend on when they were made."""
    slot = entry[0]
    return slot.item, slot.where, str(slot.part)


def _stub_parts(parts: tuple[Part, ...], stubs: Mapping[Slot, Stub] | None) -> tuple[Part, ...]:
    if not stubs:
        return parts
    shown = list(parts)
    for slot, stub in stubs.items():
        shown[slot.item] = _replace_part(stub, parts[slot.item])
    return tuple(shown)


def _stub_step(step: Step, stubs: Mapping[Slot, Stub] | None, dropped: Container[Slot]) -> Step:
    if not stubs:
        return step
    solid = list(step.solid)
    of_uses: dict[int, tuple[ToolUse, list[Stub]]] = {}
    for slot, stub in stubs.items():
        item = solid[slot.item] if slot.where != "thought" else None
        if isinstance(item, ToolUse):
            of_uses.setdefault(slot.item, (item, []))[1].append(stub)
        elif item is not None:
            solid[slot.item] = _replace_part(stub, item)
    for number, (use, mine) in of_uses.items():
        solid[number] = _stub_use(use, mine)
    if len(solid) == len(step.items):
        return Step(tuple(solid), step.key)
    shown: dict[int, Part | ToolUse] = dict(zip(map(id, step.solid), solid, strict=True))
    left_out_ids = {id(thought) for index, thought in enumerate(step.thoughts) if Slot("thought", index) in dropped}
    return Step(tuple(shown.get(id(item), item) for item in step.items if id(item) not in left_out_ids), step.key)


def _stub_use(use: ToolUse, stubs: list[Stub]) -> ToolUse:
    texts = {str(stub.slot.part): stub.text for stub in stubs if stub.slot.where == "argument"}
    parts = list(use.result.parts)
    for stub in stubs:
        if stub.slot.where != "argument":
            parts[int(stub.slot.part)] = _replace_part(stub, parts[int(stub.slot.part)])
    arguments = replace_arguments(use.call.arguments, texts) if texts else use.call.arguments
    call = Call(use.call.id, use.call.name, arguments, use.call.at) if texts else use.call
    result = Result(tuple(parts), use.result.error, use.result.at) if len(texts) < len(stubs) else use.result
    return ToolUse(call, result)


def _replace_part(stub: Stub, part: Part) -> Text:
    """Return the stub's text, at the wire place of a text; an image gives it none, as some dialects must move it."""
    return Text(stub.text, part.by, part.at) if isinstance(part, Text) else Text(stub.text)


# Thoughts that need not be sent again. Law: only in a finished turn without calls, only if no other item is bound to
# the thought, and only if its entry still has a text. Some servers refuse a call that lost its thought.


def thoughts_are_spent(turn: Turn) -> bool:
    """Test whether a turn, if it is not the newest, can do without its thoughts: it has no calls.

    An item that is neither a text nor a thought may be a call that the provider ran itself.
    """
    return all(
        isinstance(item, Text) or (isinstance(item, Opaque) and item.kind == "thought")
        for step in turn.steps
        for item in step.items
    )


def droppable_thoughts(step: Step) -> Iterator[tuple[int, Opaque]]:
    """Yield the thoughts of a step that may be dropped, each after its index among all of them."""
    thoughts = step.thoughts
    if not thoughts:
        return
    with_text = {item.at[:1] for item in step.items if isinstance(item, Text) and item.text.strip()}
    for index, thought in enumerate(thoughts):
        if not thought.hint and thought.at[:1] in with_text:
            yield index, thought
