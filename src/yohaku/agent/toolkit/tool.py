"""Types of the tools: `AgentTool`, its `ToolContext`, `ToolResult` and `PermissionRequest`.

Law: a tool touches the outside only through its context, asks before it changes anything, and returns a result with
`error` for everything the model can act on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from yohaku.agent.toolkit.seen_files import SeenFiles
    from yohaku.core.originals import OutputRef
    from yohaku.session.session import Session

ToolKind: TypeAlias = Literal["read", "write", "run", "net", "inner"]
"""Effect of a tool; "inner" touches nothing outside the program."""
Arguments: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    error: bool = False
    diff: str = ""
    """Changes to a file, as a unified diff for the user."""
    cut: bool = False
    """Whether the output was shortened."""
    media: tuple[tuple[str, str], ...] = ()
    """Images, as (mime, base64)."""
    notice: str = ""
    """Sentence for the user, in their language."""
    output: OutputRef | None = None
    """Ref of all of the output, where `text` is only a part of it and the rest was stored."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    kind: ToolKind
    tool: str
    title: str
    """One line about the action."""
    detail: str = ""
    """The command, or the diff."""
    remember: str = ""
    """Sentence about what "always" would allow; empty where that is not offered."""
    danger: str = ""
    """Sentence that warns the user; empty for everyday actions."""
    keys: tuple[str, ...] = ()
    """Keys of stored permissions; if all are stored, the user is not asked."""
    grave: bool = False
    """Ask even in the mode that asks nothing."""
    harmless: bool = False
    """A command that certainly changes nothing."""
    paths: tuple[Path, ...] = ()
    """The only files that change; empty where that is not known, as for a command."""
    lost: str = ""
    """Sentence about what could not be brought back by an undo."""
    call: str = ""
    """The id of the call that asks, for user interfaces that show one beside the other."""


class ToolContext(Protocol):
    """Everything a tool may use."""

    root: Path
    """Folder of the project; nothing outside is touched without permission."""
    files: SeenFiles
    session: Session | None
    lang: str
    todo: list[tuple[str, str]]
    """Plan as (status, text): one list for the agent, changed in place."""

    careful: bool
    """True for a small model: an edit that breaks a file, or throws some of it away unasked, is refused."""
    prompt: str
    """What the user wants."""

    def show(self, text: str) -> None:
        """Show a piece of output on the user's screen at once."""

    def tell_searched(self, files: int, total: int = 0) -> None:
        """Tell the user how many files a search has looked at, of how many; 0: of those that it has listed so far."""

    async def allow(self, request: PermissionRequest) -> bool: ...

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        """Ask the user; empty where nobody is there."""

    async def delegate(self, task: str) -> str:
        """Run a task in a sub-agent with its own window and return its report."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    name: str
    about: str
    """Description for the model: short, in English."""
    parameters: dict[str, Any]
    """JSON schema of an object."""
    kind: ToolKind
    run: Callable[[ToolContext, Arguments], Awaitable[ToolResult]]
    title: Callable[[Arguments], str]
    """Returns one line for people about a call with these arguments."""
    brief: str = ""
    """`about` for small windows; empty: the same."""
