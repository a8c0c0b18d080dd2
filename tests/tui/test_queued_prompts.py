from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import QueuedPrompts


def test_a_few_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        waiting = app.query_one(QueuedPrompts)
        assert not waiting.display
        waiting.show(("one\nand more", "two", "three", "four", "five"))
        await pilot.pause()
        page = seen(app)
        assert "waits: one and more" in page and "waits: three" in page and "four" not in page and "… +2" in page
        waiting.show(())
        assert not waiting.display

    run(app, script)
