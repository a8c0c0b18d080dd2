"""The real tools at their bench: asked for, allowed or not, seen on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.agent.scripted import agent, calls, ended, play, says, sent
from yohaku.agent.events import ToolFinished, ToolOutput
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.agent.tools import tools_for

SMALL = tools_for("small")


class User:
    """Answers every question the same way."""

    def __init__(self, answer: Literal["once", "always", "no"]) -> None:
        self.answer = answer
        self.asked: list[PermissionRequest] = []

    async def __call__(self, ask: PermissionRequest) -> Literal["once", "always", "no"]:
        self.asked.append(ask)
        return self.answer


def test_a_bug_is_found_fixed_and_checked(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("PORT = 8080\nprint(PORT)\n")
    user = User("once")
    one = agent(
        tmp_path,
        says("", calls("grep", 1, pattern="PORT")),
        says("", calls("read", 2, path="app.py")),
        says("", calls("edit", 3, path="app.py", old_string="8080", new_string="9090")),
        says("", calls("bash", 4, command="cat app.py")),
        says("The port is 9090 now."),
        tools=SMALL,
        allow=user,
    )
    events = play(one, "Make the port 9090.")
    assert ended(events).text == "The port is 9090 now."
    assert (tmp_path / "app.py").read_text() == "PORT = 9090\nprint(PORT)\n"
    assert [ask.tool for ask in user.asked] == ["edit", "bash"]
    called = {event.call.name: event for event in events if isinstance(event, ToolFinished)}
    assert "+PORT = 9090" in called["edit"].diff and not called["edit"].result.error
    assert "PORT = 9090" in called["bash"].result.text
    assert "PORT = 9090" in "".join(event.text for event in events if isinstance(event, ToolOutput))
    assert not any("changed on disk" in str(body) for body in sent(one)), "what it changed itself is no news to it"


@pytest.mark.parametrize("mode", ["ask", "read-only"])
def test_what_is_not_allowed_is_not_done_and_the_model_is_told(
    tmp_path: Path, mode: Literal["ask", "read-only"]
) -> None:
    one = agent(
        tmp_path,
        says("", calls("write", 1, path="new.txt", content="x")),
        says("Then not."),
        tools=SMALL,
        allow=User("no"),
        permissions=Permissions(mode),
    )
    events = play(one, "Write it.")
    assert ended(events).why == "done" and not (tmp_path / "new.txt").exists()
    (called,) = [event for event in events if isinstance(event, ToolFinished)]
    assert called.result.error


def test_a_command_that_is_stopped_is_ended_with_all_it_started(tmp_path: Path) -> None:
    one = agent(
        tmp_path,
        says("", calls("bash", 1, command="echo begun; sleep 600 & sleep 600; touch never")),
        tools=SMALL,
        permissions=Permissions("yolo"),
    )
    events = play(one, "Go.", on=lambda event: one.stop() if isinstance(event, ToolOutput) else None)
    assert ended(events).why == "stopped" and not (tmp_path / "never").exists()
