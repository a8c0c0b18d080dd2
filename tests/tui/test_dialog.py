from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.agent.protocols import Surface
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import Dialog
from yohaku.tui.prompt import PromptInput


def test_what_is_asked_about_stays_in_sight_and_the_room_is_given_back(tmp_path: Path) -> None:
    agent = FakeAgent()

    async def asking(surface: Surface) -> None:
        await surface.question("Shall I?", ("yes", "no"))

    agent.plays = [[TextDelta("I would delete it."), TurnEnded("done")], [asking, TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent), quiet=0.01)

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        for text in ("one", "two"):
            prompt.take(text)
            await pilot.press("enter")
            await until(pilot, lambda: (agent.prompts and not app._working) or isinstance(app.dialog, Dialog))
        await until(pilot, lambda: isinstance(app.dialog, Dialog) and app.dialog.armed)
        page = seen(app)
        assert page.index("I would delete it.") < page.index("❯ two") < page.index("Shall I?")
        await pilot.press("escape")
        await until(pilot, lambda: app.dialog is None and "Shall I?" not in seen(app))
        assert prompt.region.bottom == app.size.height - 1

    run(app, script)
