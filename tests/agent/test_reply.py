from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import checkers
from tests.agent.scripted import READ, ScriptedClient, agent, calls, ended, play, says, sent, tool
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TextDelta, ToolStarted, TurnEnded
from yohaku.agent.model_texts import STOPPED
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong
from yohaku.client.window_cache import WindowCache
from yohaku.config.settings import Settings
from yohaku.core.model import Call
from yohaku.dialects import DIALECTS
from yohaku.dialects.answer import Answer
from yohaku.dialects.overflow import Overflow
from yohaku.session.session import Session
from yohaku.testing import ByteMeter


async def slowly(bench: ToolContext, arguments: Arguments) -> ToolResult:
    await asyncio.sleep(0.01)
    return ToolResult(f"the content of {arguments.get('path')}")


each = pytest.mark.parametrize("dialect", DIALECTS)


def of(dialect: str, *, local: bool = False) -> Endpoint:
    return Endpoint("API", "api", dialect, "http://127.0.0.1:1", "m", key="sk-0123456789", local=local)  # type: ignore[arg-type]


def made(root: Path, dialect: str, *lines: Any, window: int = 60_000, **how: Any) -> Agent:
    session = Session(window, dialect=dialect, meter=ByteMeter())
    return agent(root, *lines, endpoint=of(dialect), session=session, window=window, **how)


@each
def test_whatever_happens_each_dialect_is_sent_what_it_takes(tmp_path: Path, dialect: str) -> None:
    look = [calls("read", number, path=f"{number}.py") for number in range(3)]
    lines = [
        says("I look.", *look),
        says("Found."),
        says("", calls("read", 9, path="x")),
        says("", look[0]),
        says("Fine."),
    ]
    one = made(tmp_path, dialect, *lines, tools=(tool("read", slowly),))
    play(one, "Go.")
    play(one, "And?", on=lambda event: one.stop() if isinstance(event, ToolStarted) else None)
    play(one, "Go on.", on=lambda event: one.queue("Only look.") if isinstance(event, ToolStarted) else None)
    assert len(sent(one)) == 5
    assert [checkers.DIALECTS[dialect].problems(body) for body in sent(one)] == [[]] * 5
    assert STOPPED in json.dumps(sent(one)[-1])


@each
def test_a_model_that_is_to_use_no_tools_is_asked_in_a_way_its_api_takes(tmp_path: Path, dialect: str) -> None:
    again = [says("", calls("read", number, path="a.py")) for number in range(5)]
    one = made(tmp_path, dialect, *again, says("Enough."), window=60_000)
    assert ended(play(one, "Go.")) == TurnEnded("done", "Enough.")
    last = sent(one)[-1]
    assert ("tools" in last) is (dialect != "ollama")
    assert ("none" in json.dumps(last.get("tool_choice", last.get("toolConfig"))).lower()) is (dialect != "ollama")
    assert checkers.DIALECTS[dialect].problems(last) == []


FENCED = '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```'


@pytest.mark.parametrize(
    "text", [FENCED, f"I look.\n{FENCED}", '<tool_call>{"name": "read", "arguments": {"path": "a.py"}}</tool_call>']
)
def test_calls_that_are_written_as_text_are_calls(tmp_path: Path, text: str) -> None:
    one = agent(tmp_path, says(text), says("It holds x."))
    events = play(one, "Go.")
    assert [event.title for event in events if isinstance(event, ToolStarted)] == ["read a.py"]
    assert sent(one)[1]["messages"][-2]["tool_calls"][0]["function"]["name"] == "read"
    assert ended(events) == TurnEnded("done", "It holds x.")


INVENTED = f"First I look.\n{FENCED}\nThe file says x = 1.\n{FENCED.replace('a.py', 'b.py')}\nBoth are fine."


def test_of_several_only_the_first_is_made_and_what_was_made_up_behind_it_is_dropped(tmp_path: Path) -> None:
    one = agent(tmp_path, says(INVENTED), says("It holds x."))
    events = play(one, "Go.")
    assert [event.title for event in events if isinstance(event, ToolStarted)] == ["read a.py"]
    assert sent(one)[1]["messages"][-2]["content"].strip() == "First I look."


