"""Text of models, tools, files and servers is shown letter by letter, wherever on the screen it stands."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

import yohaku.tui
from tests.tui.fake import CALM, SERVED, FakeAgent, begins, called, calling
from tests.tui.seen import run, seen, send, until
from yohaku.agent.events import TextDelta, ThoughtDelta, ToolOutput, TurnEnded, UserNotice
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import PermissionDialog, QuestionDialog
from yohaku.tui.prompt import PromptInput

HOSTILE = ["[/]", "[red]", "[/red]", "[@click=app.quit]x[/]", "[bold $oops", "[[b]]x", "\\[i]", "[link='a']b[/link]"]
BIG = (150, 50)


def asks(tmp_path: Path, request: PermissionRequest) -> str:
    """Return what the screen shows for a permission request."""
    agent, pages = FakeAgent(), []

    async def asking(surface: Surface) -> None:
        await surface.allow(request)

    agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent), quiet=0.01)

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.dialog, PermissionDialog) and app.dialog.armed)
        pages.append(seen(app))
        await pilot.press("escape")

    run(app, script, BIG)
    return str(pages[0])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_permission_is_shown_letter_by_letter(tmp_path: Path, text: str) -> None:
    command = f"awk '{text}' f"
    page = asks(
        tmp_path,
        PermissionRequest("run", "bash", f"T {command}", f"D {command}", f"R {command}"[:28], f"W {command}"),
    )
    for shown in (f"T {command}", f"D {command}", f"R {command}"[:28], f"W {command}"):
        assert shown in page


def test_a_diff_in_a_permission_is_shown_letter_by_letter(tmp_path: Path) -> None:
    lines = "".join(f"+{text}\n" for text in HOSTILE)
    page = asks(tmp_path, PermissionRequest("write", "edit", "Edit a", f"--- a\n+++ a\n@@ -0,0 +1,8 @@\n{lines}"))
    for text in HOSTILE:
        assert f"+{text}" in page


@pytest.mark.parametrize("text", HOSTILE)
def test_a_question_and_its_choices_are_shown_letter_by_letter(tmp_path: Path, text: str) -> None:
    agent, pages = FakeAgent(), []

    async def asking(surface: Surface) -> None:
        await surface.question(f"Q {text}", (f"C {text}", "other"))

    agent.plays = [[asking, TextDelta("ok"), TurnEnded("done")]]
    app = YohakuApp(begins(tmp_path, agent), quiet=0.01)

    async def script(pilot: Pilot[int]) -> None:
        app.query_one(PromptInput).take("go")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.dialog, QuestionDialog) and app.dialog.armed)
        pages.append(seen(app))
        await pilot.press("escape")

    run(app, script, BIG)
    assert f"Q {text}" in pages[0] and f"C {text}" in pages[0]


@pytest.mark.parametrize("text", HOSTILE)
def test_everything_in_the_conversation_is_shown_letter_by_letter(tmp_path: Path, text: str) -> None:
    work = [
        ThoughtDelta(f"thinks {text}"),
        TextDelta(f"says\n\n```\ncode {text}\n```\n"),
        calling("bash", f"title1 {text}"),
        ToolOutput("1", f"live {text}\n"),
        called("bash", f"failed {text}", f"title1 {text}", error=True),
        calling("edit", f"title2 {text}", "2"),
        called("edit", "done", f"title2 {text}", diff=f"--- a\n+++ a\n@@ -1 +1 @@\n+added {text}\n", call="2"),
        UserNotice(f"note {text}"),
        UserNotice(f"warning {text}", "warning"),
        UserNotice(f"error {text}", "error"),
        TurnEnded("done", ""),
    ]
    agent = FakeAgent(work, gauge=replace(CALM, coming=text), root=tmp_path / "root")
    agent.endpoint = replace(SERVED, model=text, name=f"n{text}")
    app = YohakuApp(begins(tmp_path, agent), quiet=0.01)

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, f"prompt {text}")
        page = seen(app)
        for kind in ("❯ prompt", "code", "title1", "failed", "title2", "+added", "note", "! warning", "✗ error"):
            assert f"{kind} {text}" in page, kind
        panel = [line[-28:].strip(" │") for line in page.split("\n")]
        assert panel.count(text) == 2 and f"n{text}" in panel

    run(app, script, BIG)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_said_in_passing_is_shown_letter_by_letter(tmp_path: Path, text: str) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))

    async def script(pilot: Pilot[int]) -> None:
        app.progress(f"load {text}", 1, 2)
        app._lines.append(f"later {text}")
        app._waits()
        app.notify(f"toast {text}", title=f"head {text}", markup=False)
        app.query_one(PromptInput).take(f"typed {text}")
        await until(pilot, lambda: f"toast {text}" in seen(app))
        page = seen(app)
        for kind in ("load", "later", "typed"):
            assert f"{kind} {text}" in page, kind

    run(app, script, BIG, toasts=True)


NOT_MARKUP = {"Static", "Label", "OptionList", "notify", "Collapsible", "Checkbox", "RadioButton", "SelectionList"}
LITERAL = {"Button", "Tooltip"}


def test_no_widget_is_given_text_it_could_read_as_markup() -> None:
    """A constructor with `markup` gets `markup=False`; one without gets a `Content`, which is never parsed."""
    wrong: list[str] = []
    for path in sorted(Path(yohaku.tui.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and not _is_literal(node):
                wrong.append(f"{path.name}:{node.lineno}: {ast.unparse(node)[:80]}")
            if isinstance(node, ast.Assign) and _sets_parsed_text(node):
                wrong.append(f"{path.name}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert not wrong, "\n".join(wrong)


def _is_literal(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "__init__" and any(keyword.arg == "id" for keyword in call.keywords):
        return not call.args or any(keyword.arg == "markup" for keyword in call.keywords)
    if name in NOT_MARKUP:
        return any(keyword.arg == "markup" and ast.unparse(keyword.value) == "False" for keyword in call.keywords)
    if name in LITERAL:
        return bool(call.args) and ast.unparse(call.args[0]).startswith("Content(")
    return name not in ("from_markup", "render_markup")


def _sets_parsed_text(node: ast.Assign) -> bool:
    """Borders and tooltips have no switch: they must be `Content`, or a `say` without facts."""
    names = {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
    if names.isdisjoint({"border_title", "border_subtitle", "tooltip", "label", "placeholder"}):
        return False
    return not ast.unparse(node.value).startswith(("Content(", "say("))
