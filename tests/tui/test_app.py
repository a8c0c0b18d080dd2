"""The whole screen, played: what is typed is worked on, shown, queued, stopped, folded; and its pictures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.fake import CALM, SERVED, FakeAgent, begins, called, calling, folded
from tests.tui.seen import SLIM, WIDE, run, same_as_golden, seen, send, until
from yohaku.agent.events import (
    ConversationFolded,
    FoldsReused,
    ReplyDiscarded,
    TextDelta,
    ThoughtDelta,
    ToolOutput,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import PromptInput

DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n"
WORK = [
    ThoughtDelta("The value is in a.py."),
    TextDelta("The value is **1**.\n\n```python\nx = 1\n```\n"),
    calling("bash", "Run pytest -q"),
    ToolOutput("1", "collected 3 items\n"),
    called("bash", "collected 3 items\n3 passed", "Run pytest -q"),
    calling("edit", "Edit a.py", "2"),
    called("edit", "done", "Edit a.py", diff=DIFF, call="2"),
    UserNotice("a.py was changed by another program; it is read again.", "warning"),
    replace(CALM, used=5400, turns=4484, messages=20),
    TextDelta("Done. 日本語も崩れません。"),
    TurnEnded("done", "Done."),
]


def test_a_prompt_is_worked_on_and_everything_that_happens_is_seen(tmp_path: Path) -> None:
    agent = FakeAgent(WORK, gauge=replace(CALM, used=5400, turns=4484, messages=20))
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "Set x to 2")
        page = seen(app)
        assert agent.prompts == ["Set x to 2"]
        for told in ("❯ Set x to 2", "The value is 1.", "x = 1", "✓ Run pytest -q  ▸ 2 lines", "✓ Edit a.py  ▸ +1 -1"):
            assert told in page
        for told in ("+x = 2", "! a.py was changed", "Done. 日本語も崩れません。", "5.4K / 8K (66%)", "watch"):
            assert told in page
        assert "The value is in a.py" not in page  # a thought is gone when the model speaks
        same_as_golden(app, "work")

    run(app, script)


def test_a_reply_that_was_cut_off_makes_way_for_the_whole_one(tmp_path: Path) -> None:
    agent = FakeAgent([TextDelta("This is torn"), ReplyDiscarded(), TextDelta("This is whole."), TurnEnded("done")])
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "Tell me")
        await until(pilot, lambda: "This is whole." in seen(app))
        assert "torn" not in seen(app)

    run(app, script)


def test_the_debug_panel_shows_where_every_token_is(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent(), debug=True))

    async def script(pilot: Pilot[int]) -> None:
        page = seen(app)
        for told in ("3,280 / 8,192 tokens (40%)", "history:       1,164 (14%)", "remaining:     4,912 (60%)"):
            assert told in page
        same_as_golden(app, "debug")

    run(app, script)


def test_a_narrow_terminal_has_the_panel_in_a_line(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent(), lang="ja"))

    async def script(pilot: Pilot[int]) -> None:
        assert "コンテキスト" not in seen(app)
        assert "3.3K / 8K (40%) ██████░░░" in seen(app) and "· 確認" in seen(app)
        same_as_golden(app, "narrow")
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: "コンテキスト" in seen(app))

    run(app, script, SLIM)


def test_what_is_typed_while_it_works_waits_in_sight_and_is_then_worked_on(tmp_path: Path) -> None:
    agent = FakeAgent([TextDelta("first"), TurnEnded("done")], [TextDelta("second"), TurnEnded("done")])
    agent.gate = asyncio.Event()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        for text in ("one", "two", "/compact keep the names"):
            app.query_one(PromptInput).take(text)
            await pilot.press("enter")
            await pilot.pause()
        assert agent.prompts == ["one"] and agent.words == []
        assert "waits: two" in seen(app) and "waits: /compact keep the names" in seen(app)
        assert "❯ two" not in seen(app)
        assert agent.gate
        agent.gate.set()
        await until(pilot, lambda: agent.words)
        await until(pilot, lambda: "16,896 → " in seen(app))
        assert agent.prompts == ["one", "two"] and agent.words == ["keep the names"]
        assert "waits:" not in seen(app) and "❯ two" in seen(app)

    run(app, script)


def test_what_is_typed_while_a_command_runs_waits_for_the_agent_it_brings(tmp_path: Path) -> None:
    old, new, gate = FakeAgent(), FakeAgent(), asyncio.Event()
    app = YohakuApp(begins(tmp_path, old, new))
    gate.set()
    begin = app.begin

    class Slow:
        settings = begin.settings
        choose_model = begin.choose_model
        forget_key = begin.forget_key

        async def __call__(self, surface: Surface, **how: Any) -> Any:
            await gate.wait()
            return await begin(surface, **how)

    app.begin = Slow()

    async def script(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: app.agent is old)
        gate.clear()
        for text in ("/clear", "Go."):
            app.query_one(PromptInput).take(text)
            await pilot.pause()
            await pilot.press(*(["escape"] if text == "/clear" else []), "enter")
            await pilot.pause()
        assert "waits: Go." in seen(app)
        gate.set()
        await until(pilot, lambda: new.prompts == ["Go."])
        assert old.prompts == [] and old.closed

    run(app, script)


def test_a_fault_in_a_command_is_a_sentence_and_what_waits_is_worked_on(tmp_path: Path) -> None:
    agent = FakeAgent()

    async def breaks(words: str = "") -> ConversationFolded | None:
        raise ValueError("broken")

    agent.compact = breaks  # type: ignore[method-assign]
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "/compact")
        await until(pilot, lambda: "ValueError" in seen(app))
        await send(pilot, "Go.")
        await until(pilot, lambda: agent.prompts == ["Go."])

    run(app, script)


def test_what_is_taken_in_between_two_steps_is_shown_where_it_was_taken(tmp_path: Path) -> None:
    agent = FakeAgent()

    async def typed(surface: Surface) -> None:
        agent.queue("and the tests too")

    async def taken(surface: Surface) -> None:
        agent.unqueue()

    agent.plays = [[TextDelta("a"), typed, CALM, taken, CALM, TextDelta("b"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        page = seen(app)
        assert page.index("❯ go") < page.index("❯ and the tests too")
        assert agent.prompts == ["go"]

    run(app, script)


def test_ctrl_c_stops_the_step_and_a_second_one_quits(tmp_path: Path) -> None:
    agent = FakeAgent([TextDelta("long work"), TextDelta("never seen"), TurnEnded("done")])
    agent.gate = asyncio.Event()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: "long work" in seen(app))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Stopped. What was done so far stays." in seen(app))
        assert app.is_running and "never seen" not in seen(app)
        await pilot.press("ctrl+c")
        await pilot.pause()

    run(app, script)
    assert app.return_value == 0


def test_ctrl_c_at_rest_asks_for_another_one(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("ctrl+c")
        assert "Ctrl-C once more to quit" in seen(app)
        app._interrupted = -10  # long ago
        await pilot.press("ctrl+c")
        assert app.is_running
        await pilot.press("ctrl+c")

    run(app, script)
    assert app.return_value == 0


def test_a_folding_is_told_with_before_and_after(tmp_path: Path) -> None:
    receipt = folded()
    told = f"{receipt.before:,} → {receipt.after:,} tokens"
    app = YohakuApp(begins(tmp_path, FakeAgent([ConversationFolded(receipt), TextDelta("on"), TurnEnded("done")])))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        await until(pilot, lambda: told in seen(app) and "16.9K → 5.7K tokens" in seen(app))  # and in the panel
        assert not app._notifications  # nothing lies over the prompt
        same_as_golden(app, "folded")

    run(app, script, toasts=True)


def test_folds_that_are_used_again_are_told_with_before_and_after(tmp_path: Path) -> None:  # S8
    made = folded()
    receipt = replace(made, reused=made.folds, whole=made.before)
    app = YohakuApp(begins(tmp_path, FakeAgent([FoldsReused(receipt), TextDelta("on"), TurnEnded("done")])))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        await until(pilot, lambda: f"used again: {receipt.unfolded:,} → {receipt.before:,}" in seen(app))

    run(app, script)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_model_that_is_not_found_is_looked_for_again_and_what_was_typed_is_kept(tmp_path: Path, lang: str) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, None, agent, lang=lang))

    async def script(pilot: Pilot[int]) -> None:
        assert app.agent is None
        same_as_golden(app, f"nothing_{lang}")
        await send(pilot, "hello")
        await until(pilot, lambda: agent.prompts == ["hello"])

    run(app, script)


def test_a_fault_of_ours_is_a_sentence_and_the_screen_goes_on(tmp_path: Path) -> None:
    agent = FakeAgent()

    async def breaks(surface: Surface) -> None:
        raise ZeroDivisionError("secret words")

    agent.plays = [[TextDelta("a"), breaks], [TextDelta("b"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        assert "went wrong (ZeroDivisionError)" in seen(app) and "secret words" not in seen(app)
        await send(pilot, "again")
        assert agent.prompts == ["go", "again"]

    run(app, script)


def test_a_resumed_conversation_is_shown_and_its_model_named(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent), resume="old.jsonl", first="go on")

    async def script(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: agent.prompts == ["go on"])
        assert app.begin.asked == ["old.jsonl"]  # type: ignore[attr-defined]
        assert SERVED.model in seen(app)

    run(app, script)


def test_questions_of_two_askers_come_one_after_the_other(tmp_path: Path) -> None:
    agent = FakeAgent()
    answers: list[object] = []

    async def both(surface: Surface) -> None:
        asks = [surface.allow(PermissionRequest("run", "bash", f"Run {name}", name)) for name in ("ls", "pwd")]
        answers.extend(await asyncio.gather(*asks))

    agent.plays = [[both, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent), quiet=0.01)

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: "Run ls" in seen(app) and app.dialog and app.dialog.armed)
        assert "Run pwd" not in seen(app)
        await pilot.press("y")
        await until(pilot, lambda: "Run pwd" in seen(app) and app.dialog and app.dialog.armed)
        await pilot.press("escape")
        await until(pilot, lambda: answers)
        assert answers == ["once", "no"]

    run(app, script)


@pytest.mark.parametrize("size", [(34, 10), (30, 8), (20, 5), (10, 3), (2, 2)])
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_tiny_terminal_is_no_fault(tmp_path: Path, size: tuple[int, int], lang: str) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent, lang=lang))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "hello")
        assert agent.prompts == ["hello"]
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: "❯ hello" in seen(app))
        await pilot.resize_terminal(*size)

    run(app, script, size)
