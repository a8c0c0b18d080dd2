"""A permission is given only by a key that was meant for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, same_as_golden, seen, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import PermissionDialog
from yohaku.tui.prompt import PromptInput

DIFF = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
WRITE = PermissionRequest("write", "edit", "Edit a.py", DIFF, remember="edits in this project")
GRAVE = PermissionRequest(
    "run", "bash", "Run rm -rf build", "rm -rf build", danger="this deletes a folder and all in it"
)


def answers(
    tmp_path: Path, ask: PermissionRequest, *keys: str, moment: float = 0.01, golden: str = "", lang: str = "en"
) -> list[str]:
    agent, given = FakeAgent(), []

    async def asking(surface: Surface) -> None:
        given.append(await surface.allow(ask))

    agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent, lang=lang), moment=moment)

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PermissionDialog) and (app.screen.armed or moment > 1))
        assert ask.title in seen(app) and ask.danger in seen(app)
        if golden:
            same_as_golden(app, golden)
        await pilot.press(*keys)
        await pilot.pause()

    run(app, script)
    return given


@pytest.mark.parametrize(
    ("keys", "answer"), [("y", "once"), ("a", "always"), ("n", "no"), ("escape", "no"), ("enter", "once")]
)
def test_a_key_answers(tmp_path: Path, keys: str, answer: str) -> None:
    assert answers(tmp_path, WRITE, keys) == [answer]


def test_what_cannot_be_remembered_has_no_always(tmp_path: Path) -> None:
    assert answers(tmp_path, GRAVE, "a") == []


def test_something_dangerous_is_not_done_by_enter(tmp_path: Path) -> None:
    assert answers(tmp_path, GRAVE, "enter") == ["no"]


def test_keys_of_the_first_moment_were_meant_for_something_else(tmp_path: Path) -> None:
    assert answers(tmp_path, WRITE, "y", "enter", "a", moment=60) == []


def test_a_diff_and_a_danger_are_seen(tmp_path: Path) -> None:
    assert answers(tmp_path, WRITE, "n", golden="allow_write") == ["no"]
    assert answers(tmp_path, GRAVE, "n", golden="allow_danger", lang="ja") == ["no"]


def test_a_command_is_shown_as_letters_only() -> None:
    shown = PermissionDialog(
        PermissionRequest("run", "bash", "Run it", "echo [bold]x\x1b[8m; rm -rf ~\u202e"), "en"
    )._detail()
    assert shown.plain == "echo [bold]x; rm -rf ~"


@pytest.mark.parametrize("size", [(50, 24), (80, 24), (100, 30), (50, 20)])
def test_the_answers_are_in_sight_however_small_the_terminal_and_long_the_command(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    command = "rm -rf build && echo " + "あいう " * 200
    ask = PermissionRequest(
        "run", "bash", command[:99] + "…", command, remember="commands that begin with `rm`", danger="危険。" * 9
    )
    agent = FakeAgent()

    async def asking(surface: Surface) -> None:
        await surface.allow(ask)

    agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent, lang="ja"), moment=0.01)

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PermissionDialog) and app.screen.armed)
        assert all(answer in seen(app) for answer in ("(y)", "(a)", "(n"))
        await pilot.press("n")

    run(app, script, size)
