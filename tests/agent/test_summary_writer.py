"""The model that writes summaries: chosen by settings or catalogue, asked on a real server, within its window."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Asked, FakeServer, Played, spoken, whole
from tests.agent.scripted import told
from yohaku.agent.agent import Agent
from yohaku.agent.commands.context import context_text
from yohaku.agent.events import Event
from yohaku.agent.summary_writer import share_for
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings, from_mapping
from yohaku.config.summary_models import SummaryModel, summary_model_for
from yohaku.session.session import Session

SUMMARY = "<retain>\nport 8443\n</retain>\n<summary>\nThe user counts words; the port is 8443.\n</summary>"
PRICES = {"input": 10.0, "output": 30.0}


def write_catalog(folder: Path, url: str, window: int) -> Path:
    """A provider at the server's address, with a dear model and a cheap one for summaries."""
    path = folder / "models.json"
    models = [
        {"id": "big", "provider": "house", "window": 32_768, "prices": PRICES},
        {"id": "small", "provider": "house", "window": window, "prices": {"input": 1.0, "output": 3.0}},
    ]
    provider = {"name": "house", "dialect": "openai_chat", "url": url, "keys": ["HOUSE_KEY"], "summary": "small"}
    path.write_text(json.dumps({"models": models, "providers": [provider]}))
    return path


def answer(asked: Asked) -> Played:
    """A reply to a prompt, or a summary where one is asked for."""
    content = str(asked.body["messages"][-1]["content"])
    return spoken("openai_chat", SUMMARY if "<transcript>" in content or "<notes>" in content else "I see.")


def summaries(server: FakeServer) -> list[Any]:
    return [each.body for each in server.asked if "<transcript>" in str(each.body["messages"][-1]["content"])]


async def compacted(endpoint: Endpoint, root: Path, settings: Settings, more_turns: int = 0) -> list[Event]:
    """What is said while a long conversation is held and folded by hand, and again after more turns."""
    one = Agent(endpoint, window=32_768, root=root, tools=(), settings=settings)
    await one.context.prepare_summaries()
    events: list[Event] = []
    try:
        for turns in filter(None, (range(6), range(6, 6 + more_turns))):
            for turn in turns:
                events += [event async for event in one.work(f"Turn {turn}, port 8443. " + f"word{turn} " * 1_200)]
            if one.session.summary_model.name:
                assert f"Summaries are written by {one.session.summary_model.name} (" in context_text(one, "en")
            await drafted(one)
            assert await one.compact() is not None
        events += [event async for event in one.work("And on?")]
    finally:
        await one.close()
    return events


async def drafted(agent: Agent) -> None:
    """Wait for the summary that is written beside the conversation: a folding before that asks for one of its own."""
    async with asyncio.timeout(20):
        while agent.session.drafting:
            await asyncio.sleep(0.01)


def settings_of(folder: Path, catalog: Path | None = None, **given: object) -> Settings:
    return from_mapping({"data": str(folder / "data"), **({"catalog": str(catalog)} if catalog else {}), **given})


def far(server: FakeServer, model: str = "big") -> Endpoint:
    """The server as if it were a provider's: not on this machine."""
    return Endpoint("House", "house", "openai_chat", f"{server.url}/v1", model, "key", local=False)


@pytest.mark.parametrize(("window", "questions"), [(131_072, 1), (4_096, 4)])
def test_the_catalogues_cheaper_model_writes_summaries_within_its_own_window(
    window: int, questions: int, tmp_path: Path
) -> None:  # C7, K11, S7
    async def play() -> FakeServer:
        async with FakeServer(answer) as server:
            settings = settings_of(tmp_path, write_catalog(tmp_path, f"{server.url}/v1", window))
            await compacted(far(server), tmp_path, settings)
            return server

    server = asyncio.run(play())
    asked = summaries(server)
    assert {body["model"] for body in asked} == {"small"} and len(asked) >= questions
    assert (len(asked) == 1) == (questions == 1)
    assert {each.body["model"] for each in server.asked} == {"big", "small"}


