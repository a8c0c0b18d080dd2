"""An agent as a user gets it, for a given endpoint: session, tools and prompt chosen by the window."""

from __future__ import annotations

from pathlib import Path

from yohaku.agent.agent import Agent
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings


def open_agent(endpoint: Endpoint, root: Path, window: int = 32_768) -> Agent:
    return Agent(endpoint, window=window, root=root, settings=Settings())
