"""Protocol of a token counter. The counters themselves are in `yohaku.meters`.

Law: a weight is a sum. The tokens of a part do not depend on its neighbours, so only new parts have to be counted.
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
    """Tokens a provider adds around the texts, and the form in which the model reads tools and calls."""

    request: int = 3
    """Once per request."""
    message: int = 4
    """Per entry on the wire with its role: a prompt, a reply, a system text."""
    reply: int | None = None
    """Per entry of the model; None if it is `message`."""
    apart: bool = False
    """Each call is an entry of its own: a reply of calls alone has no overhead beside theirs."""
    forgets: bool = False
    """The server leaves out the thoughts before a reply without calls."""
    joint: int | None = None
    """Between consecutive texts of the user, which then share the overhead of one entry.
    None if each entry has its own, and nothing is added between the texts of one."""
    system: int = 0
    """Per system text in a field of its own."""
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
    """Factor for the tokens of a tool definition's text."""
    describe: Callable[[str], str] = as_sent
    """Return the text of a tool definition, from its JSON; never raises."""
    invoke: Callable[[str, str], tuple[str, ...]] = as_called
    """Return the texts of a call, from its name and the JSON of its arguments; never raises."""


class Meter(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    @property
    def frame(self) -> Overhead: ...

    def count(self, text: str) -> int:
        """Return the tokens of one text. An estimate errs on the high side."""
        ...

    def weigh(self, part: Opaque) -> int:
        """Return the tokens of a part that is not text, by the provider's own rule."""
        ...
