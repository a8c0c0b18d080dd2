from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.fake import CALM, Begins, FakeAgent, begins, called, calling
from tests.tui.seen import run, send, until
from yohaku.agent.events import ConversationFolded, ReadingProgress, SearchProgress, TextDelta, TurnEnded
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import PromptInput


def test_the_status_line_says_how_far_the_model_has_read(tmp_path: Path) -> None:
    told: list[str] = []

    async def look(surface: Any) -> None:
        told.append(str(surface.query_one("#status", Static).render()))

    play = [ReadingProgress(1_200, 3_700, 20.0), look, TextDelta("Yes."), look, TurnEnded("done", "Yes.")]

    async def go() -> None:
        app = YohakuApp(begins(tmp_path, FakeAgent(play)), first="go")
        async with app.run_test(size=(100, 30)) as pilot:
            for _ in range(50):
                await pilot.pause(0.02)
                if len(told) == 2:
                    break

    asyncio.run(go())
    assert told[0].startswith("reading 1,2") and "of 3,700 tokens, 20/s, about 2 min" in told[0]


def status(app: Any) -> str:
    return str(app.query_one("#status", Static).render())


def test_the_status_line_says_that_a_model_sums_up_and_no_longer_once_that_is_done(tmp_path: Path) -> None:
    told: list[str] = []

    async def look(surface: Any) -> None:
        surface._tick()
        told.append(status(surface))

    reading = ReadingProgress(0, 3_700, 20.0, estimated=True, summing_up=True)
    play = [reading, look, CALM, look, TextDelta("Yes."), TurnEnded("done", "Yes.")]
    app = YohakuApp(begins(tmp_path, FakeAgent(play)))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")

    run(app, script, (120, 30))
    assert told[0].startswith("summing up older steps: reading, by earlier speed 0 of 3,700 tokens, 20/s, about 3 min")
    assert told[1].startswith("working … ")


def test_a_search_tells_on_its_line_how_many_files_it_has_looked_at(tmp_path: Path) -> None:
    shown: list[str] = []

    async def look(surface: Any) -> None:
        await asyncio.sleep(0.05)
        shown.append(str(surface.query_one("ToolLine .line", Static).render()))

    start, end = calling("grep", "Search port"), called("grep", "a.py:1: port", "Search port")
    listed, searched = SearchProgress("1", 41_200), SearchProgress("1", 1_530, 99_000)
    play = [start, listed, look, searched, look, end, look, TurnEnded("done")]
    app = YohakuApp(begins(tmp_path, FakeAgent(play)))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")

    run(app, script)
    assert shown[:2] == ["• Search port  41,200 files so far", "• Search port  1,530 of 99,000 files"]
    assert shown[2:] == ["✓ Search port  ▸ 1 line"]


def test_a_command_that_takes_long_shows_the_seconds_and_can_be_stopped(tmp_path: Path) -> None:
    class Slow(FakeAgent):
        async def compact(self, words: str = "") -> ConversationFolded | None:
            await asyncio.Event().wait()
            return None

    app = YohakuApp(begins(tmp_path, Slow()))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("/compact")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: app._commands)
        app._began -= 5
        app._tick()
        assert status(app).startswith("working … 5 s · Ctrl-C stops")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.workers_busy("command"))
        assert "working" not in status(app)

    run(app, script)


def test_the_search_for_a_model_and_its_loading_count_their_seconds(tmp_path: Path) -> None:
    gate = asyncio.Event()

    class Waits(Begins):
        async def __call__(self, *given: Any, **more: Any) -> Any:
            await gate.wait()
            return await super().__call__(*given, **more)

    found = begins(tmp_path)
    app = YohakuApp(Waits(found.agents, found.settings))

    async def script() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.workers_busy("begin"))
            assert status(app) == "Looking for a model …"
            wait(app, 7)
            assert status(app) == "Looking for a model … · 7 s · Ctrl-C stops"
            app.progress("qwen", 2**20, 2**22)
            wait(app, 3)
            assert status(app) == f"qwen  {'█' * 5}{'░' * 15} 1 / 4 MB (25%) · 3 s · Ctrl-C stops"
            app.progress("qwen", 2**21, 2**22)
            assert "2 / 4 MB (50%) · 3 s" in status(app)
            await pilot.press("ctrl+c")
            await until(pilot, lambda: not app.workers_busy("begin"))
            app.progress("", 0, 0)  # the download says that it has ended
            app._tick()
            assert status(app).startswith("No model yet.")

    asyncio.run(script())


def wait(app: YohakuApp, seconds: int) -> None:
    what, text, since = app._awaited
    app._awaited = (what, text, since - seconds)
    app._tick()
