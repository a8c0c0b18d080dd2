from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.arguments import object_schema
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult
from yohaku.agent.tools import FULL_TIER, SMALL_TIER, run_tool, summarize_call, tool_definitions, tools_for
from yohaku.dialects.server_api import signature

METER = meters.for_model("gpt-4o")  # o200k


def weight(tier: str, brief: bool) -> int:
    told = tool_definitions(tools_for(tier), "openai_chat", brief)  # type: ignore[arg-type]
    return METER.count(json.dumps(told, separators=(",", ":"), ensure_ascii=False))


def test_the_small_tier_is_six_tools_in_about_four_hundred_tokens() -> None:
    assert SMALL_TIER == ("bash", "read", "write", "edit", "glob", "grep")
    assert 300 <= weight("small", brief=True) <= 420


def test_the_full_tier_is_fifteen_tools_in_about_fifteen_hundred_tokens() -> None:
    assert (len(FULL_TIER), len(set(FULL_TIER))) == (15, 15)
    assert 1_300 <= weight("full", brief=False) <= 1_575


def test_the_folder_is_the_registry() -> None:
    import yohaku.agent.tools as home

    files = {path.stem for path in Path(home.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(FULL_TIER)
    assert tuple(tool.name for tool in tools_for("full")) == FULL_TIER


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"])
def test_every_dialect_is_told_the_same(dialect: str) -> None:
    told = tool_definitions(tools_for("full"), dialect)
    told = told[0]["functionDeclarations"] if dialect == "gemini" else told
    read = [signature(json.dumps(one)) for one in told]
    assert [one.name for one in read] == list(FULL_TIER)
    assert [one.parameters for one in read] == [tool.parameters for tool in tools_for("full")]
    assert not any(one.hosted for one in read)


def test_every_tool_has_a_title_for_any_arguments() -> None:
    for tool in tools_for("full"):
        assert tool.title({})
        assert "\n" not in tool.title({"command": "a\nb", "path": "x", "task": "a\nb"})


@pytest.mark.parametrize("name", FULL_TIER)
def test_nonsense_is_told_and_never_raised(tmp_path: Path, name: str) -> None:
    import asyncio

    tool = next(tool for tool in tools_for("full") if tool.name == name)
    for given in (
        "",
        "{",
        "[]",
        "null",
        {"path": "\ud800"},
        {name: {"a": [1]} for name in tool.parameters["properties"]},
    ):
        said = asyncio.run(run_tool(tool, ABench(tmp_path, "no"), given))
        assert isinstance(said.text, str)


def test_a_tool_that_fails_is_told_and_takes_from_the_room(tmp_path: Path) -> None:
    import asyncio

    async def fails(bench: ToolContext, given: Arguments) -> ToolResult:
        raise PermissionError(13, "Permission denied", "/x")

    tool = AgentTool("odd", "", object_schema(), "read", fails, lambda _: "odd")
    with output_budget.limit_output(1_000, METER):
        assert asyncio.run(run_tool(tool, ABench(tmp_path), {})) == ToolResult("Permission denied: /x", error=True)
        assert output_budget.tokens_left() == 1_000 - METER.count("Permission denied: /x")


@pytest.mark.parametrize(
    ("name", "given", "text", "line"),
    [
        ("read", {"path": "main.go"}, "x\n" * 500, "Read: main.go (500 lines, Go)"),
        ("bash", {"command": "make"}, "oops\nerror: no rule\n[exit 2]", "Ran: make (3 lines, exit 2: error: no rule)"),
        ("edit", {"path": "a.py"}, "Edited a.py (+1 -1 lines).", "Edited: a.py (1 line)"),
        ("write", {"path": "a.py"}, "Created a.py (2 lines).", "Wrote: a.py (1 line)"),
        ("write", {"path": "a.py"}, "Overwritten a.py (2 lines; +1 -1).", "Edited: a.py (1 line)"),
        ("multi_edit", {"path": "a.py"}, "Edited a.py: 2 edits (+2 -2 lines).", "Edited: a.py (1 line)"),
        ("grep", {"pattern": "def x"}, "a.py\n1: def x", "Searched: def x (2 lines)"),
        ("glob", {"pattern": "*.py"}, "a.py", "Listed: *.py (1 line)"),
        ("list_dir", {"path": "src"}, "src/\n  a.py", "Listed: src (2 lines)"),
    ],
)
def test_a_call_in_one_line(name: str, given: Arguments, text: str, line: str) -> None:
    assert summarize_call(name, given, text) == line
