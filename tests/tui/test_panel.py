"""The panel by itself: its levels in words, marks and colours, and its width."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fake import CALM, FakeAgent, begins, called, folded
from tests.tui.seen import run, same_as_golden, seen, send, until
from yohaku.agent.events import ConversationFolded, Gauge, ReplyFinished, TextDelta, TurnEnded
from yohaku.agent.format import MARKS
from yohaku.agent.gauge import make_gauge
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger
from yohaku.messages import say
from yohaku.session.session import Session
from yohaku.testing import ByteMeter
from yohaku.tui.app import YohakuApp
from yohaku.tui.panel import Panel
from yohaku.tui.panel_facts import FilesState, describe_files, read_files_state

SHARES = {"calm": 0.4, "warm": 0.7, "hot": 0.85, "full": 0.95}
COLOURS = {"calm": "$text-success", "warm": "$text-warning", "hot": "$text-error", "full": "$text-error"}


@pytest.mark.parametrize("level", SHARES)
def test_each_level_has_its_colour_its_mark_and_its_word(tmp_path: Path, level: str) -> None:
    gauge = replace(CALM, used=int(8192 * SHARES[level]), turns=int(8192 * SHARES[level]) - 916)
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge)))

    async def script(pilot: Pilot[int]) -> None:
        panel = app.query_one(Panel)
        assert panel.has_class(f"-{level}") and f"{round(100 * SHARES[level])}%) {MARKS[level]}".rstrip() in seen(app)
        style = panel.query_one("#gauge").rich_style
        wanted = app.theme_variables[COLOURS[level].removeprefix("$")]
        assert style.color and style.color.name == wanted.lower()
        assert bool(style.blink) is (level == "full")
        same_as_golden(app, f"panel_{level}")

    run(app, script, (94, 16))


@pytest.mark.parametrize(
    ("recipe", "share", "word"),
    [
        ("auto", 0.85, "watch: folds at 99 %"),
        ("auto", 0.95, "watch: folds at 99 %"),
        ("local", 0.7, "watch: folds at 80 %"),
        ("local", 0.85, "folds by itself"),
        ("local", 0.95, "nearly full: outputs are cut"),
        ("chat", 0.95, "watch: folds at 100 %"),
    ],
)
def test_the_word_for_a_level_is_what_the_recipe_does_there(
    tmp_path: Path, recipe: str, share: float, word: str
) -> None:  # L16
    session = Session(8_192, 1_024, recipe, meter=ByteMeter())
    gauge = make_gauge(session, Ledger(500, 400, int(7_168 * share) - 900, 0, 0), ByteMeter(), "en")
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge)))

    async def script(pilot: Pilot[int]) -> None:
        shown = " ".join(seen(app).replace("│", " ").split())
        assert all(part in shown for part in word.split())
        assert ("folds by itself" in shown) is (word == "folds by itself")

    run(app, script)


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("debug", [False, True])
def test_no_line_is_wider_than_the_panel(tmp_path: Path, lang: str, debug: bool) -> None:
    gauge = Gauge(1_048_575, 1_048_576, 99_999, 88_888, 777_777, 66_666, exact=False, messages=12_345, foldings=999)
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge), lang=lang, debug=debug))

    async def script(pilot: Pilot[int]) -> None:
        panel = app.query_one(Panel)
        for name in ("#gauge", "#where"):
            part = panel.query_one(name)
            assert part.virtual_size.width <= panel.content_size.width
            if part.display:
                shown = [line for line in panel._where(gauge) if line] if name == "#where" else [panel._head(gauge)]
                assert part.size.height == len("\n".join(shown).split("\n")) + 2 * (name == "#where")

    run(app, script)


def test_without_colours_everything_can_still_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    gauge = replace(CALM, used=7900)
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge)))

    async def script(pilot: Pilot[int]) -> None:
        assert app.no_color
        assert "7.9K / 8K (96%) !!!" in seen(app) and "nearly full: outputs are" in seen(app)

    run(app, script)


@pytest.mark.parametrize(("lang", "word"), [("en", "more than fits: folds first"), ("ja", "超過: まず圧縮します")])
def test_over_the_window_the_number_is_true_and_it_is_said_what_happens_first(
    tmp_path: Path, lang: str, word: str
) -> None:
    gauge = replace(CALM, used=8_440, coming="folds before it is sent: 1,272 tokens more than fit")
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge), lang=lang))

    async def script(pilot: Pilot[int]) -> None:
        shown = " ".join(seen(app).replace("│", " ").split())
        assert "8.4K / 8K (103%) !!!" in shown and word in shown
        assert app.query_one(Panel).has_class("-over")

    run(app, script)


def test_percent_level_and_colour_are_shares_of_the_limit_as_in_the_core(tmp_path: Path) -> None:
    gauge = replace(CALM, used=7_300, reserve=1_024)
    app = YohakuApp(begins(tmp_path, FakeAgent(gauge=gauge)))

    async def script(pilot: Pilot[int]) -> None:
        assert Budget(8_192, 1_024).level(7_300) == "over"
        assert app.query_one(Panel).has_class("-over") and "7.3K / 7K (102%) !!!" in seen(app)

    run(app, script)


PLAN = [("done", "Find the slow test"), ("doing", "Read its fixture"), ("pending", "Make it quick")]


def repository() -> Path:
    """Make a git repository with two new files; its path is relative, so that a picture is the same everywhere."""
    root = Path("project")
    root.mkdir()
    for words in (("init", "-q", "-b", "slow-tests"), ("config", "user.email", "a@b"), ("config", "user.name", "a")):
        subprocess.run(["git", *words], cwd=root, check=True)
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    return root


async def told_all(pilot: Pilot[int], app: YohakuApp, agent: FakeAgent) -> None:
    agent.todo = PLAN
    await send(pilot, "Make the slow test quick")
    await until(pilot, lambda: "slow-tests" in seen(app))


def facts_agent(root: Path) -> FakeAgent:
    play = [
        called("todo", "ok", "Plan (3 items)"),
        ConversationFolded(folded()),
        TextDelta("Done."),
        ReplyFinished(None, "stop", 312.0, 24.4),
        TurnEnded("done", "Done."),
    ]
    return FakeAgent(play, root=root)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_panel_tells_mode_branch_changes_speed_plan_and_the_last_folding(tmp_path: Path, lang: str) -> None:
    agent = facts_agent(repository())
    app = YohakuApp(begins(tmp_path / "data", agent, lang=lang))
    told = {
        "en": ("Mode: asks", "Branch: slow-tests", "2 files changed", "Reads 312 tokens/s", "Plan 1/3"),
        "ja": ("モード: 確認", "ブランチ: slow-tests", "2 ファイル変更", "書き: 毎秒 24", "計画 1/3"),
    }

    async def script(pilot: Pilot[int]) -> None:
        await told_all(pilot, app, agent)
        page = seen(app)
        wanted = (*told[lang], "▸ Read its fixture", "16.9K → 5.7K")
        assert [text for text in wanted if text not in page] == []
        assert not app._notifications  # nothing lies over the prompt
        await pilot.press("shift+tab")
        await until(pilot, lambda: say("mode_plan", lang) in seen(app))
        same_as_golden(app, f"panel_facts_{lang}")

    run(app, script, (120, 35))


def test_in_a_narrow_terminal_mode_branch_and_plan_are_in_the_line(tmp_path: Path) -> None:
    agent = facts_agent(repository())
    app = YohakuApp(begins(tmp_path / "data", agent))

    async def script(pilot: Pilot[int]) -> None:
        await told_all(pilot, app, agent)
        assert "· asks · slow-tests · 2 files changed · Plan 1/3" in seen(app)

    run(app, script, (80, 24))


def test_outside_of_a_repository_the_files_of_this_session_are_counted(tmp_path: Path) -> None:
    assert read_files_state(FakeAgent(root=tmp_path)) == FilesState("", 0)
    assert describe_files(FilesState("", 1), "en") == "1 file changed"
    assert describe_files(FilesState("main", 0), "en") == "main"
