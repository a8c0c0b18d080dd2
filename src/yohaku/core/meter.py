"""What the engine needs of a counter of tokens. The counters themselves live in `yohaku.meters`.

Law: a weight is a sum. What one part costs does not depend on its neighbours, so a turn costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from yohaku.core.model import Opaque


def as_sent(definition: str) -> str:
    return definition


def as_called(name: str, arguments: str) -> tuple[str, ...]:
    return name, arguments


@dataclass(frozen=True, slots=True)
class Overhead:
    """Tokens a provider adds around what is said, and the words it puts tools and calls in."""

    request: int = 3
    """Once per request."""
    message: int = 4
    """Per entry on the wire with its role: a prompt, a reply, a system text."""
    reply: int | None = None
    """Per entry that the model said; None where it has the frame of any other."""
    apart: bool = False
    """Whether each call is an entry of its own: a reply that only calls has no frame beside those of its calls."""
    forgets: bool = False
    """Whether the model no longer reads what it thought before a reply without calls."""
    joint: int | None = None
    """Between texts of the user that follow each other: they share one frame, whatever entries they stand in.
    None where each entry has its own, and nothing stands between the texts of one."""
    system: int = 0
    """Per system text that stands in a field of its own."""
    call: int = 0
    """Per call, beside its name and arguments."""
    parallel: int = 0
    """Per call, where a reply makes several at once."""
    result: int = 4
    """Per result, beside its content."""
    tools: int = 0
    """Once, when there are tools at all."""
    forced: int = 0
    """Once more, when one of them must be called."""
    tool: int = 0
    """Per tool definition."""
    definition: float = 1.0
    """Times the tokens of a tool definition's text."""
    describe: Callable[[str], str] = as_sent
    """The text of a tool definition, from its JSON. It never raises."""
    invoke: Callable[[str, str], tuple[str, ...]] = as_called
    """The texts of a call, from its name and the JSON of its arguments. It never raises."""


class Meter(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    @property
    def frame(self) -> Overhead: ...

    def count(self, text: str) -> int:
        """Tokens of one text. For an estimate: on the safe side."""
        ...

    def weigh(self, part: Opaque) -> int:
        """Tokens of what is not text, by the provider's own rule."""
        ...
