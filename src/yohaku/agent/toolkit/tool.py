"""What a tool is, and the context it works at.

Law: a tool touches the outside only through its context, asks before it changes anything, and never raises for what can
be told to the model: that is a `Result` with `error`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from yohaku.agent.toolkit.seen_files import SeenFiles
    from yohaku.session.session import Session

ToolKind: TypeAlias = Literal["read", "write", "run", "net", "inner"]
"""What a tool does to the world: "inner" touches nothing outside the program."""
Arguments: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives back."""

    text: str
    error: bool = False
    diff: str = ""
    """What it changed, as a unified diff, for the user."""
    cut: bool = False
    """Whether it stopped because the budget was full."""
    media: tuple[tuple[str, str], ...] = ()
    """Images, as (mime, base64)."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A permission asked for."""

    kind: ToolKind
    tool: str
    title: str
    """One line: what is about to be done."""
    detail: str = ""
    """The command, or the diff."""
    remember: str = ""
    """What "always" would allow, in words; empty where it cannot be remembered."""
    danger: str = ""
    """Why this needs a second look, in one sentence; empty for everyday things."""
    keys: tuple[str, ...] = ()
    """What must have been allowed for good, each of it, for this to need no question."""
    grave: bool = False
    """Asked even of a user who wants no questions."""


class ToolContext(Protocol):
    """What a tool may use."""

    root: Path
    """The project; nothing outside is touched without being allowed."""
    files: SeenFiles
    session: Session | None
    lang: str
    todo: list[tuple[str, str]]
    """The plan, as (status, text): one list for the agent, changed in place."""

    def show(self, text: str) -> None:
        """A piece of output, at once, on the user's screen."""

    async def allow(self, request: PermissionRequest) -> bool: ...

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        """What the user answers; empty where nobody is there."""

    async def delegate(self, task: str) -> str:
        """What a sub-agent with a window of its own brings back."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    name: str
    about: str
    """What the model is told: short, in English."""
    parameters: dict[str, Any]
    """JSON schema of an object."""
    kind: ToolKind
    run: Callable[[ToolContext, Arguments], Awaitable[ToolResult]]
    title: Callable[[Arguments], str]
    """One line for people: what a call with these arguments does."""
    brief: str = ""
    """`about` for small windows; empty: the same."""
