"""What was said in a conversation, in one small immutable language.

Law: a call without its result cannot be built. A reply with open calls is a `Reply`; only `settle` makes it a `Step`.
Values know where on the wire they came from (`at`), but two values that say the same are equal wherever they stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from yohaku.core.errors import Malformed

Path: TypeAlias = tuple[int | str, ...]
"""Index of the wire item, then the way down inside it; empty for what never was on a wire."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    by: str = field(default="", compare=False)
    """"system" for an instruction inside the conversation; a dialect without such a role writes it as the user's."""
    at: Path = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Carried and weighed, never read: an image, a signed thought, a block of a kind we do not know."""

    kind: str
    """"image", "document", "audio", "video", "thought", or the wire's own name for the block."""
    data: str
    form: Literal["base64", "url", "json"] = "json"
    mime: str = ""
    hint: str = ""
    """What the provider's weighing rule needs beside the data, such as OpenAI's `detail`. On a thought why it must stay
    where it is: "signature" where the provider checks it, "bound" where it refuses the item after it without it."""
    at: Path = field(default=(), compare=False, repr=False)


Part: TypeAlias = Text | Opaque


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    id: str
    name: str
    arguments: str
    """JSON text as it was sent. Equality looks at what it says, not at its spaces."""
    at: Path = field(default=(), repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        return (self.id, self.name) == (other.id, other.name) and self.asked == other.asked

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    @property
    def asked(self) -> str:
        """The arguments in canonical JSON, or as they are when they are not JSON."""
        return canonical(self.arguments)


@dataclass(frozen=True, slots=True)
class Result:
    parts: tuple[Part, ...] = ()
    error: bool = field(default=False, compare=False)
    """Whether the tool failed; a dialect without such a mark leaves it out."""
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
    """Chain hash over everything said up to and with this step; set when it takes its place in a History."""

    @property
    def solid(self) -> tuple[Part | ToolUse, ...]:
        """The items that count: all but thoughts, which clients drop from one request to the next."""
        for item in self.items:
            if isinstance(item, Opaque) and item.kind == "thought":
                return tuple(item for item in self.items if not (isinstance(item, Opaque) and item.kind == "thought"))
        return self.items

    @property
    def thoughts(self) -> tuple[Opaque, ...]:
        """The items that `solid` leaves out."""
        return tuple([item for item in self.items if isinstance(item, Opaque) and item.kind == "thought"])

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return tuple([item for item in self.items if isinstance(item, ToolUse)])


@dataclass(frozen=True, slots=True)
class Turn:
    prompt: tuple[Part, ...]
    steps: tuple[Step, ...] = ()
    key: str = field(default="", compare=False, repr=False)
    """Chain hash over everything said up to and with the prompt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said just now, its calls still open."""

    items: tuple[Part | Call, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(item for item in self.items if isinstance(item, Call))

    def settle(self, results: dict[str, Result]) -> Step:
        """The step this reply becomes once each of its calls has its result."""
        missing = [call.id for call in self.calls if call.id not in results]
        if missing:
            raise Malformed(f"call {missing[0]!r} has no result")
        return Step(tuple(ToolUse(item, results[item.id]) if isinstance(item, Call) else item for item in self.items))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool definition, as JSON text: carried and weighed, not read."""

    name: str
    definition: str
    at: Path = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class History:
    system: tuple[Part, ...] = ()
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()
    pending: Reply | None = None
    """The one reply whose calls have no results yet, at the very end. Never sent."""
    forced: bool = field(default=False, compare=False)
    """Whether the model is told that it must call a tool: some providers say that to it at length."""

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
