from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import CALM, FakeAgent, begins
from tests.tui.seen import run, seen
from yohaku.tui.app import YohakuApp
from yohaku.tui.panel import GaugeLine


def test_the_line_follows_the_gauge_and_its_level(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        line = app.query_one(GaugeLine)
        assert line.display and line.has_class("-calm")
        line.show(replace(CALM, used=8000))
        await pilot.pause()
        assert line.has_class("-full") and not line.has_class("-calm")
        assert "8K / 8K (98%) !!!" in seen(app)
        assert max(len(row) for row in seen(app).split("\n")) <= 60

    run(app, script, (60, 16))
