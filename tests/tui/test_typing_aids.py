"""Files after `@`, commands after `!`, keys after `?`, the search with Ctrl-R, own commands and /init."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send, until
from yohaku.tui.app import YohakuApp
from yohaku.tui.file_picker import match_files, mention_before
from yohaku.tui.prompt import CompletionList, PromptInput


def project(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    for name in ("src/money.py", "src/mode.py", "README.md"):
        (folder / name).write_text("x\n")
    return folder


def test_the_letters_of_a_path_find_it_and_its_own_name_counts_most() -> None:
    names = ["docs/money/a.md", "src/money.py", "src/more/any.py"]
    assert match_files(names, "mon") == ["src/money.py", "docs/money/a.md", "src/more/any.py"]
    assert match_files(names, "sany") == ["src/more/any.py"] and match_files(names, "zz") == []
    texts = ("see @a", "me@home", "@", "a @b c", "これは@src/", "(@a")
    assert [mention_before(text) for text in texts] == ["a", None, "", None, "src/", "a"]


def test_at_opens_a_list_of_files_and_enter_puts_one_in_the_middle_of_the_text(tmp_path: Path) -> None:
    agent = FakeAgent(root=project(tmp_path / "p"))
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        prompt = app.query_one(PromptInput)
        await pilot.press(*"fix ", "@", *"mony")
        await until(pilot, lambda: app.query_one(CompletionList).texts)
        assert app.query_one(CompletionList).texts == ["@src/money.py"]
        await pilot.press("enter")
        await until(pilot, lambda: not app.query_one(CompletionList).texts)
        assert prompt.text == "fix @src/money.py " and agent.prompts == []
        await pilot.press(*"now", "enter")
        await until(pilot, lambda: agent.prompts and not app._busy)
        assert agent.prompts == ["fix @src/money.py now"]
        (agent.root / "fresh.py").write_text("made meanwhile\n")
        await pilot.press(*"直す", "@", *"fres")
        await until(pilot, lambda: app.query_one(CompletionList).texts)
        await pilot.press("tab")
        await pilot.pause()
        assert prompt.text == "直す@fresh.py "

    run(app, script)


def test_a_command_after_an_exclamation_mark_runs_and_its_output_goes_with_the_next_prompt(tmp_path: Path) -> None:
    agent = FakeAgent(root=project(tmp_path / "p"))
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("!cat README.md; exit 3")
        await pilot.press("enter")
        await until(pilot, lambda: "next prompt" in seen(app))
        assert "[exit 3]" in seen(app) and agent.prompts == []
        await send(pilot, "why?")
        assert agent.prompts == ["I ran this myself:\n$ cat README.md; exit 3\nx\n[exit 3]\n\nwhy?"]
        await send(pilot, "and now?")
        assert agent.prompts[-1] == "and now?"

    run(app, script)


def test_a_question_mark_shows_the_keys_only_where_nothing_is_typed(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press(*"why", "question_mark")
        assert app.query_one(PromptInput).text == "why?" and "Shift-Tab" not in seen(app)
        app.query_one(PromptInput).take("")
        await pilot.press("question_mark")
        await until(pilot, lambda: "Shift-Tab" in seen(app))
        assert app.query_one(PromptInput).text == ""

    run(app, script)


def test_ctrl_r_finds_what_was_typed_and_sends_nothing_by_itself(tmp_path: Path) -> None:
    agent = FakeAgent()
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        for text in ("run the slow test", "write the docs", "read the log"):
            await send(pilot, text)
        await pilot.press("ctrl+r", *"the")
        await pilot.pause()
        assert app.query_one(CompletionList).texts == ["read the log", "write the docs", "run the slow test"]
        await pilot.press(*" s", "enter")
        await pilot.pause()
        assert app.query_one(PromptInput).text == "run the slow test" and len(agent.prompts) == 3
        await pilot.press("ctrl+r", *" zz", "enter")
        await pilot.pause()
        assert len(agent.prompts) == 3, "what is found nowhere is not sent either"
        app.query_one(PromptInput).take("half a thought")
        await pilot.press("ctrl+r", *" x", "escape")
        await pilot.pause()
        assert app.query_one(PromptInput).text == "half a thought"

    run(app, script)


def test_a_markdown_file_is_a_command_and_init_asks_for_agents_md(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("YOHAKU_CONFIG", raising=False)
    root = project(tmp_path / "p")
    for folder, name, text in (
        (root / ".yohaku" / "commands", "review", "Review $ARGUMENTS with care."),
        (tmp_path / "config" / "yohaku" / "commands", "tidy", "Tidy up."),
        (root / ".yohaku" / "commands", "help", "never"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text)
    agent = FakeAgent(root=root)
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        await pilot.press(*"/rev")
        await pilot.pause()
        assert "/review" in app.query_one(CompletionList).texts
        for typed in ("/review src/money.py", "/tidy src", "/help"):
            await send(pilot, typed)
            await until(pilot, lambda: not app._busy)
        assert agent.prompts == ["Review src/money.py with care.", "Tidy up.\n\nsrc"]
        assert "with care" not in seen(app), "what was typed is shown, not what it stands for"
        await send(pilot, "/init")
        await until(pilot, lambda: len(agent.prompts) == 3 and not app._busy)
        assert "write AGENTS.md" in agent.prompts[-1]

    run(app, script)


def test_commands_typed_while_it_works_wait_and_a_file_or_a_paste_never_runs_one(tmp_path: Path) -> None:
    root = project(tmp_path / "p")
    (root / ".yohaku" / "commands").mkdir(parents=True)
    (root / ".yohaku" / "commands" / "sly.md").write_text("!touch owned")
    agent = FakeAgent(root=root)
    app = YohakuApp(begins(tmp_path, agent))

    async def script(pilot: Pilot[int]) -> None:
        agent.gate = asyncio.Event()
        prompt = app.query_one(PromptInput)
        for typed in ("work", "/sly", "!touch meant", "!touch pasted\n!touch lines", "why?"):
            prompt.take(typed)
            await pilot.pause()
            await pilot.press("escape", "enter") if app.query_one(CompletionList).texts else await pilot.press("enter")
            await pilot.pause()
        assert app._working and not (root / "meant").exists()
        agent.gate.set()
        await until(pilot, lambda: (root / "meant").exists() and not app._busy)
        assert {path.name for path in root.iterdir()} == {"src", "README.md", ".yohaku", "meant"}
        assert agent.prompts == ["work", "!touch pasted\n!touch lines", "why?", "!touch owned"]

    run(app, script)


def test_escape_stops_a_command_and_the_model_is_told_what_it_printed(tmp_path: Path) -> None:
    agent = FakeAgent(root=project(tmp_path / "p"))
    app = YohakuApp(begins(tmp_path, agent, lang="ja"))

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("!echo begun; sleep 600")
        await pilot.press("enter")
        await until(pilot, lambda: "\nbegun" in seen(app).replace("  ", ""))
        assert "作業中" in seen(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app._busy)
        await send(pilot, "なぜ?")
        assert agent.prompts == ["私が自分で実行しました:\n$ echo begun; sleep 600\nbegun\n[中断]\n\nなぜ?"]

    run(app, script)
