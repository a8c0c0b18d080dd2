"""How far a model has read is told by a llama.cpp server, and estimated elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import FakeServer, spoken
from tests.models import tiny
from tests.models.serving import Served
from yohaku.client.connection import Timeouts
from yohaku.client.endpoint import Endpoint
from yohaku.client.events import ReadingProgress
from yohaku.client.model_client import ModelClient
from yohaku.dialects import dialect_named

QUICK = Timeouts(60.0, 60.0, pause=0.001)
LONG: dict[str, Any] = {"messages": [{"role": "user", "content": "hello world " * 300}]}


def progress_of(endpoint: Endpoint) -> tuple[list[ReadingProgress], ModelClient]:
    heard: list[Any] = []
    client = ModelClient(endpoint, window=8_192, reserve=256, timeouts=QUICK)

    async def go() -> None:
        await client.send(LONG, heard.append)
        await client.close()

    asyncio.run(go())
    return [each for each in heard if isinstance(each, ReadingProgress)], client


def test_a_real_llama_cpp_server_tells_how_far_it_is(tmp_path: Path) -> None:
    for package in ("xllamacpp", "gguf", "numpy"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    tiny.build(tmp_path / "tiny.gguf")
    served = Served(tmp_path / "tiny.gguf", 8_192)
    url = f"{served._server.listening_address}/v1"
    told, client = progress_of(Endpoint("llama.cpp", "llama.cpp", "openai_chat", url, "tiny", local=True))
    assert len(told) > 1 and told[-1].done == told[-1].total > 3_000
    assert not any(each.estimated for each in told)
    assert client.speed.reading == told[-1].speed > 0


def test_elsewhere_it_is_estimated_from_earlier_speed_and_says_so() -> None:
    async def serve() -> list[Any]:
        async with FakeServer(spoken("openai_chat", "Hi.")) as server:
            heard: list[Any] = []
            client = ModelClient(server.endpoint("openai_chat"), window=8_192, reserve=256, timeouts=QUICK)
            await client.send(LONG, heard.append, weighs=3_700)
            client.speed.reading = 20.0
            await client.send(LONG, heard.append, weighs=3_700)
            await client.close()
            assert "return_progress" not in server.asked[-1].body, "others may refuse a field they do not know"
            return heard

    (told,) = [each for each in asyncio.run(serve()) if isinstance(each, ReadingProgress)]
    assert (told.total, told.speed, told.estimated) == (3_700, 20.0, True)


@pytest.mark.parametrize("event", [{}, {"prompt_progress": 3}, {"prompt_progress": {"total": "x"}}, None])
def test_an_event_that_tells_nothing_is_none(event: Any) -> None:
    assert dialect_named("openai_chat").read_progress(event) is None
