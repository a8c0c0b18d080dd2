"""Immutable data model of a conversation: History, Turn, Step, ToolUse, Part.

Law: a call without its result cannot be built. A reply with open calls is a `Reply`; only `settle` makes it a `Step`.
Values know their place on the wire (`at`), but values with the same content are equal wherever they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from yohaku.core.errors import Malformed

Path: TypeAlias = tuple[int | str, ...]
"""Index of the wire item, then the keys and indexes inside it; empty for values not read from a wire."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    by: str = field(default="", compare=False)
    """"system" for an instruction inside the conversation; a dialect without such a role writes it as the user's."""
    at: Path = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Part that is carried and weighed, never read: an image, a signed thought, a block of an unknown kind."""

    kind: str
    """"image", "document", "audio", "video", "thought", or the wire's own name for the block."""
    data: str
    form: Literal["base64", "url", "json"] = "json"
    mime: str = ""
    hint: str = ""
    """Input of the provider's counting rule beside the data, such as OpenAI's `detail`. On a thought, the reason why it
    must stay: "signature" if the provider checks it, "bound" if it refuses the next item without it."""
    at: Path = field(default=(), compare=False, repr=False)
    by: str = field(default="", compare=False, repr=False)
    """"system" inside the conversation, as in a text."""


Part: TypeAlias = Text | Opaque


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    id: str
    name: str
    arguments: str
    """JSON text as it was sent. Equality compares the values, not the spaces."""
    at: Path = field(default=(), repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        return (self.id, self.name) == (other.id, other.name) and self.asked == other.asked

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    @property
    def asked(self) -> str:
        """Arguments in canonical JSON, or as they are if they are not JSON."""
        return canonical(self.arguments)


@dataclass(frozen=True, slots=True)
class Result:
    parts: tuple[Part, ...] = ()
    error: bool = field(default=False, compare=False)
    """The tool failed; a dialect without such a mark leaves it out."""
    at: Path = field(default=(), compare=False, repr=False)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class ToolUse:
    call: Call
    result: Result


@dataclass(frozen=True, slots=True)
class Step:
    items: tuple[Part | ToolUse, ...]
    key: str = field(default="", compare=False, repr=False)
    """Chain hash of everything up to and including this step; set by the HistoryBuilder."""
    _solid: tuple[Part | ToolUse, ...] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def solid(self) -> tuple[Part | ToolUse, ...]:
        """Items without thoughts, which clients drop from one request to the next."""
        if self._solid is None:  # remembered: it is asked for once for each of thousands of items
            solid = tuple([item for item in self.items if not (isinstance(item, Opaque) and item.kind == "thought")])
            object.__setattr__(self, "_solid", solid if len(solid) < len(self.items) else self.items)
        return self._solid or ()

    @property
    def thoughts(self) -> tuple[Opaque, ...]:
        """Items that `solid` leaves out."""
        return tuple([item for item in self.items if isinstance(item, Opaque) and item.kind == "thought"])

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return tuple([item for item in self.items if isinstance(item, ToolUse)])


@dataclass(frozen=True, slots=True)
class Turn:
    prompt: tuple[Part, ...]
    steps: tuple[Step, ...] = ()
    key: str = field(default="", compare=False, repr=False)
    """Chain hash of everything up to and including the prompt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Newest reply of the model, its calls still without results."""

    items: tuple[Part | Call, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(item for item in self.items if isinstance(item, Call))

    def settle(self, results: dict[str, Result]) -> Step:
        """Return the step that this reply becomes with the results of its calls."""
        missing = [call.id for call in self.calls if call.id not in results]
        if missing:
            raise Malformed(f"call {missing[0]!r} has no result")
        return Step(tuple(ToolUse(item, results[item.id]) if isinstance(item, Call) else item for item in self.items))


@dataclass(frozen=True, slots=True)
class Tool:
    """Tool definition, as JSON text: carried and weighed, not read."""

    name: str
    definition: str
    at: Path = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class History:
    system: tuple[Part, ...] = ()
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()
    pending: Reply | None = None
    """Reply at the very end whose calls have no results yet. Never sent."""
    forced: bool = field(default=False, compare=False)
    """The model must call a tool: some providers add a long instruction for that, which is weighed."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for turn in self.turns for step in turn.steps)


def newest_step(turns: Sequence[Turn]) -> Step | None:
    return next((turn.steps[-1] for turn in reversed(turns) if turn.steps), None)


def canonical(arguments: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (ValueError, RecursionError):
        return arguments
