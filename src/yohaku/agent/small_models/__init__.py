"""Help for models that need it; the agent's loop knows only the three hooks of `assistance`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from yohaku.agent.equipment import Tier
    from yohaku.agent.toolkit.permissions import Permissions
    from yohaku.agent.toolkit.seen_files import SeenFiles
    from yohaku.agent.toolkit.tool import AgentTool
    from yohaku.client.endpoint import Endpoint
    from yohaku.core.meter import Meter


class Workspace(Protocol):
    """The parts of an agent that help for its model reads, and never changes."""

    @property
    def root(self) -> Path: ...
    @property
    def endpoint(self) -> Endpoint: ...
    @property
    def window(self) -> int: ...
    @property
    def tier(self) -> Tier: ...
    @property
    def has_small_model(self) -> bool:
        """True when the model itself is known to be small, not only its window."""
        ...

    @property
    def tools(self) -> tuple[AgentTool, ...]: ...
    @property
    def files(self) -> SeenFiles: ...
    @property
    def permissions(self) -> Permissions: ...
    @property
    def meter(self) -> Meter: ...
    @property
    def can_begin_replies(self) -> bool:
        """True when the server continues a reply that was begun for the model."""

    def tool(self, name: str) -> AgentTool | None: ...
