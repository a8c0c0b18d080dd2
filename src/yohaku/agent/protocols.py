"""Protocols between the agent and its user interfaces ("surfaces").

Law: a surface knows the agent only by these, so that one that plays a list of events will do as well.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from yohaku.agent.equipment import TierChoice
    from yohaku.agent.events import ConversationFolded, Event, FoldsReused, Gauge, UserNotice
    from yohaku.agent.file_history.file_history import FileHistory
    from yohaku.agent.toolkit.permissions import Mode
    from yohaku.agent.toolkit.tool import PermissionRequest
    from yohaku.client.endpoint import Endpoint
    from yohaku.config.settings import Settings
    from yohaku.core.model import History
    from yohaku.session.fold_log import FoldingRecord
    from yohaku.session.session import Session

Allowed: TypeAlias = Literal["once", "always", "no"]


class HeldConversation(Protocol):
    """The part of a conversation that a surface reads."""

    @property
    def history(self) -> History: ...


class WorkingAgent(Protocol):
    @property
    def endpoint(self) -> Endpoint: ...
    @property
    def window(self) -> int: ...
    @property
    def tier_choice(self) -> TierChoice: ...
    @property
    def root(self) -> Path: ...
    @property
    def gauge(self) -> Gauge: ...
    @property
    def session(self) -> Session: ...
    @property
    def conversation(self) -> HeldConversation: ...
    @property
    def file_history(self) -> FileHistory: ...
    @property
    def queued(self) -> tuple[str, ...]: ...
    @property
    def busy(self) -> bool: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def todo(self) -> Sequence[tuple[str, str]]:
        """The model's plan: status and text of each step."""

    def set_mode(self, mode: Mode) -> None: ...

    def work(self, prompt: str) -> AsyncIterator[Event]: ...
    def stop(self) -> None: ...
    def queue(self, text: str) -> None: ...
    def unqueue(self) -> str | None: ...
    async def compact(self, words: str = "") -> ConversationFolded | None: ...
    def take_reused(self) -> FoldsReused | None: ...
    async def undo(self, count: int = 1) -> tuple[tuple[FoldingRecord, ...], ConversationFolded | None]: ...
    async def redo(self, count: int = 1) -> tuple[FoldingRecord, ...]: ...
    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None: ...
    async def close(self) -> None: ...


class Surface(Protocol):
    """A user interface: it answers questions and shows notices."""

    async def allow(self, ask: PermissionRequest) -> Allowed: ...

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        """Ask; `own_words`: the answer may also be something else than one of the choices."""

    async def secret(self, text: str) -> str:
        """Ask for a text that is not shown while it is typed, and is kept nowhere; empty if the user gives none."""

    def show_notice(self, notice: UserNotice) -> None: ...

    def progress(self, what: str, done: int, total: int) -> None:
        """Show the progress of something long, as a download, in bytes; 0 of 0 ends it."""


def is_attended(surface: Surface) -> bool:
    """Return whether a person can be asked; where nobody can, permissions given earlier do not count."""
    return bool(getattr(surface, "attended", True))


class AgentStarter(Protocol):
    """Makes agents: finds the model unless one is given, and resumes an earlier conversation."""

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None: ...

    async def choose_model(
        self, surface: Surface, name: str = "", now: Endpoint | None = None
    ) -> tuple[Endpoint, int] | None:
        """Return the named model with its window, ready to be used, or let the user choose one; None: none was chosen.

        `now`: the model in use. Raises `YohakuError` where the named one is not there.
        """

    def forget_key(self, name: str) -> str:
        """Remove the key that is kept for a provider, and say so; empty if there is no such provider."""

    @property
    def settings(self) -> Settings: ...


class CommandContext(Surface, Protocol):
    """The part of a surface that its commands use."""

    @property
    def agent(self) -> WorkingAgent | None: ...
    @property
    def begin(self) -> AgentStarter: ...
    @property
    def lang(self) -> str: ...

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        """Replace the conversation by another, with the same model."""
