from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins, called, calling
from tests.tui.seen import run, seen
from yohaku.agent.events import ToolOutput
from yohaku.agent.model_texts import REFUSED
from yohaku.core.originals import OutputRef
from yohaku.tui.app import YohakuApp
from yohaku.tui.conversation import ConversationView
from yohaku.tui.tool_line import MAX_OUTPUT_CHARS, ToolLine

LOG = "\n".join(f"line {number}" for number in range(1, 301))


def test_the_end_of_the_output_is_live_and_the_whole_is_one_line_that_opens(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        await flow.calling(calling("bash", "Run make"))
        flow.output(ToolOutput("1", LOG))
        await pilot.pause()
        assert "• Run make" in seen(app) and "line 300" in seen(app) and "line 295" not in seen(app)
        await flow.called(called("bash", LOG, "Run make"))
        await pilot.pause()
        assert "✓ Run make  ▸ 300 lines" in seen(app) and "line 300" not in seen(app)
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "… 100 more lines" in seen(app) and "line 200" in seen(app)
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "line 200" not in seen(app)

    run(app, script)


def test_a_failure_shows_its_last_line(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        await app.query_one(ConversationView).called(called("bash", "long\nNameError: x", "Run it", error=True))
        await pilot.pause()
        assert "✗ Run it  ▸ failed" in seen(app) and "NameError: x" in seen(app) and "long" not in seen(app)

    run(app, script)


def test_what_is_kept_of_an_output_is_bounded(tmp_path: Path) -> None:
    line = ToolLine(calling("bash", "Run yes"), "en")
    for _ in range(50):
        line.hear("y\n" * 10_000)
    assert len(line.output) == MAX_OUTPUT_CHARS


def test_what_a_failed_edit_told_the_model_is_shown_only_when_it_is_opened(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        await flow.called(called("edit", "old_string is not in a.py. Read it again.", "Edit a.py", error=True))
        await pilot.pause()
        assert "✗ Edit a.py  ▸ failed" in seen(app) and "old_string" not in seen(app)
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "old_string is not in a.py." in seen(app)

    run(app, script)


def test_what_was_refused_is_told_in_the_users_words(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        await app.query_one(ConversationView).called(called("bash", REFUSED, "$ rm x", error=True))
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert "Not allowed." in seen(app) and "Do not try it" not in seen(app)

    run(app, script)


def test_a_part_of_a_long_output_says_how_much_there_is(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        part = "\n".join(f"line {number}" for number in range(363))
        ref = OutputRef("abcdefgh2345", 1_000_000, 100_000)
        await flow.called(replace(called("bash", part, "Run yes"), output=ref))
        await flow.called(replace(called("bash", "one", "Run echo", call="2"), output=OutputRef("b", 4, 1)))
        await pilot.pause()
        assert "✓ Run yes  ▸ 363 of 100,000 lines" in seen(app) and "✓ Run echo  ▸ 1 line" in seen(app)

    run(app, script)
