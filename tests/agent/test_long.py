"""Long sessions on a real llama.cpp server with the scripted model, which counts a token for every byte.

Law: not one request is refused as too long, whatever the tools give; what the panel shows is what the server counts.
Where the declared window is wrong, there is one refusal, and none after it. `YOHAKU_SOAK` is how many calls to make
at each window; without it one window and few calls are tried.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests import checkers
from tests.agent.scripted import agent, calls, play, says, sent, tool
from tests.models import tiny
from tests.models.serving import Served
from yohaku.agent.agent import Agent
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    Gauge,
    ReplyFinished,
    TextDelta,
    ThoughtDelta,
    ToolFinished,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.gauge import meter_for
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong
from yohaku.client.model_client import ModelClient
from yohaku.config.settings import Settings
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Answer
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

pytestmark = pytest.mark.slow  # a real server with a tiny model, and many steps

SOAK = int(os.environ.get("YOHAKU_SOAK") or 0)
CALLS = SOAK or 60
WINDOWS = (8_192, 16_384, 32_768) if SOAK else (8_192,)
NEAR = 0.03

LINES = (
    "def handler_{n}(request): return connect(port={n})",
    "    # ポート {n} に接続する。失敗したら {m} 秒待ってからもう一度試す",
    "ERROR: port {n} is in use (after {m} s)",
    "エラー: ポート {n} は使用中です",
    "{n} 件成功, {m} 件失敗 🙂",
    "",
)
PROMPTS = ("Read app.py again.", "app.py をもう一度読んで、ポートを教えてください。", "What does it say now?")


class CountingClient(ModelClient):
    refusals = 0

    async def send(self, body: Any, hear: Callable[[TextDelta | ThoughtDelta], None], *, weighs: int = 0) -> Answer:
        try:
            return await super().send(body, hear, weighs=weighs)
        except TooLong:
            self.refusals += 1
            raise


def output(chance: Random) -> str:
    """From nothing to five megabytes, in lines or in one."""
    size = chance.choice((0, 40, 400, 400, 2_000, 2_000, 9_000, 60_000, 700_000, 5_000_000))
    lines = [chance.choice(LINES).format(n=chance.randint(1, 9_999), m=chance.randint(1, 99)) for _ in range(50)]
    text = (chance.choice("\n\n\n ")).join(lines) + "\n"
    return (text * (size // max(1, len(text.encode())) + 1)).encode()[:size].decode("utf-8", "ignore")


def reading(chance: Random) -> AgentTool:
    async def run(bench: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult(output(chance))

    return tool("read_file", run)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("xllamacpp", "gguf", "numpy", "aiohttp"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    path = tmp_path_factory.mktemp("long") / "tiny.gguf"
    tiny.build(path)
    return path


def endpoint(served: Served, model: Path) -> Endpoint:
    url = f"{served._server.listening_address}/v1"
    return Endpoint("llama.cpp", "llama.cpp", "openai_chat", url, "tiny", local=True, info={"path": str(model)})


class Worked:
    """What happened in a session of so many prompts, each of which makes the model call its tool."""

    def __init__(self, model: Path, root: Path, window: int, declared: int = 0, calls: int = CALLS) -> None:
        served = Served(model, window)
        here = endpoint(served, model)
        session = Session(declared or window, dialect="openai_chat", meter=meter_for(here))
        self.client = CountingClient(here, window=session.budget.window, reserve=session.budget.reserve)
        tools = (reading(Random(window)),)
        window = session.budget.window
        self.agent = Agent(here, window=window, root=root, tools=tools, session=session, client=self.client)
        self.events: list[Event] = asyncio.run(self._played(calls))

    async def _played(self, calls: int) -> list[Event]:
        found: list[Event] = []
        for number in range(calls):
            async for event in self.agent.work(f"{PROMPTS[number % len(PROMPTS)]} ({number})"):
                found.append(event)
        await self.agent.close()
        return found

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def gaps(self) -> list[float]:
        """How far the panel was from the server's own count, at each request that was answered."""
        shown, found = 0, []
        for event in self.events:
            if isinstance(event, Gauge):
                shown = event.used
            elif isinstance(event, ReplyFinished) and event.usage:
                found.append(abs(shown - event.usage.prompt) / event.usage.prompt)
        return found


@pytest.fixture(scope="module", params=WINDOWS)
def worked(request: pytest.FixtureRequest, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    return Worked(model, tmp_path_factory.mktemp("project"), request.param)


def test_not_one_request_is_too_long(worked: Worked) -> None:
    assert worked.client.refusals == 0
    assert len(worked.of(ToolFinished)) == CALLS
    assert {event.why for event in worked.of(TurnEnded)} == {"done"}
    assert worked.of(ConversationFolded), "it was long enough to need folding"
    assert [event.text for event in worked.of(UserNotice) if event.kind == "error"] == []


def test_the_panel_shows_what_the_server_counts(worked: Worked) -> None:
    assert len(worked.gaps) >= 2 * CALLS  # what is asked in Japanese may be answered twice
    assert max(worked.gaps) <= NEAR


def test_a_window_that_is_declared_too_large_is_healed_by_the_first_refusal(model: Path, tmp_path: Path) -> None:
    worked = Worked(model, tmp_path, 8_192, declared=100_000, calls=SOAK or 12)
    assert worked.client.refusals == 1
    assert worked.agent.window == 8_192
    assert {event.why for event in worked.of(TurnEnded)} == {"done"}
    assert max(worked.gaps) <= NEAR


def test_a_session_is_kept_by_itself_and_gone_on_with(model: Path, tmp_path: Path) -> None:
    served = Served(model, 16_384)
    here = endpoint(served, model)

    async def played(resume: Path | None, *prompts: str) -> list[str]:
        tools = (reading(Random(2)),)
        one = Agent(here, window=16_384, root=tmp_path, tools=tools, settings=Settings(data=tmp_path / "data"))
        if resume:
            one.resume(resume)
        for prompt in prompts:
            assert [event.why async for event in one.work(prompt) if isinstance(event, TurnEnded)] == ["done"]
        await one.close()
        return [str(turn.prompt[0]) for turn in one.conversation.history.turns]

    before = asyncio.run(played(None, "Read app.py.", "もう一度読んでください。"))
    (transcript,) = (tmp_path / "data" / "transcripts").glob("*.jsonl")
    after = asyncio.run(played(transcript, "And now?"))
    assert len(before) == 2 and after[:2] == before and "And now?" in after[2]


@pytest.mark.parametrize("window", (8_192, 16_384, 32_768))
def test_one_prompt_of_many_steps_stays_within_the_window(tmp_path: Path, window: int) -> None:
    """As an agent's session mostly is: one prompt, and no end of calls. The model is a script here."""
    session = Session(window, dialect="openai_chat", meter=ByteMeter())
    limit, count = session.budget.limit, SOAK or 100
    lines = [says("I look.", calls("read_file", number, path=f"src/{number}.py")) for number in range(count)]
    tools = (reading(Random(1)),)
    one = agent(tmp_path, *lines, says("はい。"), window=window, session=session, tools=tools, max_steps=999)
    events = play(one, "Read them all. 必ず日本語で答えること。")
    assert [event.why for event in events if isinstance(event, TurnEnded)] == ["done"]
    assert len(sent(one)) == count + 1
    weights = [weigh(session.read(body), ByteMeter()).total for body in sent(one)]
    assert max(weights) <= limit
    assert [checkers.DIALECTS["openai_chat"].problems(body) for body in sent(one)] == [[]] * (count + 1)
    assert all("必ず日本語で答えること。" in str(body) for body in sent(one))
