from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.agent.protocols import Surface
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import QuestionDialog
from yohaku.tui.prompt import PromptInput


@pytest.mark.parametrize(
    ("choices", "keys", "answer"),
    [
        (("red", "blue"), ["down", "enter"], "blue"),
        (("red", "blue"), ["tab", *"green", "enter"], "green"),
        (("red", "blue"), ["escape"], ""),
        ((), [*"my name", "enter"], "my name"),
    ],
)
def test_an_answer_is_chosen_or_written(tmp_path: Path, choices: tuple[str, ...], keys: list[str], answer: str) -> None:
    agent, given = FakeAgent(), []

    async def asking(surface: Surface) -> None:
        given.append(await surface.question("Which colour?", choices))

    agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        assert "Which colour?" in seen(app)
        await pilot.press(*keys)
        await until(pilot, lambda: given)

    run(app, script)
    assert given == [answer]
