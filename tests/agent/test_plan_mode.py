"""Plan mode with the real tools: the model is told, and nothing in the project changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.agent.scripted import HERE, ScriptedClient, calls, says
from yohaku.agent.agent import Agent
from yohaku.agent.events import ToolFinished
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.config.settings import Settings
from yohaku.session.session import Session


async def always(request: PermissionRequest) -> Any:
    return "always"


def test_writing_is_refused_harmless_commands_run_and_the_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    client: Any = ScriptedClient(
        says("", calls("write", 1, path="b.txt", content="two\n"), calls("bash", 2, command="echo x > a.txt")),
        says("", calls("bash", 3, command="cat a.txt"), calls("bash", 4, command="touch c.txt")),
        says("I would write b.txt."),
        says("Now I may."),
    )
    session = Session(window=32_768, model="gpt-4o")
    agent = Agent(HERE, window=32_768, root=tmp_path, session=session, client=client, allow=always, settings=Settings())
    agent.set_mode("plan")

    async def ask(prompt: str) -> dict[str, bool]:
        events = [event async for event in agent.work(prompt)]
        return {each.call.id: each.result.error for each in events if isinstance(each, ToolFinished)}

    failed = asyncio.run(ask("What would you do?"))
    assert list(failed.values()) == [True, True, False, True]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"] and (tmp_path / "a.txt").read_text() == "one\n"
    assert "Plan mode: nothing may be changed" in str(client.sent[0]["messages"][-1])
    agent.set_mode("ask")
    asyncio.run(ask("Go on."))
    assert "Plan mode is over" in str(client.sent[-1]["messages"][-1])
