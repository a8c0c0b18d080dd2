"""What a surface needs of the agent, and a command of the surface: the two sides of the screen's edge.

Law: a surface knows the agent only by this, so that one that plays a list of events is as good.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from yohaku.agent.events import ConversationFolded, Event, Gauge, UserNotice
    from yohaku.agent.toolkit.tool import PermissionRequest
    from yohaku.client.endpoint import Endpoint
    from yohaku.config.settings import Settings
    from yohaku.core.model import History
    from yohaku.session.fold_log import FoldingRecord
    from yohaku.session.session import Session

Allowed: TypeAlias = Literal["once", "always", "no"]


class HeldConversation(Protocol):
    """A conversation, as far as it is looked at from outside."""

    @property
    def history(self) -> History: ...


class WorkingAgent(Protocol):
    """An agent at work."""

    @property
    def endpoint(self) -> Endpoint: ...
    @property
    def window(self) -> int: ...
    @property
    def root(self) -> Path: ...
    @property
    def gauge(self) -> Gauge: ...
    @property
    def session(self) -> Session: ...
    @property
    def conversation(self) -> HeldConversation: ...
    @property
    def queued(self) -> tuple[str, ...]: ...
    @property
    def busy(self) -> bool: ...

    def work(self, prompt: str) -> AsyncIterator[Event]: ...
    def stop(self) -> None: ...
    def queue(self, text: str) -> None: ...
    def unqueue(self) -> str | None: ...
    async def compact(self, words: str = "") -> ConversationFolded | None: ...
    async def undo(self, count: int = 1) -> tuple[tuple[FoldingRecord, ...], ConversationFolded | None]: ...
    async def redo(self, count: int = 1) -> tuple[FoldingRecord, ...]: ...
    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None: ...
    async def close(self) -> None: ...


class Surface(Protocol):
    """Who sits in front of the agent: asked, and told."""

    async def allow(self, ask: PermissionRequest) -> Allowed: ...

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str: ...

    def tell(self, told: UserNotice) -> None: ...

    def progress(self, what: str, done: int, total: int) -> None:
        """Something long goes on, as a download does: so many bytes of so many; 0 of 0 ends it."""


def is_attended(surface: Surface) -> bool:
    """Whether somebody is there to be asked: where nobody is, nothing counts that was allowed at another time."""
    return bool(getattr(surface, "attended", True))


class AgentStarter(Protocol):
    """Makes an agent: finds the model unless one is given, and takes up an earlier conversation where asked to."""

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None: ...

    async def models(self, name: str = "") -> list[tuple[Endpoint, int]]:
        """What could be talked to, each with its window; with a name only what it names."""

    @property
    def settings(self) -> Settings: ...


class CommandContext(Protocol):
    """What a command may use of the surface it was typed at."""

    @property
    def agent(self) -> WorkingAgent | None: ...
    @property
    def begin(self) -> AgentStarter: ...
    @property
    def lang(self) -> str: ...

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str: ...

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        """Another conversation takes the place of this one, with the same model."""
