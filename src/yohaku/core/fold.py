"""Folds, and the view they give: what is shown instead of what was said.

Laws: a fold hides, it never deletes, and says so with a ref that opens to the original; the view is a pure function
of the history and its folds; a fold is found again by the key of the turn or step it stands on, in any process.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

from yohaku.core.model import Call, History, Opaque, Part, Result, Step, Text, Turn, Use


class Slot(NamedTuple):
    """Which piece of a turn or step a stub stands for."""

    where: Literal["prompt", "item", "result", "argument"]
    item: int
    """Index among the prompt's parts, or the step's items without its thoughts."""
    part: int | str = 0
    """Index of the result's part, or name of the argument."""


@dataclass(frozen=True, slots=True)
class Stub:
    """One result, argument, text or image, shown shorter."""

    key: str
    slot: Slot
    text: str
    ref: str
    what: str
    why: str
    before: int
    after: int
    kind: str = "stub"


@dataclass(frozen=True, slots=True)
class Gist:
    """Everything up to a step, shown as one text before the prompt that is still being answered."""

    key: str
    text: str
    ref: str
    what: str
    why: str
    before: int
    after: int
    kind: str = "gist"
    ack: str = ""
    """What the model says to it, for recipes that show the gist as a turn of its own."""

    @property
    def turn(self) -> Turn:
        return Turn((Text(self.text),), (Step((Text(self.ack),)),) if self.ack else ())


Fold: TypeAlias = Stub | Gist


class Cut(NamedTuple):
    """All turns before `turn` and its first `steps` steps are hidden; the prompt of `turn` is not."""

    turn: int
    steps: int


@dataclass(frozen=True)
class View:
    history: History
    stubs: Mapping[str, Mapping[Slot, Stub]] = field(default_factory=dict)
    """By the key of the turn or step they stand on."""
    gists: Mapping[str, Gist] = field(default_factory=dict)

    def with_(self, folds: Iterable[Fold]) -> View:
        stubs = {key: dict(slots) for key, slots in self.stubs.items()}
        gists = dict(self.gists)
        for fold in folds:
            if isinstance(fold, Gist):
                gists[fold.key] = fold
            else:
                stubs.setdefault(fold.key, {})[fold.slot] = fold
        return View(self.history, stubs, gists)

    def grown(self, history: History) -> View:
        """The same folds on a history that only adds to this one's: the newest gist ends where it did."""
        view = View(history, self.stubs, self.gists)
        view.__dict__["cut"] = self.cut
        return view

    @property
    def folds(self) -> tuple[Fold, ...]:
        return (*self.gists.values(), *(stub for slots in self.stubs.values() for stub in slots.values()))

    @cached_property
    def cut(self) -> Cut:
        """Where the newest gist ends; nothing before it is looked at again."""
        if self.gists:
            for number in range(len(self.history.turns) - 1, -1, -1):
                turn = self.history.turns[number]
                for count in range(len(turn.steps), 0, -1):
                    if turn.steps[count - 1].key in self.gists:
                        return Cut(number, count)
                if turn.key in self.gists:
                    return Cut(number, 0)
        return Cut(0, 0)

    @property
    def gist(self) -> Gist | None:
        return self.gists.get(self.key_at(self.cut)) if self.gists else None

    def key_at(self, cut: Cut) -> str:
        turn = self.history.turns[cut.turn]
        return turn.steps[cut.steps - 1].key if cut.steps else turn.key

    @cached_property
    def live(self) -> tuple[Stub, ...]:
        """The stubs that show: those on what the newest gist does not hide."""
        keys = (key for turn in self.visible() for key in (turn.key, *(step.key for step in turn.steps)))
        folded = (self.stubs[key] for key in keys if key in self.stubs)
        return tuple(stub for slots in folded for _, stub in sorted(slots.items(), key=_order))

    def visible(self) -> Iterator[Turn]:
        """The turns after the cut, as they were said."""
        turns = self.history.turns
        if not turns:
            return
        first = turns[self.cut.turn]
        yield replace(first, steps=first.steps[self.cut.steps :])
        yield from turns[self.cut.turn + 1 :]

    def hidden(self, cut: Cut) -> tuple[Turn, ...]:
        """The turns, the last maybe in part and without its prompt, that a gist at `cut` stands for."""
        whole = self.history.turns[: cut.turn]
        return (*whole, Turn((), self.history.turns[cut.turn].steps[: cut.steps])) if cut.steps else whole

    @cached_property
    def stubbed(self) -> tuple[Turn, ...]:
        """The turns after the cut, as they are shown."""
        return tuple([self._stubbed_turn(turn) for turn in self.visible()])

    @cached_property
    def shown(self) -> History:
        """What will be sent. An open reply never is."""
        turns, gist = self.stubbed, self.gist
        if gist and gist.ack:
            turns = (gist.turn, *turns)
        elif gist:
            turns = (replace(turns[0], prompt=(*gist.turn.prompt, *turns[0].prompt)), *turns[1:])
        return History(self.history.system, self.history.tools, turns, forced=self.history.forced)

    def originals(self, fold: Fold) -> Iterator[tuple[str, str | bytes]]:
        """What a fold hides, each original with the ref that opens it."""
        if isinstance(fold, Gist):
            hidden = self.hidden(self._cuts[fold.key])
            yield fold.ref, told(hidden)
            for part in _parts(hidden):
                if media(part):
                    yield ref_of(said(part)), said(part)
        else:
            yield fold.ref, original_at(self._owners[fold.key], fold.slot)

    @cached_property
    def _owners(self) -> dict[str, Turn | Step]:
        owners: dict[str, Turn | Step] = {turn.key: turn for turn in self.history.turns}
        owners.update((step.key, step) for step in self.history.steps)
        return owners

    @cached_property
    def _cuts(self) -> dict[str, Cut]:
        cuts = (Cut(n, count) for n, turn in enumerate(self.history.turns) for count in range(len(turn.steps) + 1))
        return {self.key_at(cut): cut for cut in cuts}

    def _stubbed_turn(self, turn: Turn) -> Turn:
        stubs = self.stubs
        prompt = _stubbed_parts(turn.prompt, stubs.get(turn.key))
        if stubs and any(step.key in stubs for step in turn.steps):
            steps = tuple(_stubbed(step, stubs.get(step.key)) for step in turn.steps)
            return replace(turn, prompt=prompt, steps=steps)
        return replace(turn, prompt=prompt) if prompt is not turn.prompt else turn


