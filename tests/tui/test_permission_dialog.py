"""A permission is given only by a key that was meant for it; no other key is lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, same_as_golden, seen, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.tui.app import YohakuApp
from yohaku.tui.conversation import NoteEntry
from yohaku.tui.dialogs import AnswerChoice, PermissionDialog
from yohaku.tui.prompt import PromptInput

DIFF = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
WRITE = PermissionRequest("write", "edit", "Edit a.py", DIFF, remember="edits in this project")
GRAVE = PermissionRequest(
    "run", "bash", "Run rm -rf build", "rm -rf build", danger="this deletes a folder and all in it"
)
QUIET = 0.2
NEVER = 60.0
"""Pauses without a key: one that comes soon, and one that does not come in a test."""


class Asked:
    """A screen with a permission dialog, and what came of it."""

    def __init__(self, folder: Path, request: PermissionRequest, *, quiet: float = QUIET, lang: str = "en") -> None:
        self.agent = FakeAgent()
        self.given: list[str] = []
        self.quiet = quiet

        async def asking(surface: Surface) -> None:
            self.given.append(await surface.allow(request))

        self.agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
        self.app = YohakuApp(begins(folder, self.agent, lang=lang), quiet=quiet)

    @property
    def prompt(self) -> PromptInput:
        return self.app.query_one(PromptInput)

    async def open(self, pilot: Pilot[int]) -> None:
        self.prompt.take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(self.app.dialog, PermissionDialog) and self.app.dialog.is_mounted)
        if self.quiet < NEVER:
            await self.pause(pilot)

    async def pause(self, pilot: Pilot[int]) -> None:
        await until(pilot, lambda: self.app.dialog and self.app.dialog.armed)

    async def settle(self, pilot: Pilot[int]) -> None:
        """Wait until no answer can come any more of the keys so far."""
        await asyncio.sleep(1.5 * QUIET)
        await pilot.pause()

    async def press(self, pilot: Pilot[int], *keys: str) -> None:
        """Press keys in a row, with no time between them."""
        for key in keys:
            letter = " " if key == "space" else key
            self.app.post_message(events.Key(key, letter if len(letter) == 1 else None))
        await pilot.pause()
        await pilot.pause()


def answers(
    tmp_path: Path, request: PermissionRequest, *keys: str, quiet: float = QUIET, golden: str = "", lang: str = "en"
) -> tuple[list[str], str]:
    """Return the answers given by these keys, with a pause at each "pause", and the text left in the prompt."""
    asked, left = Asked(tmp_path, request, quiet=quiet, lang=lang), []

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        assert request.title in seen(asked.app) and request.danger in seen(asked.app)
        if golden:
            same_as_golden(asked.app, golden)
        for at, part in enumerate(" ".join(keys).split("pause")):
            if at:
                await asked.settle(pilot)
            await asked.press(pilot, *part.split())
        await asked.settle(pilot)
        left.append(asked.prompt.text)

    run(asked.app, script)
    return asked.given, left[0]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], "once"),
        (["n"], "no"),
        (["escape"], "no"),
        (["y", "enter"], "once"),
        (["right", "enter"], "once"),
        (["tab", "enter"], "once"),
        (["right", "right", "enter"], "always"),
        (["tab", "tab", "enter"], "always"),
        (["left", "right", "right", "down", "enter"], "once"),
        (["down", "up", "enter"], "no"),
    ],
)
def test_after_a_pause_a_letter_answers_or_an_answer_is_selected(tmp_path: Path, keys: list[str], answer: str) -> None:
    assert answers(tmp_path, WRITE, *keys) == ([answer], "")


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (["enter"], ""),
        (["a"], "a"),
        (["a", "pause", "a"], "aa"),
        ([*"you"], "you"),
        ([*"what do you think"], "what do you think"),
        ([*"wait"], "wait"),
        ([*"wait", "pause", *"y"], "waity"),
        ([*"no, look at y"], "no, look at y"),
        ([*"yes", "backspace"], "ye"),
        (["right", *"abc"], "abc"),
        (["right", "x", "enter"], ""),
        (["right", "pause", "x", "y", "enter"], ""),
        ([*"はい、でも"], "はい、でも"),
    ],
)
def test_what_is_typed_answers_nothing_and_is_not_lost(tmp_path: Path, keys: list[str], left: str) -> None:
    typed = [{" ": "space"}.get(key, key) for key in keys]
    assert answers(tmp_path, WRITE, *typed) == ([], left)


def test_keys_before_the_pause_go_to_the_prompt(tmp_path: Path) -> None:
    assert answers(tmp_path, WRITE, *"yan", "right", "left", "tab", *"y", quiet=NEVER) == ([], "yany")


def test_a_key_that_was_pressed_before_the_pause_but_came_late_does_not_count(tmp_path: Path) -> None:
    asked = Asked(tmp_path, WRITE)

    async def script(pilot: Pilot[int]) -> None:
        before = events.Key("y", "y")
        await asked.open(pilot)
        asked.prompt.post_message(before)
        await asked.settle(pilot)
        assert asked.prompt.text == "y"

    run(asked.app, script)
    assert asked.given == []


def test_escape_refuses_also_while_typing_but_stops_the_step_where_the_question_was_just_opened(tmp_path: Path) -> None:
    assert answers(tmp_path, WRITE, *"wait", "escape") == (["no"], "wait")
    asked = Asked(tmp_path, WRITE, quiet=NEVER)
    stopped: list[bool] = []
    asked.agent.stop = lambda: stopped.append(True)  # type: ignore[method-assign]

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await asked.press(pilot, "escape")
        assert stopped == [True] and asked.given == []

    run(asked.app, script)


def test_the_hint_names_the_keys_that_answer_now(tmp_path: Path) -> None:
    asked = Asked(tmp_path, WRITE)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        assert "y or n" in seen(asked.app) and "▸" not in seen(asked.app)
        await asked.press(pilot, "w")
        assert "pause a moment" in seen(asked.app)
        await asked.pause(pilot)
        assert "Tab goes to the answers" in seen(asked.app)
        await asked.press(pilot, "tab")
        assert "↑ ↓ and Enter" in seen(asked.app) and "▸ Yes, once (y)" in seen(asked.app)
        await asked.press(pilot, "escape")

    run(asked.app, script)


def test_a_line_sent_meanwhile_waits_and_answers_nothing(tmp_path: Path) -> None:
    asked = Asked(tmp_path, WRITE)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await asked.press(pilot, *"now", "space", *"test", "enter")
        await asked.settle(pilot)
        assert asked.agent.queued == ("now test",) and asked.given == []
        await asked.press(pilot, *"/help", "enter")
        await asked.settle(pilot)
        await asked.press(pilot, "enter")
        await asked.settle(pilot)
        assert asked.given == [] and any("/compact" in str(note.render()) for note in asked.app.query(NoteEntry))

    run(asked.app, script)


def test_yes_or_no_that_was_typed_too_early_counts_with_enter(tmp_path: Path) -> None:
    asked = Asked(tmp_path, WRITE)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await asked.press(pilot, *"yes")
        await asked.pause(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: asked.given)
        assert asked.prompt.text == "" and asked.agent.queued == ()

    run(asked.app, script)
    assert asked.given == ["once"]


@pytest.mark.parametrize(
    ("keys", "given", "left"),
    [
        (["y"], [], "y"),
        (["y", "pause", "enter"], [], ""),
        (["enter"], [], ""),
        (["tab", "enter"], ["no"], ""),
        (["right", "enter"], ["no"], ""),
        (["right", "left", "enter"], ["once"], ""),
        (["n"], ["no"], ""),
        (["escape"], ["no"], ""),
    ],
)
def test_something_dangerous_must_be_selected_and_confirmed(
    tmp_path: Path, keys: list[str], given: list[str], left: str
) -> None:
    assert answers(tmp_path, GRAVE, *keys) == (given, left)


def test_what_cannot_be_remembered_has_no_always(tmp_path: Path) -> None:
    asked = Asked(tmp_path, GRAVE)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        assert len(asked.app.query(AnswerChoice)) == 2
        await pilot.press("escape")

    run(asked.app, script)


@pytest.mark.parametrize(
    ("request_", "clicks", "given"),
    [(WRITE, [0], ["once"]), (WRITE, [1], []), (WRITE, [1, 1], ["always"]), (GRAVE, [0], []), (GRAVE, [0, 0], ["once"]),
     (GRAVE, [1], ["no"])],
)  # fmt: skip
def test_a_click_answers_and_what_must_be_confirmed_takes_two(
    tmp_path: Path, request_: PermissionRequest, clicks: list[int], given: list[str]
) -> None:
    asked = Asked(tmp_path, request_)

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        for index in clicks:
            await pilot.click(list(asked.app.query(AnswerChoice))[index])
        await asked.settle(pilot)
        assert asked.app.focused is asked.prompt

    run(asked.app, script)
    assert asked.given == given


def test_tab_never_leaves_the_prompt_and_a_click_elsewhere_loses_no_key(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press("a", "tab", "b", "shift+tab", "c")
        await pilot.click("#flow")
        await pilot.press("d")
        await pilot.click("#status")
        await pilot.press("e", "tab", "tab", "f")
        assert prompt.text == "abcdef"

    run(app, script)


def test_ctrl_c_stops_everything_and_gives_back_what_waits(tmp_path: Path) -> None:
    asked = Asked(tmp_path, WRITE)
    stopped: list[bool] = []
    asked.agent.stop = lambda: stopped.append(True)  # type: ignore[method-assign]

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        for text in ("first", "/undo", "second"):
            asked.prompt.take(text)
            await pilot.press("escape") if text.startswith("/") and asked.prompt.choosing else None
            asked.prompt._send()
            await pilot.pause()
        await asked.press(pilot, *"third")
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert stopped == [True]
        assert asked.agent.queued == () and asked.prompt.text == "first\nsecond\n/undo\nthird"
        assert "waits" not in seen(asked.app)

    run(asked.app, script)


def test_a_diff_and_a_danger_are_seen(tmp_path: Path) -> None:
    assert answers(tmp_path, WRITE, "n", golden="allow_write")[0] == ["no"]
    assert answers(tmp_path, GRAVE, "n", golden="allow_danger", lang="ja")[0] == ["no"]


def test_a_command_is_shown_as_letters_only() -> None:
    shown = PermissionDialog(
        PermissionRequest("run", "bash", "Run it", "echo [bold]x\x1b[8m; rm -rf ~\u202e"), "en"
    )._detail()
    assert shown.plain == "echo [bold]x; rm -rf ~"


@pytest.mark.parametrize("size", [(50, 24), (80, 24), (100, 30), (50, 20), (60, 15)])
def test_the_answers_are_in_sight_however_small_the_terminal_and_long_the_command(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    command = "rm -rf build && echo " + "あいう " * 200
    asked = Asked(
        tmp_path,
        PermissionRequest(
            "run", "bash", command[:99] + "…", command, remember="commands that begin with `rm`", danger="危険。" * 9
        ),
        lang="ja",
    )

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        page = seen(asked.app)
        assert all(answer in page for answer in ("今回だけ許可", "常に許可", "許可しない (n)", "Enter"))
        assert asked.prompt.region.bottom <= size[1]
        await pilot.press("n")

    run(asked.app, script, size)


def long_change(changed: int) -> str:
    before = [f" context {number}" for number in range(3)]
    old = [f"-old line {number} of what stood there before it was changed by an edit" for number in range(changed)]
    new = [f"+new line {number} of what stands there now" for number in range(changed)]
    return "\n".join(
        ["--- a.py", "+++ a.py", "@@ -1,20 +1,20 @@", *before, *old, *new, *before, "@@ -40 +40 @@", "-x", "+y"]
    )


@pytest.mark.parametrize(("changed", "lost"), [(3, ""), (5, ""), (4, "Lost for good: a.db, too big to be kept.")])
def test_a_diff_shows_its_first_change_whole_in_a_small_terminal(tmp_path: Path, changed: int, lost: str) -> None:
    asked = Asked(tmp_path, replace(WRITE, detail=long_change(changed), lost=lost))

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.pause()
        page = seen(asked.app)
        shown = [f"-old line {number} " in page and f"+new line {number} " in page for number in range(changed)]
        assert all(shown), page
        assert "Yes, once" in page and "No (n)" in page

    run(asked.app, script, (80, 24))


def test_a_change_too_long_for_the_screen_is_shown_from_its_first_line(tmp_path: Path) -> None:
    asked = Asked(tmp_path, replace(WRITE, detail=long_change(40)))

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await pilot.pause()
        page = seen(asked.app)
        assert "-old line 0 " in page and "-old line 7 " in page and "context 0" not in page
        await pilot.press("pagedown")
        await until(pilot, lambda: "-old line 16 " in seen(asked.app))

    run(asked.app, script, (80, 24))


def test_the_hint_tells_how_to_see_the_rest_of_a_long_diff_until_it_was_seen(tmp_path: Path) -> None:
    asked = Asked(tmp_path, replace(WRITE, detail=long_change(40)))

    async def script(pilot: Pilot[int]) -> None:
        await asked.open(pilot)
        await until(pilot, lambda: "Page Down: the rest" in seen(asked.app))
        for _ in range(20):
            await pilot.press("pagedown")
        await until(pilot, lambda: "Page Down: the rest" not in seen(asked.app))
        await pilot.press("escape")

    run(asked.app, script, (80, 24))
