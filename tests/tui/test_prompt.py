"""Keys of the line to type in."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send, until
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import Prompt


def test_enter_sends_and_other_enters_begin_a_line(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("a", "ctrl+j", "b", "alt+enter", "c", "shift+enter", "d", "enter")
        await until(pilot, lambda: agent.prompts)
        assert agent.prompts == ["a\nb\nc\nd"]
        assert app.query_one(Prompt).text == ""
        await pilot.press("enter", "space", "enter")
        assert agent.prompts == ["a\nb\nc\nd"]

    run(app, script)


def test_alt_enter_of_a_terminal_is_a_new_line() -> None:
    keys = [event.key for event in XTermParser().feed("a\x1b\rb\r") if isinstance(event, events.Key)]
    assert keys == ["a", "ctrl+j", "b", "enter"]


def test_a_paste_of_many_lines_is_not_sent(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        app.post_message(events.Paste("日本語\n二行目\n"))
        await pilot.pause()
        assert app.query_one(Prompt).text == "日本語\n二行目\n" and agent.prompts == []
        assert "日本語" in seen(app)

    run(app, script)


def test_arrows_bring_back_what_was_typed_and_the_draft_after_it(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(Prompt)
        await send(pilot, "one")
        await send(pilot, "two\nlines")
        await pilot.press(*"dra", "up")
        assert prompt.text == "two\nlines"
        await pilot.press("up", "up")  # over the lines of it, then to the one before
        assert prompt.text == "one"
        await pilot.press("up", "up")
        assert prompt.text == "one"
        await pilot.press("down", "down", "down")
        assert prompt.text == "dra"

    run(app, script)
    assert (tmp_path / "typed.jsonl").stat().st_mode & 0o777 == 0o600
    again = YohakuApp(begins(tmp_path, FakeAgent()))

    async def another_day(pilot: Pilot[int]) -> None:
        await pilot.press("up")
        assert again.query_one(Prompt).text == "two\nlines"

    run(again, another_day)