def _order(found: tuple[Slot, Stub]) -> tuple[int, str, str]:
    """Stubs of one step in the order of their places, however they came about."""
    return found[0].item, found[0].where, str(found[0].part)


def _stubbed_parts(parts: tuple[Part, ...], stubs: Mapping[Slot, Stub] | None) -> tuple[Part, ...]:
    if not stubs:
        return parts
    shown = list(parts)
    for slot, stub in stubs.items():
        shown[slot.item] = _standing_in(stub, parts[slot.item])
    return tuple(shown)


def _stubbed(step: Step, stubs: Mapping[Slot, Stub] | None) -> Step:
    if not stubs:
        return step
    solid = list(step.solid)
    for slot, stub in stubs.items():
        item = solid[slot.item]
        solid[slot.item] = _stubbed_use(item, slot, stub) if isinstance(item, Use) else _standing_in(stub, item)
    if len(solid) == len(step.items):
        return Step(tuple(solid), step.key)
    shown = dict(zip(map(id, step.solid), solid, strict=True))
    return Step(tuple(shown.get(id(item), item) for item in step.items), step.key)


def _stubbed_use(use: Use, slot: Slot, stub: Stub) -> Use:
    if slot.where == "argument":
        arguments = stub_argument(use.call.arguments, slot.part, stub.text)
        return Use(Call(use.call.id, use.call.name, arguments, use.call.at), use.result)
    parts = list(use.result.parts)
    parts[int(slot.part)] = _standing_in(stub, parts[int(slot.part)])
    return Use(use.call, Result(tuple(parts), use.result.error, use.result.at))


def _standing_in(stub: Stub, part: Part) -> Text:
    """A text in the place of a text; for an image it has none, as some dialects must find it a new one."""
    return Text(stub.text, part.by, part.at) if isinstance(part, Text) else Text(stub.text)


def stub_argument(arguments: str, name: int | str, text: str) -> str:
    """The arguments with one value replaced, written as compactly as the rest of the wire."""
    values = arguments_of(arguments)
    values[str(name)] = text
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def argument_text(call: Call, name: int | str) -> str:
    value = arguments_of(call.arguments)[str(name)]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def arguments_of(arguments: str) -> dict[str, Any]:
    """The arguments by name; none where they are no object, or hold a number too big to be written again."""
    try:
        values = json.loads(arguments, parse_float=_finite)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _finite(number: str) -> float:
    if math.isinf(float(number)):
        raise ValueError(number)
    return float(number)


def original_at(owner: Turn | Step, slot: Slot) -> str | bytes:
    if isinstance(owner, Turn):
        return said(owner.prompt[slot.item])
    item = owner.solid[slot.item]
    if not isinstance(item, Use):
        return said(item)
    if slot.where == "argument":
        return argument_text(item.call, slot.part)
    return said(item.result.parts[int(slot.part)])


def said(part: Part) -> str | bytes:
    """The original of one part: its text, the bytes of an image, the JSON of a block we do not read."""
    if isinstance(part, Text):
        return part.text
    if part.form == "base64":
        try:
            return base64.b64decode(part.data, validate=True)
        except ValueError:
            return part.data
    return part.data


def told(turns: Iterable[Turn]) -> str:
    """Turns as a transcript to read, every text verbatim; an image or document by its own ref."""
    lines: list[str] = []
    for turn in turns:
        lines += [f"## {_speaker(part)}\n{_body(part)}" for part in turn.prompt]
        for item in (item for step in turn.steps for item in step.items):
            if isinstance(item, Use):
                lines.append(f"## call {item.call.name}\n{item.call.arguments}")
                lines.append(
                    "\n".join(["## error" if item.result.error else "## result", *map(_body, item.result.parts)])
                )
            else:
                lines.append(f"## assistant\n{_body(item)}")
    return "\n\n".join(lines)


def _speaker(part: Part) -> str:
    return part.by if isinstance(part, Text) and part.by else "user"


def _body(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    return f"[{part.kind} {part.mime}; ref={ref_of(said(part))}]" if media(part) else f"[{part.kind}]\n{part.data}"


def _parts(turns: Iterable[Turn]) -> Iterator[Part]:
    for turn in turns:
        yield from turn.prompt
        for item in (item for step in turn.steps for item in step.items):
            if isinstance(item, Use):
                yield from item.result.parts
            else:
                yield item


def ref_of(original: str | bytes) -> str:
    """The content address of an original: short enough to show, long enough not to collide (60 bits)."""
    data = original.encode("utf-8", "surrogatepass") if isinstance(original, str) else original
    number = int.from_bytes(sha256(data).digest()[:8], "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in (50, 40, 30, 20, 10, 0)])


_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]


def media(part: Part) -> bool:
    """What may be shown as a text instead. A signed thought or an unknown block may not: it would be refused."""
    return isinstance(part, Opaque) and part.kind in ("image", "document", "audio", "video")
