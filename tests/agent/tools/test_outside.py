"""A tool in a file outside the package: registered, offered to the model, run."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import HERE, ScriptedClient, calls, ended, play, says, sent
from yohaku import plugins
from yohaku.agent.agent import Agent
from yohaku.agent.tools import tool_named, tools_for
from yohaku.core.errors import BadSetting
from yohaku.session.session import Session

WEATHER = """
from yohaku import plugins
from yohaku.agent.toolkit.arguments import object_schema, string
from yohaku.agent.toolkit.tool import AgentTool, ToolResult


async def run(context, arguments):
    return ToolResult(f"Rain in {arguments['city']}, asked from {context.root.name}.")


TOOL = AgentTool(
    "weather",
    "Get the weather of a city.",
    object_schema("city", city=string()),
    "read",
    run,
    lambda arguments: f"Weather of {arguments.get('city', '')}",
)
plugins.register("tools", "weather", TOOL)
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})


def load(folder: Path) -> None:
    (folder / "weather.py").write_text(WEATHER, "utf-8")
    runpy.run_path(str(folder / "weather.py"))


def test_a_tool_from_outside_is_offered_and_run(tmp_path: Path) -> None:
    load(tmp_path)
    client: Any = ScriptedClient(says("I look.", calls("weather", city="Kyoto")), says("It rains."))
    agent = Agent(HERE, window=32_768, root=tmp_path, session=Session(32_768, dialect="openai_chat"), client=client)
    assert ended(play(agent, "How is the weather in Kyoto?")).text == "It rains."
    offered = [each["function"] for each in sent(agent)[0]["tools"]]
    assert [each["description"] for each in offered if each["name"] == "weather"] == ["Get the weather of a city."]
    assert sent(agent)[1]["messages"][-1]["content"] == f"Rain in Kyoto, asked from {tmp_path.name}."


def test_a_tool_of_an_installed_package_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weather_of_others.py").write_text(WEATHER.replace("plugins.register", "# plugins.register"), "utf-8")
    installed = tmp_path / "weather-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[yohaku.tools]\nweather = weather_of_others:TOOL\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [tool.name for tool in tools_for("small")][-1] == "weather"


def test_it_is_offered_in_both_tiers_and_replaces_no_built_in_one(tmp_path: Path) -> None:
    load(tmp_path)
    weather = tool_named("weather")
    plugins.register("tools", "read", weather)
    for tier, count in (("small", 6), ("full", 15)):
        names = [tool.name for tool in tools_for(tier)]  # type: ignore[arg-type]
        assert (names[-1], len(names), names.count("read")) == ("weather", count + 1, 1)


def test_what_is_not_a_tool_is_refused_by_name(tmp_path: Path) -> None:
    plugins.register("tools", "broken", len)
    with pytest.raises(BadSetting, match="broken"):
        tools_for("small")
