"""Files are kept around each call of the agent, and what could not come back is said in the question."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.agent.scripted import agent, calls, play, says
from yohaku.agent.agent import Agent
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.file_history.losses import describe_losses
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import AgentTool, Arguments, PermissionRequest, ToolContext, ToolResult
from yohaku.agent.tools import tool_named, tools_for
from yohaku.config.settings import Settings

TOOLS = tools_for("full")


def working(tmp_path: Path, *lines: Any, **how: Any) -> Agent:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    given = {"permissions": Permissions("yolo"), "tools": TOOLS, **how}
    return agent(root, *lines, window=200_000, settings=Settings(data=tmp_path / "data"), **given)


def take_back_all(history: FileHistory) -> list[str]:
    plan = history.plan_undo(100)
    history.undo(plan)
    return [change.title for change in plan.changes]


def test_edits_and_commands_are_taken_back_in_one_history(tmp_path: Path) -> None:
    one = working(
        tmp_path,
        says("", calls("bash", 1, command="printf 'a = 1\\n' > a.py; ln -s a.py l")),
        says("", calls("read", 2, path="a.py"), calls("edit", 3, path="a.py", old_string="1", new_string="2")),
        says("", calls("bash", 4, command="cat a.py"), calls("bash", 5, command="rm a.py")),
        says("Done."),
    )
    play(one, "go")
    assert take_back_all(one.file_history) == ["rm a.py", "edit a.py", "printf 'a = 1\\n' > a.py; ln -s a.py l"]
    assert list(one.root.iterdir()) == []


def test_a_command_of_a_sub_agent_is_taken_back_too(tmp_path: Path) -> None:
    one = working(
        tmp_path,
        says("", calls("sub_agent", 1, task="make it")),
        says("", calls("bash", 2, command="touch made")),
        says("Made."),
        says("Done."),
    )
    play(one, "go")
    assert (one.root / "made").exists()
    assert take_back_all(one.file_history) == ["touch made"] and not (one.root / "made").exists()


def test_a_tool_of_another_package_is_kept_by_what_it_asks_for(tmp_path: Path) -> None:
    async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
        assert await context.allow(PermissionRequest("run", "theirs", "theirs", "theirs"))
        (context.root / "theirs").write_text("x")
        return ToolResult("ok")

    theirs = AgentTool("theirs", "", {"type": "object", "properties": {}}, "run", run, lambda given: "theirs")
    one = working(tmp_path, says("", calls("theirs")), says("Done."), tools=(theirs,))
    play(one, "go")
    assert take_back_all(one.file_history) == ["theirs"] and not (one.root / "theirs").exists()


def test_a_command_that_is_stopped_is_written_down(tmp_path: Path) -> None:
    one = working(tmp_path, says("", calls("bash", command="touch begun; sleep 30")))

    async def go() -> None:
        async for _ in one.work("go"):
            if (one.root / "begun").exists():
                one.stop()
            elif not one.busy:
                break
            asyncio.get_running_loop().call_later(0.3, one.stop)

    asyncio.run(go())
    assert take_back_all(one.file_history) == ["touch begun; sleep 30"]


def test_what_the_user_changes_while_being_asked_is_not_the_commands(tmp_path: Path) -> None:
    one = working(
        tmp_path, says("", calls("bash", command="touch ours")), says("Done."), permissions=Permissions("ask")
    )
    asked: list[PermissionRequest] = []

    async def allow(ask: PermissionRequest) -> Literal["once"]:
        asked.append(ask)
        (one.root / "theirs").write_text("x")
        return "once"

    one.allow = allow
    play(one, "go")
    assert [ask.lost for ask in asked] == [""]
    assert [part.path for part in one.file_history.parts(one.file_history.changes()[0])] == [b"ours"]


def losses(root: Path, command: str, trouble: str = "", lang: str = "en") -> str:
    return describe_losses(PermissionRequest("run", "bash", command, command), root, trouble, lang)


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("rm -rf build", "build (ignored by git, or a cache)"),
        ("rm build/out.o", "build/out.o (ignored by git"),
        ("rm -rf node_modules", "node_modules (ignored by git"),
        ("echo x > ../other.txt", "../other.txt (outside the project)"),
        ("curl -O http://example.com/x", "over the network"),
        ("git push origin main", "over the network"),
        ("git commit -m x", "what git records"),
        ("pip install requests", "over the network"),
        ("make deploy", "whatever it does to ignored files"),
        ("cp big.bin copy", "big.bin (17.0 MB, too big to keep)"),
    ],
)
def test_what_cannot_come_back_is_named_before_it_runs(tmp_path: Path, command: str, part: str) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("build", "node_modules"):
        (tmp_path / name).mkdir()
    (tmp_path / "build" / "out.o").write_text("")
    with (tmp_path / "big.bin").open("wb") as big:
        big.truncate(17 * 1024 * 1024)
    assert part in losses(tmp_path, command)


@pytest.mark.parametrize("command", ["sed -i s/a/b/ a.py", "rm -r sub", "mv a.py b.py", "mkdir x && touch x/y"])
def test_nothing_is_said_where_everything_comes_back(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.py").write_text("a")
    (tmp_path / "sub").mkdir()
    assert losses(tmp_path, command) == ""


def test_where_nothing_can_be_kept_the_question_says_so(tmp_path: Path) -> None:
    one = agent(
        tmp_path, says("", calls("bash", command="touch x")), says("Done."), tools=(tool_named("bash"),), window=50_000
    )
    asked: list[PermissionRequest] = []

    async def allow(ask: PermissionRequest) -> Literal["no"]:
        asked.append(ask)
        return "no"

    one.allow = allow
    play(one, "go")
    assert asked[0].lost.startswith("This could not be taken back by /undo: there is no data folder")
    assert "戻せません" in losses(tmp_path, "touch x", "too_big", "ja")
