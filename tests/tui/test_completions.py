from __future__ import annotations

from pathlib import Path

from textual import events
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, same_as_golden, seen, until
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import CompletionList, PromptInput


def test_a_slash_opens_the_list_and_tab_takes_what_is_chosen(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press(*"/c")
        assert "where the tokens are: biggest items" in seen(app)
        same_as_golden(app, "choices")
        await pilot.press("down", "tab")
        assert prompt.text == "/compress " and not app.query_one(CompletionList).display
        await pilot.press(*"the log", "enter")
        await until(pilot, lambda: agent.words)
        assert agent.words == ["the log"]

    run(app, script)


def test_enter_takes_a_half_written_name_and_sends_a_whole_one(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press(*"/he", "enter")
        assert app.query_one(PromptInput).text == "/help"
        await pilot.press("enter")
        await until(pilot, lambda: "this list" in seen(app))
        await pilot.press(*"/co", "escape")
        assert not app.query_one(CompletionList).display and app.query_one(PromptInput).text == "/co"

    run(app, script)


def test_a_name_typed_faster_than_the_list_can_follow_is_sent(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press(*"/hel")
        for key, letter in (("p", "p"), ("enter", "\r")):
            prompt.post_message(events.Key(key, letter))
        await until(pilot, lambda: "this list" in seen(app))
        assert prompt.text == ""

    run(app, script)


def test_keys_for_a_list_that_closed_meanwhile_lose_nothing(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press(*"hello")
        for key in ("tab", "up", "down"):
            prompt.post_message(PromptInput.Asked(key))
        await pilot.pause()
        assert prompt.text == "hello"

    run(app, script)
