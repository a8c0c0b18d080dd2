"""A project folder of its own, and servers that play a script, for the program as a user starts it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.agent.fakes import Answering, FakeServer

MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 8192}]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and nothing of who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("YOHAKU_", "OPENAI_", "ANTHROPIC_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("NO_PROXY", "*")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeServer]]:
    """A server in a loop of its own, since the program runs in its own too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    servers: list[FakeServer] = []

    def start(*script: Answering, gets: Mapping[str, Any] | None = None) -> FakeServer:
        server = FakeServer(script, gets or {"/v1/models": MODELS})
        servers.append(server)
        return asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)

    yield start
    for server in servers:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()
