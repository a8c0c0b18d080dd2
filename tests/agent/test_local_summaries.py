"""A model on this machine writes the summary where it can, and who wrote it is told. K5, S3, P3."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Asked, FakeServer, Played, spoken
from tests.agent.test_summary_writer import SUMMARY, far, settings_of, summaries
from tests.tui.fake import begins
from yohaku.agent import summary_writer
from yohaku.agent.agent import Agent
from yohaku.agent.commands.context import context_text
from yohaku.agent.commands.slash_commands import run_command
from yohaku.agent.events import ConversationFolded, ReadingProgress, to_fields
from yohaku.agent.format import describe_author
from yohaku.agent.host.local_servers import BILLIONS_KEY, BYTES_KEY
from yohaku.agent.host.model_size import billions_of
from yohaku.agent.plain import PlainInterface
from yohaku.client.endpoint import Endpoint
from yohaku.client.speed import ModelSpeed
from yohaku.session.session import Session

BIG, SMALL = "qwen3:8b", "qwen2.5-coder:1.5b"
WORDS = "Keep the port and who counts."
SNAPSHOT = (
    "<scratchpad>all of it</scratchpad><state_snapshot><overall_goal>The user counts words.</overall_goal>"
    "<key_knowledge>The port is 8443.</key_knowledge><file_system_state>None.</file_system_state>"
    "<recent_actions>Words were counted.</recent_actions><current_plan>1. [TODO] Count on.</current_plan>"
    "</state_snapshot>"
)


def answer(asked: Asked) -> Played:
    content = str(asked.body["messages"][-1]["content"])
    if "<transcript>" in content and "state_snapshot" in content:
        return spoken("openai_chat", SNAPSHOT, prompt=6_000)
    return spoken("openai_chat", *(SUMMARY if "<transcript>" in content else "I see it."), prompt=6_000)


class Talk(PlainInterface):
    """The agent in lines, without a keyboard; what it shows is in `out` and `err`."""

    def __init__(self, agent: Agent, folder: Path, *, json: bool = False, lang: str = "en") -> None:
        super().__init__(begins(folder, lang=lang), io.StringIO(), io.StringIO(), json=json)
        self.agent = agent


async def talk_until_long(endpoint: Endpoint, folder: Path, **given: object) -> Agent:
    settings = settings_of(folder, **given)
    agent = Agent(endpoint, window=32_768, root=folder, tools=(), settings=settings)
    for turn in range(5):
        async for _ in agent.work(f"Turn {turn}, port 8443. " + f"word{turn} " * 1_200):
            pass
    return agent


def compacted(
    folder: Path, model: str, words: str = "", *, speed: ModelSpeed | None = None, lang: str = "en", **given: object
) -> tuple[FakeServer, str, Any, str]:
    """Hold a conversation and fold it by hand: the server, what the user is told, the report, and /context before."""

    async def play() -> tuple[FakeServer, str, Any, str]:
        async with FakeServer(answer) as server:
            here = server.endpoint("openai_chat", model=model)
            agent = await talk_until_long(far(server) if model == "far" else here, folder, **given)
            try:
                agent.context.client.speed = speed or agent.context.client.speed
                before = context_text(agent, lang)
                told = await run_command(Talk(agent, folder, lang=lang), f"/compact {words}")
                assert agent.session.receipt
                return server, told.text, agent.session.receipt, before
            finally:
                await agent.close()

    return asyncio.run(play())


@pytest.mark.parametrize("recipe", ["auto", "local", "cache", "snapshot"])
def test_one_that_is_big_and_quick_writes_the_summary_with_the_users_words(recipe: str, tmp_path: Path) -> None:
    server, told, receipt, _ = compacted(tmp_path, BIG, WORDS, recipe=recipe)
    (asked,) = summaries(server)
    assert asked["model"] == BIG and WORDS in str(asked["messages"])
    assert told.endswith(f"Summed up by {BIG}, which was given your words.")
    assert receipt.report()["summary"] == {"by": BIG, "without_model": None, "words": WORDS, "heeded": True}


@pytest.mark.parametrize("recipe", ["auto", "local", "cache", "snapshot"])
def test_one_that_is_too_small_is_not_asked_and_the_words_are_heeded_all_the_same(recipe: str, tmp_path: Path) -> None:
    server, told, receipt, before = compacted(tmp_path, SMALL, WORDS, recipe=recipe)
    assert summaries(server) == []
    why = 'ummed up without a model: this one is too small to be asked (compaction.ask = "always" asks it).'
    assert told.endswith(f"S{why} Your words stand in it and chose lines.")
    assert f"The next summary: s{why}" in before
    assert receipt.report()["summary"] == {"by": None, "without_model": "too_small", "words": WORDS, "heeded": True}
    assert WORDS in receipt.outcome.view.gist.text and "port 8443" in receipt.outcome.view.gist.text


def test_the_question_offers_no_tools_and_neither_it_nor_the_raw_answer_stays(tmp_path: Path) -> None:  # K5
    directives = ["Name every port.", "Leave greetings out."]
    given = {"compaction.summary_directives": directives, "compaction.retain_directives": ["Keep numbers."]}
    server, _, receipt, _ = compacted(tmp_path, BIG, recipe="cache", **given)
    (asked,) = summaries(server)
    assert not asked.get("tools")
    question = str(asked["messages"][-1]["content"])
    for directive in (*directives, "Keep numbers."):
        assert f"\n- {directive}\n" in question
    shown = json.dumps([str(turn) for turn in receipt.outcome.view.shown.turns])
    assert "<retain>" not in shown and "<summary>" not in shown and directives[0] not in shown


def test_what_is_retained_and_the_summary_are_two_headed_parts_of_the_users_message(tmp_path: Path) -> None:  # K7
    _, _, receipt, _ = compacted(tmp_path, BIG, recipe="cache")
    (first, *_) = receipt.outcome.view.shown.turns
    text = "".join(part.text for part in first.prompt)
    kept, summed = text.index("Kept from it to the letter:\nport 8443"), text.index("the port is 8443.")
    assert kept < summed and "\n\n" in text[kept:summed]


def test_a_snapshot_is_asked_for_with_its_five_fields_and_shown_with_them(tmp_path: Path) -> None:  # S3
    server, _, receipt, _ = compacted(tmp_path, BIG, recipe="snapshot")
    (asked,) = summaries(server)
    question = str(asked["messages"])
    fields = ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan")
    places = [question.index(f"<{name}>") for name in fields]
    assert places == sorted(places) and question.index("<scratchpad>") < places[0]
    assert all(mark in question for mark in ("[DONE]", "[IN PROGRESS]", "[TODO]"))
    gist = receipt.outcome.view.gist.text
    assert "The user counts words." in gist and "[TODO] Count on." in gist and "scratchpad" not in gist


def test_words_for_which_there_is_no_room_are_not_said_to_be_heeded() -> None:
    session = Session(250, 10, "local", model="gpt-4o")
    turns = [{"role": role, "content": f"{role} word " * 12} for role in ("user", "assistant") * 3]
    body = [{"role": "system", "content": "be careful " * 60}, *turns, {"role": "user", "content": "And on?"}]
    session.fit(body, fold=True, words="Keep the name of whoever asked for this in the first place.")
    receipt = session.receipt
    assert receipt and receipt.author and receipt.outcome.view.gist
    assert "Keep the name" not in receipt.outcome.view.gist.text
    assert not receipt.author.heeded and "no room in it for your words" in describe_author(receipt, "en")


def test_the_setting_asks_any_model_or_none(tmp_path: Path) -> None:
    server, told, _, before = compacted(tmp_path, SMALL, recipe="cache", **{"compaction.ask": "always"})
    assert len(summaries(server)) == 1 and told.endswith(f"Summed up by {SMALL}.")
    assert f"Summaries are written by {SMALL} (" in before
    for model in (BIG, "far"):
        server, told, receipt, _ = compacted(tmp_path / model, model, recipe="cache", **{"compaction.ask": "never"})
        assert summaries(server) == [] and told.endswith('without a model: compaction.ask is "never".')
        assert receipt.author.why == "never"


def test_one_that_would_take_too_long_is_not_asked(tmp_path: Path) -> None:
    slow = ModelSpeed(reading=20.0, writing=2.0)
    server, told, _, _ = compacted(tmp_path, BIG, recipe="local", speed=slow, lang="ja")
    assert summaries(server) == [] and "このモデルではここでは時間がかかりすぎます" in told


def test_one_that_does_not_answer_in_time_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hold(asked: Asked) -> Played:
        return Played(ending="stall") if "<transcript>" in str(asked.body["messages"][-1]) else answer(asked)

    async def play() -> tuple[FakeServer, str]:
        async with FakeServer(hold) as server:
            agent = await talk_until_long(server.endpoint("openai_chat", model=BIG), tmp_path, recipe="local")
            monkeypatch.setattr(summary_writer, "MAX_MANUAL_SECONDS", 0.3)
            agent.context.client.speed = ModelSpeed(1e9, 1e9)
            try:
                return server, (await run_command(Talk(agent, tmp_path), "/compact")).text
            finally:
                await agent.close()

    server, told = asyncio.run(play())
    assert len(summaries(server)) == 1
    assert f'without a model: {BIG} took too long (compaction.ask = "always" waits for it).' in told


def test_who_wrote_it_is_told_on_standard_error_and_in_json(tmp_path: Path) -> None:
    async def play() -> tuple[str, Any]:
        async with FakeServer(answer) as server:
            agent = await talk_until_long(server.endpoint("openai_chat", model=SMALL), tmp_path, recipe="local")
            folded = await agent.compact(WORDS)
            await agent.close()
            assert isinstance(folded, ConversationFolded)
            lines, rows = Talk(agent, tmp_path), Talk(agent, tmp_path, json=True)
            lines.show(folded)
            rows.show(folded)
            assert isinstance(lines.err, io.StringIO) and isinstance(rows.out, io.StringIO)
            assert to_fields(folded)["summary"]
            return lines.err.getvalue(), json.loads(rows.out.getvalue())

    err, row = asyncio.run(play())
    assert "Summed up without a model: this one is too small" in err and "Your words stand in it" in err
    assert row["summary"] == {"by": None, "without_model": "too_small", "words": WORDS, "heeded": True}


@pytest.mark.parametrize(
    ("model", "info", "billions"),
    [
        ("qwen3:8b", {}, 8.0),
        ("Qwen3-Coder-30B-A3B-Instruct", {}, 30.0),
        ("mixtral-8x7b-instruct", {}, 56.0),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", {}, 0.5),
        ("gemma3n:e4b", {}, 4.0),
        ("mistral-small", {BYTES_KEY: 14_300_000_000}, 23.06),
        ("mistral-small", {BILLIONS_KEY: 23.6, BYTES_KEY: 1}, 23.6),
        ("mistral-small", {"general.parameter_count": 23_600_000_000}, 23.6),
        ("mistral-small", {}, None),
        ("gpt-4o", {}, None),
    ],
)
def test_the_size_of_a_model_is_read_from_its_server_its_file_or_its_name(
    model: str, info: dict[str, object], billions: float | None
) -> None:
    found = billions_of(Endpoint("fake", "fake", "openai_chat", "http://127.0.0.1:1", model, local=True, info=info))
    assert found == (billions and pytest.approx(billions, abs=0.01))


def test_speed_is_what_was_new_in_a_request_and_what_was_written() -> None:
    speed = ModelSpeed()
    assert speed.seconds(1_000, 100) is None
    speed.measure(2_000, 100, 4.0, 10.0)
    assert (speed.reading, speed.writing, speed.seconds(1_000, 100)) == (500.0, 10.0, 12.0)
    speed.measure(2_600, 4, 1.0, 0.1)
    assert (speed.reading, speed.writing) == (500.0, 10.0), "of 2,600 tokens 500 were new, and four words say nothing"


def test_in_the_library_never_keeps_a_session_from_asking() -> None:
    def model(question: object) -> str:
        raise AssertionError("asked")

    session = Session(8_192, 0, "cache", model="gpt-4o", summarise=model, settings={"compaction.ask": "never"})
    turns = [{"role": role, "content": "The port is 8443. " + "word " * 300} for role in ("user", "assistant") * 4]
    session.fit([*turns, {"role": "user", "content": "And on?"}], fold=True)
    assert session.receipt and session.receipt.author and session.receipt.author.why == "never"


def test_how_long_it_reads_is_told_in_a_turn_and_not_in_a_folding_by_hand(tmp_path: Path) -> None:
    async def play() -> list[Any]:
        async with FakeServer(answer) as server:
            settings = {"compaction.ask": "always"}
            agent = await talk_until_long(server.endpoint("openai_chat", model=BIG), tmp_path, **settings)
            agent.context.client.speed = ModelSpeed(50.0, 10.0)
            try:
                await agent.compact()
                events = [event async for event in agent.work("And on?")]
                assert len(summaries(server)) == 1
                for turn in range(6, 18):
                    events += [e async for e in agent.work(f"Turn {turn}, port 8443. " + f"word{turn} " * 2_000)]
                assert len(summaries(server)) > 1
                return events
            finally:
                await agent.close()

    told = [event for event in asyncio.run(play()) if isinstance(event, ReadingProgress) and event.summing_up]
    assert all(event.estimated for event in told) and max(event.total for event in told) > 1_000
