"""The last lines of a turn: what was really changed, and what was not."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.agent.scripted import agent, calls, ended, play, says, told
from tests.tui.fake import FakeAgent, begins
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TurnEnded, UserNotice
from yohaku.agent.plain import PlainInterface, run_once
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.agent.tools import tools_for
from yohaku.config.settings import Settings

CODE = "def f(x):\n    return x + 1\n"


async def yes(ask: PermissionRequest) -> Literal["once", "always", "no"]:
    return "once"


async def no(ask: PermissionRequest) -> Literal["once", "always", "no"]:
    return "no"


def worker(tmp_path: Path, *lines: Any, allow: Any = yes, lang: str = "en", **how: Any) -> Agent:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    (root / "a.py").write_text(CODE)
    settings = Settings(data=tmp_path / "data")
    how = {"window": 200_000, "tools": tools_for("full"), **how}
    return agent(root, *lines, allow=allow, lang=lang, settings=settings, **how)


def edit(old: str, new: str) -> Any:
    return calls("edit", path="a.py", old_string=old, new_string=new)


def last(events: list[Event]) -> str:
    notices = told(events)
    return notices[-1] if notices else ""


def test_changed_files_are_told_with_their_lines(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", edit("x + 1", "x + 2")), says("Done."))
    events = play(one, "Fix a.py")
    assert last(events) == "Changed: a.py (+1 −1)." and ended(events) == TurnEnded("done", "Done.")


def test_what_a_command_changed_is_told_too(tmp_path: Path) -> None:
    command = "echo 'y = 1' > b.py; rm a.py"
    events = play(worker(tmp_path, says("", calls("bash", command=command)), says("Done.")), "Move it to b.py")
    assert last(events) == "Changed: a.py (deleted, −2), b.py (new, +1)."


def test_each_turn_tells_its_own_changes_only(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", edit("x + 1", "x + 2")), says("Done."), says("It adds."))
    assert "a.py" in last(play(one, "Fix a.py"))
    assert told(play(one, "What does it do?")) == []


@pytest.mark.parametrize(
    ("lang", "prompt", "reply", "line"),
    [
        ("en", "Fix a.py", "It is fine.", "No file was changed."),
        ("en", "Fix a.py", "I have fixed a.py.", "No file was changed, although the reply says so."),
        ("en", "go on", "I have fixed a.py.", "No file was changed, although the reply says so."),
        ("ja", "a.py を直してください", "問題ありません。", "ファイルは 1 つも変更されていません。"),
        (
            "ja",
            "a.py を直してください",
            "a.py を修正しました。",
            "返答には変更したとありますが、ファイルは 1 つも変更されていません。",
        ),
    ],
)
def test_it_is_said_when_nothing_was_changed(tmp_path: Path, lang: str, prompt: str, reply: str, line: str) -> None:
    events = play(worker(tmp_path, says(reply), lang=lang), prompt)
    assert last(events) == line and ended(events).problems == ("nothing_changed",)


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("What does a.py do?", "It adds."),
        ("What did you change?", "I have changed f."),
        ("hello", "Hello."),
        ("Read the CHANGELOG", "Support for Windows has been added in 2.0."),
        ("Make a plan for the migration", "I have created a plan: first …"),
        ("Write a commit message", "I have written it: Fix the cache."),
        ("計画を作成してください", "計画を作成しました。"),
    ],
)
def test_nothing_is_said_where_no_change_was_wanted(tmp_path: Path, prompt: str, reply: str) -> None:
    events = play(worker(tmp_path, says(reply)), prompt)
    assert told(events) == [] and ended(events).problems == ()


def test_what_the_reply_says_of_an_earlier_change_is_no_claim(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", edit("x + 1", "x + 2")), says("Done."), says("I have fixed a.py, that is all."))
    play(one, "Fix a.py")
    assert ended(play(one, "go on")).problems == ()


def test_an_act_outside_the_files_is_not_taken_for_nothing(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", calls("bash", command="git init -q . && git add a.py")), says("I have added it."))
    assert "nothing_changed" not in ended(play(one, "Add a.py to the index")).problems


def test_what_was_refused_is_told(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", edit("x + 1", "x + 2")), says("I have fixed it."), allow=no)
    events = play(one, "Fix a.py")
    assert last(events) == ("Not allowed, so not done: edit a.py.\nNo file was changed, although the reply says so.")
    assert ended(events).problems == ("refused", "nothing_changed")


def test_a_refusal_that_was_taken_back_is_forgotten(tmp_path: Path) -> None:
    answers: list[Literal["once", "always", "no"]] = ["no", "once"]

    async def thinks(ask: PermissionRequest) -> Literal["once", "always", "no"]:
        return answers.pop(0)

    change = edit("x + 1", "x + 2")
    one = worker(tmp_path, says("", change), says("", change), says("Done."), allow=thinks)
    assert last(play(one, "Fix a.py")) == "Changed: a.py (+1 −1)."


def test_a_refusal_in_plan_mode_is_told_and_is_no_failure(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", calls("bash", command="make")), says("A plan."), permissions=Permissions("plan"))
    events = play(one, "How would you build it?")
    assert last(events) == "Not allowed, so not done: make." and ended(events).problems == ()


def test_a_file_that_no_longer_parses_is_told(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", calls("bash", command="sed -i 's/(x):/(x/' a.py")), says("Done."))
    events = play(one, "Fix a.py")
    assert last(events) == "Changed: a.py (+1 −1).\na.py does not parse now: line 1: '(' was never closed."
    assert ended(events).problems == ("does_not_parse",)


def test_a_named_command_that_still_fails_is_told(tmp_path: Path) -> None:
    run = calls("bash", 2, command="python3 -c 'import a; assert a.f(1) == 3'  2>&1")
    prompt = "`python3 -c 'import a; assert a.f(1) == 3'` fails. Fix it."
    one = worker(tmp_path, says("", edit("x + 1", "x + 5")), says("", run), says("Fixed."))
    events = play(one, prompt)
    assert last(events).endswith("This command fails: python3 -c 'import a; assert a.f(1) == 3'")
    assert ended(events).problems == ("command_fails",)


def test_a_named_command_that_passes_in_the_end_is_not(tmp_path: Path) -> None:
    command = "python3 -B -c 'import a; assert a.f(1) == 3'"
    lines = [
        says("", calls("bash", 1, command=command)),
        says("", calls("edit", 2, path="a.py", old_string="+ 1", new_string="+ 2")),
    ]
    one = worker(tmp_path, *lines, says("", calls("bash", 3, command=command)), says("Fixed."))
    assert ended(play(one, f"`{command}` fails. Fix it.")).problems == ()


@pytest.mark.parametrize("how", ["edit", "command"])
def test_it_is_not_claimed_that_a_command_fails_which_was_not_run_since_the_change(tmp_path: Path, how: str) -> None:
    command = "python3 -B -c 'import a; assert a.f(1) == 3'"
    change = edit("x + 1", "x + 2") if how == "edit" else calls("bash", command="sed -i 's/x + 1/x + 2/' a.py")
    one = worker(tmp_path, says("", calls("bash", 1, command=command)), says("", change), says("Fixed."))
    events = play(one, f"`{command}` fails. Fix it.")
    assert last(events).endswith(f"Failed, and was not run again since the last change: {command}")
    assert ended(events).problems == ()


def test_asking_why_a_command_fails_is_no_failure(tmp_path: Path) -> None:
    one = worker(tmp_path, says("", calls("bash", command="false")), says("It always does."))
    assert ended(play(one, "Why does `false` fail?")).problems == ()


def test_without_a_place_for_the_history_edits_are_still_told(tmp_path: Path) -> None:
    root = tmp_path / "here"
    root.mkdir()
    (root / "a.py").write_text(CODE)
    one = agent(
        root, says("", edit("x + 1", "x + 2")), says("Done."), window=200_000, tools=tools_for("full"), allow=yes,
        settings=Settings(),
    )  # fmt: skip
    events = play(one, "Fix a.py")
    assert last(events) == "Changed: a.py." and ended(events).problems == ()


def test_a_script_fails_when_something_is_left_undone(tmp_path: Path) -> None:
    play: list[Event] = [UserNotice("No file was changed.", "warning"), TurnEnded("done", "ok", ("nothing_changed",))]
    surface = PlainInterface(begins(tmp_path, FakeAgent(play)), io.StringIO(), io.StringIO())
    assert asyncio.run(run_once(surface.begin, "fix it", plain=surface)) == 1
