"""Keys of the line to type in."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send, until
from yohaku.tui.app import YohakuApp
from yohaku.tui.conversation import NoteEntry
from yohaku.tui.prompt import PromptInput


def test_enter_sends_and_other_enters_begin_a_line(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("a", "ctrl+j", "b", "alt+enter", "c", "shift+enter", "d", "enter")
        await until(pilot, lambda: agent.prompts)
        assert agent.prompts == ["a\nb\nc\nd"]
        assert app.query_one(PromptInput).text == ""
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
        assert app.query_one(PromptInput).text == "日本語\n二行目\n" and agent.prompts == []
        assert "日本語" in seen(app)

    run(app, script)


def test_arrows_bring_back_what_was_typed_and_the_draft_after_it(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
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
        assert again.query_one(PromptInput).text == "two\nlines"

    run(again, another_day)


LOG = "2026-01-01 request took 17 ms\n" * 330_000
LABEL = "[pasted 9.4 MB, 330,000 lines]"


def test_a_big_paste_is_a_label_and_sent_whole(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press(*"Why ")
        app.post_message(events.Paste(LOG.replace("\n", "\r")))
        await pilot.pause()
        await pilot.press(*" so")
        assert prompt.text == f"Why {LABEL} so" and LABEL in seen(app)
        await pilot.press("enter")
        await until(pilot, lambda: agent.prompts)
        assert agent.prompts == [f"Why {LOG} so"]
        assert "lines in all; /export writes all of it" in seen(app)
        await pilot.press("up")
        assert prompt.text == f"Why {LABEL} so"

    run(app, script)
    again = YohakuApp(begins(tmp_path, agent))

    async def another_day(pilot: Pilot[int]) -> None:
        await pilot.press("up")
        assert again.query_one(PromptInput).text == "[pasted 9.4 MB, 330,001 lines]"
        await pilot.press("enter")
        await until(pilot, lambda: len(agent.prompts) == 2)
        assert agent.prompts[1] == f"Why {LOG} so"

    run(again, another_day)


@pytest.mark.parametrize("keys", [["backspace"], ["home", "delete"], ["left", "x"], ["ctrl+u"], ["shift+home", "x"]])
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_label_that_vanishes_is_told_and_comes_back_by_undo(tmp_path: Path, keys: list[str], lang: str) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent, lang=lang))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        app.post_message(events.Paste(LOG))
        await pilot.pause()
        label = prompt.text
        await pilot.press(*keys)
        await until(pilot, lambda: app.query(NoteEntry).last().has_class("-warning"))
        assert label not in prompt.text and not app._notifications
        told = str(app.query(NoteEntry).last().render())
        assert told.startswith(f"! {label}") and "Ctrl-Z" in told
        await pilot.press("ctrl+z")
        assert prompt.text == label
        await pilot.press("enter")
        await until(pilot, lambda: agent.prompts)
        assert agent.prompts == [LOG.strip()]

    run(app, script, toasts=True)


def test_a_label_goes_as_one_letter_and_its_neighbours_stay(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press("a")
        app.post_message(events.Paste(LOG))
        await pilot.pause()
        await pilot.press("b", "backspace")
        assert prompt.text == f"a{LABEL}"
        await pilot.press("backspace")
        assert prompt.text == "a"

    run(app, script)


def test_a_draft_with_a_big_paste_is_there_after_looking_at_something_older(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await send(pilot, "one")
        app.post_message(events.Paste(LOG))
        await pilot.pause()
        await pilot.press("up")
        assert prompt.text == "one"
        await pilot.press("down")
        assert prompt.text == LABEL and prompt.pasted.whole(prompt.text) == LOG
        await pilot.pause()
        assert not app._notifications

    run(app, script, toasts=True)
