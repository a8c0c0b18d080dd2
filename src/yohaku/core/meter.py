"""What the engine needs of a counter of tokens. The counters themselves live in `yohaku.meters`.

Law: a weight is a sum. What one part costs does not depend on its neighbours, so a turn costs what is new in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from yohaku.core.model import Opaque


@dataclass(frozen=True, slots=True)
class Frame:
    """Tokens a provider adds around what is said."""

    request: int = 3
    """Once per request."""
    message: int = 4
    """Per entry on the wire with its role: a prompt, a reply, a system text."""
    system: int = 0
    """Per system text that stands in a field of its own."""
    call: int = 0
    """Per call, beside its name and arguments."""
    result: int = 4
    """Per result, beside its content."""
    tools: int = 0
    """Once, when there are tools at all."""
    tool: int = 0
    """Per tool definition."""
    definition: float = 1.0
    """Times the tokens of a tool definition's JSON."""


class Meter(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    @property
    def frame(self) -> Frame: ...

    def count(self, text: str) -> int:
        """Tokens of one text. For an estimate: on the safe side."""
        ...

    def weigh(self, part: Opaque) -> int:
        """Tokens of what is not text, by the provider's own rule."""
        ...
