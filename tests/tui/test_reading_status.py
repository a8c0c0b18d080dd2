from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.widgets import Static

from tests.tui.fake import FakeAgent, begins
from yohaku.agent.events import ReadingProgress, TextDelta, TurnEnded
from yohaku.tui.app import YohakuApp


def test_the_status_line_says_how_far_the_model_has_read(tmp_path: Path) -> None:
    seen: list[str] = []

    async def look(surface: Any) -> None:
        seen.append(str(surface.query_one("#status", Static).render()))

    play = [ReadingProgress(1_200, 3_700, 20.0), look, TextDelta("Yes."), look, TurnEnded("done", "Yes.")]

    async def go() -> None:
        app = YohakuApp(begins(tmp_path, FakeAgent(play)), first="go")
        async with app.run_test(size=(100, 30)) as pilot:
            for _ in range(50):
                await pilot.pause(0.02)
                if len(seen) == 2:
                    break

    asyncio.run(go())
    assert seen[0].startswith("reading 1,2") and "of 3,700 tokens, 20/s, about 2 min" in seen[0]
