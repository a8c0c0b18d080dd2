"""Texts for the model, and what people see of them."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest

from tests.agent.scripted import agent, calls, play, says
from tests.tui.fake import FakeAgent, begins, called
from yohaku.agent.events import Event, ToolFinished, TurnEnded
from yohaku.agent.model_texts import CHANGED, PLAN_NOTE, PLAN_OVER_NOTE, REFUSED, failure_for_people, prompt_for_people
from yohaku.agent.plain import PlainInterface, run_once
from yohaku.agent.sessions import list_sessions
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.tools import FULL_TIER, tools_for
from yohaku.config.settings import Settings


def test_every_tool_of_ours_but_those_of_others_words_is_told_to_the_model_only() -> None:
    shown = [name for name in FULL_TIER if failure_for_people(name, "Correct it and try again.", "en")]
    assert shown == ["bash", "web_fetch"]


@pytest.mark.parametrize(
    ("tool", "text", "line"),
    [
        ("bash", REFUSED, "Not allowed."),
        ("edit", REFUSED + "\n" + CHANGED.format(names="a.py"), "Not allowed."),
        ("bash", "[stopped by the user]", "Stopped."),
        ("bash", "1\n2\nNameError: x\n[exit 1]", "NameError: x [exit 1]"),
        ("bash", "[exit 2]", "[exit 2]"),
        ("edit", "old_string is not in a.py. Read the file again.", ""),
        ("frobnicate", "There is no tool 'frobnicate'. Take one of: read, write.", ""),
        ("Bash", "a tool of another program\nfailed", "failed"),
        ("bash", "", ""),
    ],
)
def test_people_are_told_what_failed_and_not_what_the_model_is_to_do(tool: str, text: str, line: str) -> None:
    assert failure_for_people(tool, text, "en") == line


def test_a_command_that_took_too_long_is_told_without_advice_for_the_model(tmp_path: Path) -> None:
    sleeper = says("", calls("bash", command="echo begun; sleep 60", timeout=1))
    one = agent(tmp_path, sleeper, says("."), window=200_000, tools=tools_for("full"), permissions=Permissions("yolo"))
    (finished,) = [event for event in play(one, "go") if isinstance(event, ToolFinished)]
    assert "give a longer timeout" in finished.result.text
    assert failure_for_people("bash", finished.result.text, "en") == "Stopped after 1 seconds."


@pytest.mark.parametrize("notes", [(PLAN_NOTE,), (PLAN_OVER_NOTE, CHANGED.format(names="a.py, b.py")), ()])
def test_a_prompt_is_shown_as_the_user_wrote_it(notes: tuple[str, ...]) -> None:
    assert prompt_for_people("\n\n".join(["Why?\n\n[so]", *notes])) == "Why?\n\n[so]"


def test_the_title_of_a_session_in_plan_mode_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    settings = Settings(data=tmp_path / "data")
    one = agent(
        tmp_path / "project", says("A plan."), window=200_000, tools=tools_for("full"),
        permissions=Permissions("plan"), settings=settings,
    )  # fmt: skip
    play(one, "How?")
    asyncio.run(one.close())
    assert [session.title for session in list_sessions(tmp_path / "data")] in ([], ["How?"])


def test_a_script_shows_no_text_for_the_model(tmp_path: Path) -> None:
    events: list[Event] = [
        called("edit", REFUSED, "Edit a.py", error=True),
        called("edit", "old_string is not in a.py. Read the file again.", "Edit a.py", error=True, call="2"),
        TurnEnded("done", "."),
    ]
    surface = PlainInterface(begins(tmp_path, FakeAgent(events)), io.StringIO(), err := io.StringIO())
    asyncio.run(run_once(surface.begin, "go", plain=surface))
    assert err.getvalue() == "✗ Not allowed.\n✗ Edit a.py: failed; the model was told why\n"


def test_a_program_gets_all_of_it(tmp_path: Path) -> None:
    events: list[Event] = [called("edit", REFUSED, "Edit a.py", error=True), TurnEnded("done", ".")]
    surface = PlainInterface(begins(tmp_path, FakeAgent(events)), out := io.StringIO(), io.StringIO(), json=True)
    asyncio.run(run_once(surface.begin, "go", plain=surface))
    assert REFUSED in json.dumps([json.loads(line) for line in out.getvalue().splitlines()])
