from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.agent.scripted import READ, agent, calls, ended, gives, play, says, sent, tool
from yohaku.agent.conversation import load_history
from yohaku.agent.events import Event, TextDelta, ToolOutput, ToolStarted, TurnEnded
from yohaku.agent.sub_agent import choose_tools
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.config.settings import Settings
from yohaku.core.model import Text
from yohaku.dialects.answer import Answer


async def delegates(bench: ToolContext, arguments: Arguments) -> ToolResult:
    return ToolResult(await bench.delegate(f"Find out about {arguments['path']}."))


TOOLS = (READ, tool("sub_agent", delegates, "inner"), tool("write", gives, "write"))


def test_only_the_result_of_a_sub_agent_comes_back(tmp_path: Path) -> None:
    one = agent(
        tmp_path,
        says("", calls("sub_agent", path="the port")),
        says("I look.", calls("read", path="app.py")),
        says("The port is 8080 (app.py:3)."),
        says("It is 8080."),
        tools=TOOLS,
        window=60_000,
    )
    events = play(one, "Which port?")
    assert ended(events) == TurnEnded("done", "It is 8080.")
    asked, looked = sent(one)[1], sent(one)[3]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert [each["function"]["name"] for each in asked["tools"]] == ["read"]
    assert looked["messages"][-1]["content"] == "The port is 8080 (app.py:3)."
    assert ToolOutput("call_1", "read app.py\n") in events
    assert [event.call.name for event in events if isinstance(event, ToolStarted)] == ["sub_agent"]


def test_one_that_finds_nothing_says_so(tmp_path: Path) -> None:
    one = agent(
        tmp_path, says("", calls("sub_agent", path="x")), says(""), says(""), says("Then I do it."), tools=TOOLS
    )
    assert ended(play(one, "Go.")) == TurnEnded("done", "Then I do it.")
    assert "without a result" in sent(one)[3]["messages"][-1]["content"]


def test_its_answer_has_to_fit_into_the_room_of_the_call(tmp_path: Path) -> None:
    long = "".join(f"app.py:{number}: a line\n" for number in range(2_000))
    one = agent(tmp_path, says("", calls("sub_agent", path="x")), says(long), says("Done."), tools=TOOLS, window=12_000)
    assert ended(play(one, "Go.")) == TurnEnded("done", "Done.")
    assert len(sent(one)[2]["messages"][-1]["content"]) < 8_000


def test_stopping_the_step_stops_it(tmp_path: Path) -> None:
    stopped: list[bool] = []

    async def slowly(hear: Callable[[TextDelta], None]) -> Answer:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            stopped.append(True)
            raise
        raise AssertionError("it was not stopped")

    one = agent(tmp_path, says("", calls("sub_agent", path="x")), slowly, tools=TOOLS)

    def on(event: Event) -> None:
        if isinstance(event, ToolStarted):
            asyncio.get_running_loop().call_later(0.05, one.stop)

    assert ended(play(one, "Go.", on=on)).why == "stopped" and stopped == [True]


def test_its_transcript_is_kept_beside_its_parents(tmp_path: Path) -> None:  # P8
    lines = (says("", calls("sub_agent", path="the port")), says("The port is 8080."), says("It is 8080."))
    one = agent(tmp_path, *lines, tools=TOOLS, settings=Settings(data=tmp_path / "data"))
    play(one, "Which port?")
    (kept,) = (tmp_path / "data" / "transcripts").glob("*.jsonl")
    (turn,) = load_history(kept).turns
    assert "Find out about the port." in str(turn.prompt) and turn.steps[0].items == (Text("The port is 8080."),)


def test_it_only_looks_unless_it_may_do_more() -> None:
    assert [each.name for each in choose_tools(TOOLS, changes=False)] == ["read"]
    assert [each.name for each in choose_tools(TOOLS, changes=True)] == ["read", "write"]
