from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.agent.protocols import Surface
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import QuestionDialog
from yohaku.tui.prompt import PromptInput

COLOURS = ("red", "blue")


class Questioned:
    def __init__(self, folder: Path, choices: tuple[str, ...], *, own_words: bool = True, quiet: float = 0.01) -> None:
        self.agent = FakeAgent()
        self.given: list[str] = []
        self.quiet = quiet

        async def asking(surface: Surface) -> None:
            self.given.append(await surface.question("Which colour?", choices, own_words=own_words))

        self.agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
        self.app = YohakuApp(begins(folder, self.agent), quiet=quiet)

    async def open(self, pilot: Pilot[int]) -> None:
        self.app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(self.app.dialog, QuestionDialog) and "Which colour?" in seen(self.app))
        if self.quiet < 1:
            await until(pilot, lambda: self.app.dialog and self.app.dialog.armed)


@pytest.mark.parametrize(
    ("choices", "keys", "answer"),
    [
        (COLOURS, ["down", "enter"], "red"),
        (COLOURS, ["down", "down", "enter"], "blue"),
        (COLOURS, ["up", "enter"], "blue"),
        (COLOURS, ["tab", "enter"], "red"),
        (COLOURS, [*"green", "enter"], "green"),
        (COLOURS, ["2", "enter"], "blue"),
        (COLOURS, ["escape"], ""),
        ((), [*"my", "space", *"name", "enter"], "my name"),
    ],
)
def test_an_answer_is_chosen_or_written(tmp_path: Path, choices: tuple[str, ...], keys: list[str], answer: str) -> None:
    asked = Questioned(tmp_path, choices)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: asked.given)
        assert asked.app.query_one(PromptInput).text == ""

    run(asked.app, script)
    assert asked.given == [answer]
    assert asked.agent.queued == ()


def test_enter_alone_chooses_nothing(tmp_path: Path) -> None:
    asked = Questioned(tmp_path, COLOURS)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.press("enter", "enter")
        assert asked.given == [] and isinstance(asked.app.dialog, QuestionDialog)

    run(asked.app, script)


def test_what_is_typed_before_the_pause_is_a_prompt_and_no_answer(tmp_path: Path) -> None:
    asked = Questioned(tmp_path, COLOURS, quiet=60)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.press("down", "enter", *"red", "enter", *"bl")
        assert asked.given == [] and asked.agent.queued == ("red",)
        assert asked.app.query_one(PromptInput).text == "bl"

    run(asked.app, script)


def test_a_question_with_fixed_answers_takes_no_words(tmp_path: Path) -> None:
    asked = Questioned(tmp_path, COLOURS, own_words=False)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        for key in (*"do it", "enter"):
            asked.app.post_message(events.Key({" ": "space"}.get(key, key), key if len(key) == 1 else None))
        await until(pilot, lambda: asked.agent.queued)
        assert asked.given == [] and asked.agent.queued == ("do it",)

    run(asked.app, script)


def test_a_command_is_run_and_no_answer(tmp_path: Path) -> None:
    asked = Questioned(tmp_path, COLOURS)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.press(*"/help", "enter")
        await pilot.press("enter")
        assert asked.given == [] and isinstance(asked.app.dialog, QuestionDialog)

    run(asked.app, script)


def test_a_download_is_not_begun_by_a_line_typed_at_the_start(tmp_path: Path) -> None:
    """Nobody has seen the question yet: what is typed waits for the model."""
    answers: list[str] = []

    class Downloads:
        def __init__(self) -> None:
            self.settings = begins(tmp_path).settings

        async def __call__(self, surface: Surface, **given: object) -> None:
            answers.append(await surface.question("Download 1.1 GB?", ("yes", "no"), own_words=False))

        async def models(self, name: str = "") -> list[object]:
            return []

    app = YohakuApp(Downloads(), quiet=0.2)  # type: ignore[arg-type]

    async def script(pilot: Pilot[int]) -> None:
        for key in (*"fix", "enter", *"/help", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.dialog, QuestionDialog) and app.dialog.armed)
        assert answers == []
        await pilot.press("ctrl+c")
        assert "fix" in app.query_one(PromptInput).text

    async def play() -> None:
        async with app.run_test() as pilot:
            await script(pilot)

    import asyncio

    asyncio.run(play())
    assert answers == []