@pytest.mark.parametrize(
    ("given", "model"),
    [
        ({"summary_models": {"big": "same"}}, "big"),
        ({"summary_models": {"b*": "other", "default": "no"}}, "other"),
        ({"summary_models": {"default": "other"}}, "other"),
        ({"summary_models": {"big": "no"}, "compaction.model": "other"}, "other"),
    ],
)
def test_a_table_in_the_settings_says_who_writes_them(given: dict[str, object], model: str, tmp_path: Path) -> None:
    async def play() -> FakeServer:  # S9
        async with FakeServer(answer) as server:
            catalog = write_catalog(tmp_path, f"{server.url}/v1", 131_072)
            await compacted(far(server), tmp_path, settings_of(tmp_path, catalog, **given))
            return server

    assert {body["model"] for body in summaries(asyncio.run(play()))} == {model}


def test_a_model_on_another_server_writes_them_for_one_on_this_machine(tmp_path: Path) -> None:  # K11
    async def play() -> tuple[FakeServer, FakeServer]:
        models = {"/v1/models": {"data": [{"id": "writer", "max_model_len": 65_536}]}}
        async with FakeServer(answer) as main, FakeServer(answer, models) as other:
            settings = settings_of(tmp_path, **{"compaction.model": f"{other.url}/v1#writer"})
            await compacted(main.endpoint("openai_chat"), tmp_path, settings)
            return main, other

    main, other = asyncio.run(play())
    assert summaries(main) == [] and [body["model"] for body in summaries(other)] == ["writer"]


def test_where_it_is_not_there_the_main_model_writes_them_and_the_user_is_told_once(tmp_path: Path) -> None:
    def refuse(asked: Asked) -> Played:
        if asked.body["model"] == "small":
            return whole({"error": {"message": "no such model"}}, 404)
        return answer(asked)

    async def play() -> tuple[FakeServer, list[Event]]:
        async with FakeServer(refuse) as server:
            settings = settings_of(tmp_path, write_catalog(tmp_path, f"{server.url}/v1", 131_072))
            return server, await compacted(far(server), tmp_path, settings, more_turns=3)

    server, events = asyncio.run(play())
    assert [body["model"] for body in summaries(server)] == ["small", "big", "big"]
    notices = [text for text in told(events) if text.startswith("small, which was to write the summary")]
    assert len(notices) == 1 and "big writes it" in notices[0]


def test_without_a_catalogue_row_or_at_an_address_of_ones_own_the_main_model_writes_them() -> None:
    settings = Settings()
    cheaper = summary_model_for("gpt-5", settings, default="cheaper")
    assert cheaper is not None and cheaper.name == "gpt-5-nano" and cheaper.window > 100_000
    assert summary_model_for("gpt-5-nano", settings, default="cheaper") is None
    assert summary_model_for("nobody-knows", settings, default="cheaper") is None
    assert summary_model_for("gpt-5", settings) is None


def test_in_the_library_questions_carry_the_name_and_suit_the_window() -> None:  # K11
    session = Session(8_192, model="gpt-5", summarise=lambda question: SUMMARY, summary_model="cheaper")
    assert session.summary_model.name == "gpt-5-nano" and session.summary_model.window > 100_000
    asked: list[Any] = []
    given = SummaryModel("tiny", 2_048)

    def model(question: Any) -> str:
        asked.append(question)
        return SUMMARY

    small = Session(32_768, 0, "cache", model="gpt-4o", summarise=model, summary_model=given)
    turns = [{"role": role, "content": "The port is 8443. " + "word " * 900} for role in ("user", "assistant") * 8]
    small.fit([*turns, {"role": "user", "content": "And on?"}], fold=True)
    assert {question.model for question in asked} == {"tiny"} and len(asked) > 2
    assert max(len(question.text) for question in asked) < 2_048 * 6


@pytest.mark.parametrize(
    ("model", "share"), [("qwen2.5:1.5b", 0.3), ("qwen3:4b", 0.5), ("llama3.1:70b", 0.85), ("of unknown size", 0.85)]
)
def test_the_smaller_a_model_the_less_of_a_chapter_it_writes(model: str, share: float) -> None:
    assert share_for(Endpoint("", "", "ollama", "http://127.0.0.1:1", model)) == share
