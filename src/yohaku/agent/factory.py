"""What an agent is given to work with, where the surface leaves the choice to us: a talk, a session, tools.

Law: what cannot be opened is left out and said; an agent that cannot keep anything still works.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yohaku.agent.events import Event
from yohaku.agent.gauge import meter_for
from yohaku.agent.hooks import Hooks
from yohaku.agent.host.window_cache import WindowCache
from yohaku.agent.strategy import Tier
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.meter import Meter
from yohaku.dialects.dialect import Json
from yohaku.session.session import Session
from yohaku.stores import url_in

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

LOOKED_AT = 2_000_000
"""Bytes of a file that is looked at anew after a folding."""


def tools_of(tier: Tier) -> tuple[AgentTool, ...]:
    from yohaku.agent.tools import tools_for

    return tools_for(tier)


def definitions(tools: tuple[AgentTool, ...], dialect: str, brief: bool) -> list[Json]:
    from yohaku.agent.tools import definitions

    return [*definitions(tools, dialect, brief)]


def talk_for(
    endpoint: Endpoint, window: int, lang: str, hear: Callable[[Event], None], settings: Settings
) -> ModelClient:
    from yohaku.client.model_client import ModelClient, patience_for  # and with it the HTTP client

    patience, reserve = patience_for(endpoint, settings.stall), reserve_of(endpoint, window, settings)
    return ModelClient(endpoint, window=window, reserve=reserve, lang=lang, tell=hear, patience=patience)


def reserve_of(endpoint: Endpoint, window: int, settings: Settings) -> int:
    """Tokens kept free for the reply: as the user wants it, where that leaves room for a conversation."""
    wanted = settings.reserve if settings.reserve and settings.reserve <= window // 2 else None
    return Budget.of(window, wanted, endpoint.output).reserve


def session_for(
    endpoint: Endpoint,
    window: int,
    root: Path,
    talk: ModelClient,
    hooks: Hooks,
    settings: Settings,
    old: Session | None = None,
    meter: Meter | None = None,
) -> Session:
    """A session for an endpoint; one that goes on from `old` knows what was folded there.

    A small model on this machine is not asked for summaries: that takes longer than it is worth.
    """
    how: dict[str, Any] = {"store": old.store if old else settings.store or _store(settings)}
    if settings.data != Path():
        how["transcript"] = True
    if not endpoint.local:
        how |= {"summarise": talk.ask, "background": True}
    if hooks.before:
        how["before"] = hooks.folding
    return Session(
        window,
        reserve_of(endpoint, window, settings),
        settings.recipe,
        endpoint.model,
        dialect=endpoint.dialect,
        meter=meter or meter_for(endpoint),
        look=lambda path: look(root, path),
        settings=settings,
        **how,
    )


def look(root: Path, path: str) -> str | None:
    """A file of the project as it is now."""
    try:
        found = (root / path).resolve()
        if not found.is_relative_to(root) or found.stat().st_size > LOOKED_AT:
            return None
        return found.read_text("utf-8")
    except (OSError, ValueError):
        return None


def remember(endpoint: Endpoint, window: int, settings: Settings) -> None:
    """What a provider taught about its window, for the next time, where there is a place to keep it."""
    if settings.data != Path():
        WindowCache(settings.data).learn(endpoint, window, "overflow")


def _store(settings: Settings) -> str | None:
    return url_in(settings.data) if settings.data != Path() else None
