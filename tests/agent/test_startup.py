"""From settings to an agent: what is in the way is a sentence, never an exception."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.agent.fakes import FakeServer, spoken
from yohaku.agent.agent import Agent
from yohaku.agent.commands.context import context_text
from yohaku.agent.events import TurnEnded, UserNotice
from yohaku.agent.plain import PlainInterface
from yohaku.agent.protocols import Allowed, Surface, WorkingAgent
from yohaku.agent.startup import Starter, explain_error
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.config.settings import Settings, read
from yohaku.core.errors import Unreadable

MODELS_32K = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 32_768}]}
MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 8192}]}


@dataclass
class Someone:
    answer: str = ""
    told: list[UserNotice] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def allow(self, ask: PermissionRequest) -> Allowed:
        return "no"

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        self.asked.append(text)
        return self.answer

    async def secret(self, text: str) -> str:
        return ""

    def show_notice(self, told: UserNotice) -> None:
        self.told.append(told)

    def progress(self, what: str, done: int, total: int) -> None: ...


def settings(folder: Path, **values: object) -> Settings:
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "LANG": "C.UTF-8"}
    return replace(read(home), **values)  # type: ignore[arg-type]


def begun(begin: Starter, someone: Someone, **how: object) -> WorkingAgent | None:
    async def go() -> WorkingAgent | None:
        agent = await begin(someone, **how)  # type: ignore[arg-type]
        if agent:
            await agent.close()
        return agent

    return asyncio.run(go())


def test_a_named_server_gives_an_agent_with_its_window(tmp_path: Path) -> None:
    someone = Someone()

    async def go() -> None:
        async with FakeServer([spoken("openai_chat", "Hi.")], {"/v1/models": MODELS}) as server:
            begin = Starter(settings(tmp_path, model=f"{server.url}/v1#m"), tmp_path)
            agent = await begin(someone)
            assert isinstance(agent, Agent) and agent.window == 8192 and agent.root == tmp_path.resolve()
            events = [event async for event in agent.work("hello")]
            assert events[-1] == TurnEnded("done", "Hi.")
            chosen = await begin.choose_model(someone, f"{server.url}/v1#m")
            assert chosen and (chosen[0].model, chosen[1]) == ("m", 8192)
            await agent.close()

    asyncio.run(go())
    assert someone.told == []


@pytest.mark.parametrize(
    ("model", "extra", "tools", "why"),
    [
        ("qwen2.5-coder-1.5b", {}, 6, "the model is small (1.5 billion parameters)"),
        ("qwen2.5-coder-32b", {}, 15, "window and model can bear them"),
        ("qwen2.5-coder-1.5b", {"tier": "full"}, 15, "you set it"),
    ],
)
def test_prompt_and_tools_follow_the_size_of_the_model(
    tmp_path: Path, model: str, extra: dict[str, str], tools: int, why: str
) -> None:  # L18
    models = {"object": "list", "data": [{"id": model, "object": "model", "max_model_len": 32_768}]}

    async def go() -> None:
        async with FakeServer([spoken("openai_chat", "Hi.")], {"/v1/models": models}) as server:
            agent = await Starter(settings(tmp_path, model=f"{server.url}/v1#{model}", **extra), tmp_path)(Someone())
            assert isinstance(agent, Agent) and agent.window == 32_768
            events = [event async for event in agent.work("hello")]
            assert events[-1] == TurnEnded("done", "Hi.")
            assert len(server.asked[-1].body["tools"]) == tools
            assert why in context_text(agent, "en")
            await agent.close()

    asyncio.run(go())


def test_prompt_and_tools_follow_the_speed_that_was_measured_before(tmp_path: Path) -> None:  # L18
    async def go() -> list[str]:
        async with FakeServer([spoken("openai_chat", "Hi.")] * 2, {"/v1/models": MODELS_32K}) as server:
            told = []
            for _ in range(2):
                agent = await Starter(settings(tmp_path, model=f"{server.url}/v1#m"), tmp_path)(Someone())
                assert isinstance(agent, Agent)
                told.append(context_text(agent, "en"))
                agent.context.client.speed.reading = 20.0
                agent.context.remember_speed()
                await agent.close()
            return told

    first, second = asyncio.run(go())
    assert "prompt and tools are the full ones" in first
    assert "prompt and tools are the small ones: the model reads slowly here (20 tokens a second)" in second


def test_a_wish_beyond_the_servers_window_is_shrunk_and_said(tmp_path: Path) -> None:
    someone = Someone()

    async def go() -> int:
        async with FakeServer([], {"/v1/models": MODELS}) as server:
            agent = await Starter(settings(tmp_path, model=f"{server.url}/v1#m", window=32_768), tmp_path)(someone)
            assert agent
            await agent.close()
            return agent.window

    assert asyncio.run(go()) == 8192
    assert len(someone.told) == 1 and "32,768" in someone.told[0].text and someone.told[0].kind == "warning"


def test_chat_is_without_tools_and_permissions_are_as_set(tmp_path: Path) -> None:
    async def go() -> None:
        async with FakeServer([], {"/v1/models": MODELS}) as server:
            how = settings(tmp_path, model=f"{server.url}/v1#m", chat=True, permissions="read-only")
            agent = await Starter(how, tmp_path)(Someone())
            assert isinstance(agent, Agent) and agent.tools == () and agent.permissions.mode == "read-only"
            await agent.close()

    asyncio.run(go())


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_server_that_does_not_answer_is_a_sentence(tmp_path: Path, lang: str) -> None:
    someone = Someone()
    assert begun(Starter(settings(tmp_path, model="http://127.0.0.1:9/v1", lang=lang), tmp_path), someone) is None
    assert len(someone.told) == 1 and someone.told[0].kind == "error" and "127.0.0.1:9" in someone.told[0].text


def test_a_file_that_is_no_model_or_not_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    for name in ("bad.gguf", "none.gguf"):
        someone = Someone()
        assert begun(Starter(settings(tmp_path, gguf=tmp_path / name), tmp_path), someone) is None
        assert [told.kind for told in someone.told] == ["error"] and name in someone.told[0].text


def test_a_session_that_cannot_be_resumed_is_a_sentence(tmp_path: Path) -> None:
    someone = Someone()
    (tmp_path / "broken.jsonl").write_text("{")

    async def go() -> WorkingAgent | None:
        async with FakeServer([], {"/v1/models": MODELS}) as server:
            begin = Starter(settings(tmp_path, model=f"{server.url}/v1#m"), tmp_path)
            return await begin(someone, resume=str(tmp_path / "broken.jsonl"))

    assert asyncio.run(go()) is None
    assert [told.kind for told in someone.told] == ["error", "note"]
    assert "yohaku doctor" in someone.told[1].text


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_where_nothing_is_found_the_ways_forward_are_told_and_a_download_is_asked_about(
    tmp_path: Path, lang: str
) -> None:
    nowhere = dict.fromkeys(
        ("OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"), "http://127.0.0.1:9"
    )
    someone = Someone()
    how = replace(read({"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), **nowhere}), lang=lang)
    assert begun(Starter(how, tmp_path), someone) is None
    assert len(someone.asked) <= 1 and [told.kind for told in someone.told] == ["warning"]
    assert "ANTHROPIC_API_KEY" in someone.told[0].text


def test_an_error_of_the_core_is_told_in_the_users_language() -> None:
    assert explain_error(Unreadable("this is empty"), "ja") == "読み込めません: this is empty"


def test_always_is_kept_for_who_is_there_and_counts_for_nobody_in_a_script(tmp_path: Path) -> None:
    """Nobody sees what a script is about to do, so what was allowed on the screen allows it nothing."""

    class Agrees(Someone):
        async def allow(self, ask: PermissionRequest) -> Allowed:
            self.asked.append(ask.title)
            return "always"

    (project := tmp_path / "project").mkdir()
    ask = PermissionRequest(
        "run", "bash", "git status", "git status", "commands that begin with `git status`", keys=("git status",)
    )

    async def allowed(surface: Surface) -> bool:
        async with FakeServer([], {"/v1/models": MODELS}) as server:
            agent = await Starter(settings(tmp_path, model=f"{server.url}/v1#m"), project)(surface)
            assert isinstance(agent, Agent)
            answer = await agent.permissions.decide(ask, surface.allow)
            await agent.close()
            return answer

    first, again = Agrees(), Someone()
    assert asyncio.run(allowed(first)) and first.asked == ["git status"]
    assert [told.text for told in first.told] == [
        "Allowed for good in this project: commands that begin with `git status`. /permissions takes it back."
    ]
    assert asyncio.run(allowed(again)) and again.told == []
    script = PlainInterface(Starter(settings(tmp_path), project), io.StringIO(), io.StringIO())
    assert not script.attended and not asyncio.run(allowed(script))
