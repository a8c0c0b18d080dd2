from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import PromptInput


def test_shift_tab_switches_between_asking_and_planning_and_never_to_yolo(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("half a sentence")
        seen_modes = []
        for _ in range(4):
            await pilot.press("shift+tab")
            await pilot.pause()
            seen_modes.append(agent.mode)
        assert seen_modes == ["plan", "ask", "plan", "ask"]
        assert app.focused is app.query_one(PromptInput) and app.query_one(PromptInput).text == "half a sentence"
        assert "Plan mode: it reads and plans" in seen(app)

    run(app, script)


def test_mode_is_changed_by_name_and_kept_by_a_new_conversation(tmp_path: Path) -> None:
    one, two = FakeAgent(), FakeAgent()
    app = YohakuApp(begins(tmp_path, one, two))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "/mode yolo")
        assert one.mode == "yolo"
        await send(pilot, "/mode nonsense")
        assert "A mode is ask, plan or yolo" in seen(app) and one.mode == "yolo"
        await send(pilot, "/clear")
        assert app.agent is two and two.mode == "yolo"
        await pilot.press("shift+tab")
        await pilot.pause()
        assert two.mode == "ask"

    run(app, script)
