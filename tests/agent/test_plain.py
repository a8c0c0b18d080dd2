"""The agent without a screen: what goes where, and how it ends."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.fake import CALM, FakeAgent, begins, called, calling, folded
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    ReadingProgress,
    ReplyFinished,
    TextDelta,
    ThoughtDelta,
    ToolOutput,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.plain import EXIT_CODES, PlainInterface, run_interactive, run_once
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.dialects.answer import Usage

DIFF = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"
WORK: list[Event] = [
    ThoughtDelta("hm"),
    TextDelta("I look. "),
    calling("bash", "Run ls"),
    ToolOutput("1", "a.py\n"),
    called("bash", "a.py", "Run ls"),
    called("edit", "done", "Edit a", diff=DIFF, call="2"),
    called("bash", "no such file", "Run x", error=True, call="3"),
    UserNotice("a sentence"),
    TextDelta("Two **files**\x1b[31m."),
    ReplyFinished(Usage(10, 0, 0, 5), "stop"),
    TurnEnded("done", "Two files."),
]


def plain(tmp_path: Path, *plays: list[Event], json: bool = False, typed: list[str] | None = None) -> PlainInterface:
    lines = list(typed or [])

    def read(prompt: str) -> str:
        if not lines:
            raise EOFError
        return lines.pop(0)

    begin = begins(tmp_path, FakeAgent(*plays))
    return PlainInterface(begin, io.StringIO(), io.StringIO(), json=json, read_line=read if typed is not None else None)


def written(stream: object) -> str:
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


READING: list[Event] = [
    ReadingProgress(1_200, 3_700, 20.0),
    TextDelta("Yes."),
    ReplyFinished(None, "stop", 20.0, 8.0),
    TurnEnded("done", "Yes."),
]


def test_a_terminal_shows_how_far_the_model_has_read_and_its_speed(tmp_path: Path) -> None:
    surface = plain(tmp_path, READING)
    surface.err = Terminal()
    assert asyncio.run(run_once(surface.begin, "go", plain=surface)) == 0
    told = surface.err.getvalue()
    assert "reading 1,200 of 3,700 tokens, 20/s, about 2 min\r\x1b[K" in told
    assert "reads 20, writes 8 tokens/s\n" in told


def test_a_log_does_not(tmp_path: Path) -> None:
    surface = plain(tmp_path, READING)
    assert asyncio.run(run_once(surface.begin, "go", plain=surface)) == 0
    assert written(surface.err) == "" and written(surface.out) == "Yes.\n"


def test_the_models_words_go_to_the_pipe_and_everything_else_beside_it(tmp_path: Path) -> None:
    surface = plain(tmp_path, WORK)
    assert asyncio.run(run_once(surface.begin, "list", plain=surface)) == 0
    assert written(surface.out) == "I look. \nTwo **files**.\n"
    assert written(surface.err) == (
        "• Run ls\n  --- a\n  +++ a\n  @@ -1 +1 @@\n  -x\n  +y\n✗ no such file\na sentence\n"
    )
    assert isinstance(surface.agent, FakeAgent) and surface.agent.closed


def test_json_is_one_object_a_line_and_every_event_has_a_type(tmp_path: Path) -> None:
    surface = plain(tmp_path, [*WORK[:-1], ConversationFolded(folded()), CALM, WORK[-1]], json=True)
    assert asyncio.run(run_once(surface.begin, "list", plain=surface)) == 0
    rows = [json.loads(line) for line in written(surface.out).splitlines()]
    types = "thought said calling output called called called told said replied folded gauge ended"
    assert [row["type"] for row in rows] == types.split()
    assert rows[1] == {"type": "said", "text": "I look. "}
    assert rows[9] == {
        "type": "replied", "stop": "stop", "usage": {"prompt": 10, "total": 15}, "reading": 0.0, "writing": 0.0,
    }  # fmt: skip
    assert rows[11]["used"] == 3280 and rows[11]["level"] == "calm" and rows[10]["before"] == 16_896
    assert rows[12] == {"type": "ended", "why": "done", "text": "Two files.", "problems": []}
    assert written(surface.err) == ""


@pytest.mark.parametrize(("why", "code"), EXIT_CODES.items())
def test_how_it_ended_is_the_exit_code(tmp_path: Path, why: str, code: int) -> None:
    surface = plain(tmp_path, [TurnEnded(why)])  # type: ignore[arg-type]
    assert asyncio.run(run_once(surface.begin, "x", plain=surface)) == code


def test_no_model_is_exit_4(tmp_path: Path) -> None:
    surface = PlainInterface(begins(tmp_path, None), io.StringIO(), io.StringIO())
    assert asyncio.run(run_once(surface.begin, "x", plain=surface)) == 4


def test_in_a_script_nothing_is_allowed_and_it_is_said_how_it_could_be(tmp_path: Path) -> None:
    surface = plain(tmp_path)
    assert asyncio.run(surface.allow(PermissionRequest("write", "write", "write a.py", DIFF))) == "no"
    assert asyncio.run(surface.question("Which?", ("a", "b"))) == ""
    assert written(surface.err) == ("not done: write a.py. With -p nothing is written or run unless --yolo is given.\n")


@pytest.mark.parametrize(
    ("line", "answer"),
    [("y", "once"), ("Yes", "once"), ("はい", "once"), ("always", "always"), ("a", "no"), ("n", "no"), ("", "no"),
     ("you do it", "no"), ("yesterday", "no")],
)  # fmt: skip
def test_in_lines_a_permission_is_asked_for_with_what_it_is_about(tmp_path: Path, line: str, answer: str) -> None:
    surface = plain(tmp_path, typed=[line])
    assert asyncio.run(surface.allow(PermissionRequest("run", "bash", "ls", "ls -la", remember="ls"))) == answer
    assert written(surface.err) == "ls -la\n"


@pytest.mark.parametrize(("line", "answer"), [("y", "no"), ("always", "no"), ("yes", "once"), ("", "no")])
def test_in_lines_something_dangerous_takes_the_whole_word(tmp_path: Path, line: str, answer: str) -> None:
    surface = plain(tmp_path, typed=[line])
    ask = PermissionRequest("run", "bash", "ls", "ls -la", remember="ls", danger="it shows everything")
    assert asyncio.run(surface.allow(ask)) == answer
    assert written(surface.err) == "ls -la\nCareful: it shows everything\n"


def test_in_lines_a_choice_is_its_number_or_words(tmp_path: Path) -> None:
    surface = plain(tmp_path, typed=["2", "green", "9"])
    answers = [asyncio.run(surface.question("Which?", ("red", "blue"))) for _ in range(3)]
    assert answers == ["blue", "green", "9"]
    assert written(surface.err).startswith("Which?\n  1. red\n  2. blue\n")


def test_lines_are_worked_on_until_the_end_of_input(tmp_path: Path) -> None:
    surface = plain(
        tmp_path, [TextDelta("one"), TurnEnded("done")], typed=["first", "", "/window", "/nonsense", "second"]
    )
    assert asyncio.run(run_interactive(surface.begin, plain=surface)) == 0
    assert isinstance(surface.agent, FakeAgent)
    assert surface.agent.prompts == ["first", "second"] and surface.agent.closed
    assert "The window is 8,192 tokens." in written(surface.err) and "There is no command /nonsense" in written(
        surface.err
    )
    assert written(surface.out) == "one\nok\n"


def test_a_command_of_the_users_is_run_in_lines_too_and_told_with_the_next(tmp_path: Path) -> None:
    lines = plain(tmp_path, typed=["!echo one; exit 2", "why?", "and now?"])
    agent = lines.begin.agents[0]  # type: ignore[attr-defined]
    asyncio.run(run_interactive(lines.begin, plain=lines))
    assert "one\n[exit 2]" in written(lines.err)
    assert agent.prompts == ["I ran this myself:\n$ echo one; exit 2\none\n[exit 2]\n\nwhy?", "and now?"]


def test_quit_ends_the_lines_and_what_was_queued_is_worked_on(tmp_path: Path) -> None:
    agent = FakeAgent()

    async def queue(surface: Surface) -> None:
        agent.queue("more")

    agent.plays = [[TextDelta("one"), queue, TurnEnded("done")]]
    given = iter(["first", "/quit", "never"])
    read: Callable[[str], str] = lambda prompt: next(given)  # noqa: E731
    surface = PlainInterface(begins(tmp_path, agent), io.StringIO(), io.StringIO(), read_line=read)
    assert asyncio.run(run_interactive(surface.begin, plain=surface)) == 0
    assert agent.prompts == ["first", "more"] and next(given) == "never"


def test_ctrl_c_where_a_permission_is_asked_for_is_a_no_and_stops_the_step(tmp_path: Path) -> None:
    def interrupted(prompt: str) -> str:
        signal.raise_signal(signal.SIGINT)
        return "y"

    answers: list[str] = []

    async def asks(surface: Surface) -> None:
        answers.append(await surface.allow(PermissionRequest("run", "bash", "ls", "ls")))
        await asyncio.sleep(0)

    agent = FakeAgent([asks, TextDelta("ok"), TurnEnded("done")])
    surface = PlainInterface(begins(tmp_path, agent), io.StringIO(), io.StringIO(), read_line=interrupted)

    async def work() -> None:
        surface.agent = await surface.begin(surface)
        await surface.work("go")

    asyncio.run(work())
    assert answers == ["no"] and agent._stopped.is_set()


def test_what_is_said_at_the_end_comes_after_the_reply_also_where_a_pipe_reads(tmp_path: Path) -> None:
    surface = plain(tmp_path, [TextDelta("Fixed."), UserNotice("No file was changed.", "warning"), TurnEnded("done")])
    surface.err = surface.out
    assert asyncio.run(run_once(surface.begin, "go", plain=surface)) == 0
    assert written(surface.out) == "Fixed.\nNo file was changed.\n"