def test_a_local_model_is_not_listened_to_any_longer_when_its_call_is_whole(tmp_path: Path) -> None:
    async def goes_on(hear: Callable[[TextDelta], None]) -> Answer:
        for sign in f"{INVENTED}{'!' * 2_000}":
            hear(TextDelta(sign))
            await asyncio.sleep(0)
        raise AssertionError("it was listened to until the end")

    one = agent(tmp_path, goes_on, says("It holds x."))
    events = play(one, "Go.")
    assert [event.title for event in events if isinstance(event, ToolStarted)] == ["read a.py"]
    assert "The file says" not in "".join(event.text for event in events if isinstance(event, TextDelta))
    assert ended(events) == TurnEnded("done", "It holds x.")


def test_calls_with_no_id_or_the_same_one_get_their_own(tmp_path: Path) -> None:
    twice = [Call("", "read", '{"path": "a"}'), Call("x", "read", '{"path": "b"}'), Call("x", "read", '{"path": "c"}')]
    one = agent(tmp_path, says("", *twice), says("Done."))
    assert ended(play(one, "Go.")).why == "done"
    names = [call["id"] for call in sent(one)[1]["messages"][-4]["tool_calls"]]
    assert len(set(names)) == 3 and all(names)


def test_arguments_that_are_no_json_are_sent_back_as_json(tmp_path: Path) -> None:
    one = agent(tmp_path, says("", Call("1", "read", '{"path": ')), says("Done."))
    assert ended(play(one, "Go.")).why == "done"
    assert isinstance(json.loads(sent(one)[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]), dict)


def test_what_an_overflow_taught_is_remembered_for_the_next_start(tmp_path: Path) -> None:
    here, settings = of("openai_chat"), Settings(data=tmp_path / "data")
    lines = (TooLong(Overflow(8_192, 9_000)), says("Done."))
    one = agent(tmp_path, *lines, endpoint=here, window=30_000, settings=settings)
    play(one, "Go.")
    assert WindowCache(tmp_path / "data").window(here) == 8_192


def test_a_guess_is_not(tmp_path: Path) -> None:
    here, settings = of("openai_chat"), Settings(data=tmp_path / "data")
    one = agent(tmp_path, TooLong(Overflow()), says("Done."), endpoint=here, window=30_000, settings=settings)
    assert ended(play(one, "Go.")).why == "done" and one.window < 30_000
    assert WindowCache(tmp_path / "data").window(here) is None


def test_a_smaller_window_gets_the_small_prompt_and_what_was_said_stays(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello."), TooLong(Overflow(8_192)), says("Fine."), window=100_000)
    play(one, "Hi.", "How are you?")
    assert one.tier == "small"
    before, after = (body["messages"] for body in sent(one)[1:])
    assert len(before[0]["content"]) > 2 * len(after[0]["content"]) and before[1:] == after[1:]


@each
def test_another_model_goes_on_with_the_same_conversation(tmp_path: Path, dialect: str, monkeypatch: Any) -> None:
    one = agent(tmp_path, *(says(f"The answer to {number}.\n" * 99) for number in range(9)), window=60_000)
    play(one, *(f"Question {number}?\n" * 99 for number in range(9)))
    talk: Any = ScriptedClient(says("Fine."))
    monkeypatch.setattr("yohaku.agent.factory.open_client", lambda *given: talk)
    old: Any = one.context.client
    folded = asyncio.run(one.switch(of(dialect, local=True), 6_000))
    assert folded and folded.receipt.after <= 6_000 and old.closed
    events: list[Event] = play(one, "Go on.")
    assert ended(events) == TurnEnded("done", "Fine.")
    assert checkers.DIALECTS[dialect].problems(talk.sent[0]) == []
    assert one.tools == (READ,) and one.window == 6_000
