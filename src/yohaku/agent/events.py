"""What happens while the agent works, as values: every surface shows the same ones in its own way.

Law: what the model said, what a tool gave and what was folded reach the surface; a key never does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from yohaku.client.events import TextDelta as TextDelta
from yohaku.client.events import ThoughtDelta as ThoughtDelta
from yohaku.client.events import UserNotice as UserNotice
from yohaku.core.budget import Budget, Level

if TYPE_CHECKING:  # a surface is on the screen before all of this is loaded
    from yohaku.core.model import Call, Result
    from yohaku.core.receipt import Receipt
    from yohaku.dialects.answer import Usage


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool begins."""

    call: Call
    title: str
    """One line for people, as `Read src/app.py 1-50`."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A piece of what a running tool prints."""

    call: str
    """The id of the call."""
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has ended."""

    call: Call
    result: Result
    title: str
    diff: str = ""
    """What it changed, as a unified diff."""


@dataclass(frozen=True, slots=True)
class ConversationFolded:
    receipt: Receipt
    manual: bool = False


@dataclass(frozen=True, slots=True)
class Gauge:
    """Where the tokens are: what the panel shows."""

    used: int
    window: int
    system: int = 0
    tools: int = 0
    turns: int = 0
    last: int = 0
    """Of the newest results."""
    reserve: int = 0
    """Tokens kept free for the reply."""
    exact: bool = True
    messages: int = 0
    foldings: int = 0
    cuts: int = 0
    """Tool outputs cut when they arrived."""
    warnings: int = 0
    coming: str = ""
    """What will happen next and why, in one sentence."""

    @property
    def limit(self) -> int:
        """The most a request may weigh: what percent, bar and colours are shares of."""
        return self.window - self.reserve

    @property
    def share(self) -> float:
        return self.used / self.limit

    @property
    def level(self) -> Level:
        return Budget(self.window, self.reserve).level(self.used)


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The model's reply is whole."""

    usage: Usage | None
    stop: str = ""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The work of one prompt is over."""

    why: Literal["done", "stopped", "failed", "too_big", "steps"]
    """"steps": as many as one prompt may take."""
    text: str = field(default="")
    """The final reply, whole."""


Event: TypeAlias = (
    TextDelta
    | ThoughtDelta
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | ConversationFolded
    | Gauge
    | UserNotice
    | ReplyFinished
    | TurnEnded
)
