from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.tui.app import YohakuApp
from yohaku.tui.conversation import MAX_ENTRIES, MAX_RESUMED_TURNS, ConversationView


def test_the_page_is_bounded_and_says_what_is_gone(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        total = 3 * MAX_ENTRIES
        for number in range(total):
            await flow.note(f"note {number}")
        await pilot.pause()
        assert len(flow.children) <= MAX_ENTRIES + MAX_ENTRIES // 10 + 1
        assert flow.gone + len(flow.children) - 1 == total + 1  # with what it says at the beginning
        assert f"note {total - 1}" in seen(app)
        flow.scroll_home(animate=False)
        await pilot.pause()
        assert f"… {flow.gone:,} earlier entries are not shown" in seen(app)

    run(app, script)


def test_a_conversation_taken_up_again_is_shown_by_its_end(tmp_path: Path) -> None:
    use = ToolUse(Call("1", "bash", '{"command": "ls"}'), Result((Text("a.py"),)))
    turns = [
        Turn((Text(f"task {n}"),), (Step((Text(f"**answer** {n}"), use)), Step((Text("end"),)))) for n in range(15)
    ]
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        await flow.show(history_of(turns))
        await pilot.pause()
        assert "❯ task 14" in seen(app) and "answer 14" in seen(app) and "✓ $ ls  ▸ 1 line" in seen(app)
        flow.scroll_home(animate=False)
        await pilot.pause()
        assert f"… {15 - MAX_RESUMED_TURNS} earlier entries" in seen(app) and "❯ task 5" in seen(app)

    run(app, script)
