"""Draw the pictures of docs/screens.md: a turn at four sizes and each dialog, in two languages and two themes.

python3 -m scripts.screen_matrix [FOLDER]          writes docs/screens/matrix/*.svg
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.tui.fake import SERVED
from textual.pilot import Pilot

from scripts.screen_pictures import WORDS, screen
from yohaku.agent.toolkit.permissions import run_request
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.messages import say
from yohaku.tui.app import YohakuApp
from yohaku.tui.panel_facts import FilesState
from yohaku.tui.prompt import PromptInput

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "screens" / "matrix"
SIZES = ((60, 15), (80, 24), (120, 35), (200, 50))
LANGUAGES = ("en", "ja")
THEMES = ("dark", "light")
FILES = ("money.py", "shop.py", "tests/test_money.py", "tests/test_shop.py", "docs/money.md", "notes/在庫のメモ.md")
PROMPTS = {
    "en": ("percent in money.py is wrong: 1 of 4 should be 25", "Test an empty basket", "What does shop.py do?"),
    "ja": ("money.py の percent がおかしい", "空の買い物かごのテストを書いて", "shop.py は何をしますか?"),
}  # fmt: skip


class Scene(NamedTuple):
    """What is on a screen of which pictures are drawn."""

    name: str
    play: Callable[[YohakuApp, Pilot[int], str], Awaitable[None]]
    sizes: tuple[tuple[int, int], ...] = ((60, 15), (80, 24))


class Picture(NamedTuple):
    scene: Scene
    size: tuple[int, int]
    lang: str
    theme: str

    @property
    def name(self) -> str:
        return f"{self.scene.name}-{self.size[0]}x{self.size[1]}-{self.lang}-{self.theme}.svg"


async def until(found: Callable[[], object], pilot: Pilot[int]) -> None:
    while not found():
        await pilot.pause(0.02)


async def _send(app: YohakuApp, pilot: Pilot[int], text: str) -> None:
    app.query_one(PromptInput).take(text)
    await pilot.press("enter")


async def _turn(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await _edit(app, pilot, lang)
    await pilot.press("y")
    await until(lambda: not app._working, pilot)
    await pilot.pause(0.2)
    app._tell_panel(files=FilesState("fix-percent", 1))


async def _edit(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await _send(app, pilot, WORDS[lang][0])
    await until(lambda: app.dialog and app.dialog.armed, pilot)


async def _ask(app: YohakuApp, pilot: Pilot[int], request: PermissionRequest) -> None:
    app.run_worker(app.allow(request))
    await until(lambda: app.dialog and app.dialog.armed, pilot)


async def _permission(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await _ask(app, pilot, _run("python3 -m pytest -q tests/test_money.py", app))


async def _dangerous(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    lost = say("lost", lang, what=say("lost_outside", lang, name="~/notes"))
    await _ask(app, pilot, replace(_run("rm -rf build ~/notes", app), lost=lost))


def _run(command: str, app: YohakuApp) -> PermissionRequest:
    context: Any = SimpleNamespace(lang=app.lang, root=app.project)
    return run_request(context, command)


async def _models(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    present = (
        f"{SERVED.model}  (llama.cpp)  ← {say('setup_now', lang)}", "qwen3-coder-30b  (LM Studio)",
        "claude-sonnet-4-5  (Anthropic)", f"gemma-3-4b-it-q4_k_m  ({say('setup_from_file', lang)}, 2.5 GB)",
    )  # fmt: skip
    facts = {"name": "Qwen2.5-Coder 1.5B", "size": 1.1}
    ways = tuple(say(f"setup_{way}", lang, **facts) for way in ("download", "server", "key", "file"))
    app.run_worker(app.question(say("model_choose", lang), (*present, *ways), own_words=False))
    await until(lambda: app.dialog and app.dialog.armed, pilot)
    await pilot.press("down", "down")


async def _help(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await _send(app, pilot, "/help")
    await pilot.pause(0.2)


async def _keys(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await pilot.press("question_mark")
    await pilot.pause(0.2)


async def _files(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await pilot.press("@", "m", "o")
    await until(lambda: app._files, pilot)
    await pilot.pause(0.1)


async def _sessions(app: YohakuApp, pilot: Pilot[int], lang: str) -> None:
    await _send(app, pilot, "/resume")
    await until(lambda: app.dialog and app.dialog.armed, pilot)
    await pilot.press("down")


SCENES = (
    Scene("turn", _turn, SIZES),
    Scene("diff", _edit),
    Scene("permission", _permission),
    Scene("dangerous", _dangerous),
    Scene("models", _models),
    Scene("help", _help),
    Scene("keys", _keys),
    Scene("files", _files),
    Scene("sessions", _sessions),
)


def list_pictures() -> list[Picture]:
    """List all pictures: of the dialogs the dark ones at 80 columns and the light ones at 60."""
    found = []
    for scene in SCENES:
        for size in scene.sizes:
            themes = THEMES if scene.name == "turn" else (THEMES[size[0] < 80],)
            found += [Picture(scene, size, lang, theme) for lang in LANGUAGES for theme in themes]
    return found


def _make_project(root: Path, data: Path, lang: str) -> None:
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    (data / "transcripts").mkdir(parents=True)
    for number, prompt in enumerate(PROMPTS[lang]):
        entries = [{"role": "user", "content": prompt}, {"role": "assistant", "content": "ok"}] * (number + 1)
        rows = [{"format": "x", "root": str(root.resolve())}, *({"entry": entry} for entry in entries)]
        path = data / "transcripts" / f"20260102-1{number}3000-ab{number}c.jsonl"
        path.write_text("\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
        at = time.time() - 4000 * (number + 1) ** 3
        os.utime(path, (at, at))


async def drawn(picture: Picture) -> str:
    """Return a picture as SVG, without fonts to fetch and without paths that cut what fits anyway."""
    with tempfile.TemporaryDirectory() as folder:
        root, data = Path(folder) / "shop", Path(folder) / "data"
        _make_project(root, data, picture.lang)
        app = screen(data, picture.lang, f"textual-{picture.theme}")
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(contextlib.chdir(folder))  # so that the project is called shop
            pilot = await stack.enter_async_context(app.run_test(size=picture.size))
            app.query_one(PromptInput).cursor_blink = False
            await pilot.pause(0.2)
            await picture.scene.play(app, pilot, picture.lang)
            await pilot.pause(0.1)
            svg = app.export_screenshot(title="yohaku", simplify=True)
    svg = re.sub(r"terminal-\d+", "s", svg)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<clipPath id="s-line-\d+">.*?</clipPath>\s*', "", svg, flags=re.DOTALL)
    return re.sub(r' clip-path="url\(#s-line-\d+\)"', "", svg)


async def main(name: str = str(FOLDER), *wanted: str) -> None:
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    for picture in list_pictures():
        if not wanted or any(each in picture.name for each in wanted):
            (folder / picture.name).write_text(await drawn(picture), "utf-8")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
