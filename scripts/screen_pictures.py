"""Draw the pictures of the screen in docs/agent.md: a first start, a question before an edit, the end of a turn.

python3 -m scripts.screen_pictures          writes docs/screens/*.svg
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.tui.fake import CALM, FakeAgent, begins, called, calling, folded
from textual.pilot import Pilot

from yohaku.agent.events import ConversationFolded, ReplyFinished, TextDelta, TurnEnded, UserNotice
from yohaku.agent.gauge import describe_coming
from yohaku.agent.protocols import Surface
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.core.budget import Budget
from yohaku.messages import say
from yohaku.recipes.auto import AUTO
from yohaku.tui.app import YohakuApp
from yohaku.tui.panel_facts import FilesState
from yohaku.tui.prompt import PromptInput

Script = Callable[[Pilot[int]], Awaitable[None]]
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "screens"
DIFF = """--- money.py
+++ money.py
@@ -1,2 +1,4 @@
 def percent(a, b):
-    return a / b
+    if not b:
+        return 0.0
+    return 100 * a / b
"""
WORDS = {
    "en": ("percent in money.py is wrong: 1 of 4 should be 25", "The division gives a share, not a percentage.",
           "Done. `percent(1, 4)` is now **25.0**, and 0 for an empty base.", "Fix percent", "Run the tests",
           "all edits inside the project"),
    "ja": ("money.py の percent がおかしい。4 分の 1 は 25 のはず",
           "割り算の結果が割合のままで、百分率になっていません。",
           "直しました。`percent(1, 4)` は **25.0** になり、母数が空のときは 0 です。",
           "percent を直す", "テストを実行する", "プロジェクト内のすべての編集"),
}  # fmt: skip


def screen(folder: Path, lang: str, theme: str) -> YohakuApp:
    _, thought, reply, step, tests, always = WORDS[lang]
    request = PermissionRequest("write", "edit", "edit money.py", DIFF, remember=always)

    async def ask(surface: Surface) -> None:
        await surface.allow(request)

    coming = describe_coming(AUTO, Budget(32_768, 4_096), 6_213, lang)
    gauge = replace(CALM, used=6_213, window=32_768, reserve=4_096, coming=coming)
    play: list[Any] = [
        TextDelta(thought), calling("read", "Read money.py"), called("read", "1\n2", "Read money.py"),
        called("todo", "1\n2", "Plan (2 items)"), calling("edit", "Edit money.py", "2"), ask,
        called("edit", "done", "Edit money.py", diff=DIFF, call="2"), ConversationFolded(folded()),
        TextDelta(reply), UserNotice(say("end_changed", lang, names="money.py (+3 −1)")),
        ReplyFinished(None, "stop", 412.0, 38.0), TurnEnded("done"),
    ]  # fmt: skip
    agent = FakeAgent(play, gauge=gauge, root=Path("shop"))
    agent.endpoint = replace(agent.endpoint, model="qwen3-coder-30b")
    agent.todo = [("doing", step), ("pending", tests)]
    return YohakuApp(begins(folder, agent, lang=lang, theme=theme), quiet=0.01)


async def draw(
    app: YohakuApp, size: tuple[int, int], name: str, script: Callable[[Pilot[int]], Awaitable[None]]
) -> None:
    async with app.run_test(size=size) as pilot:
        app.query_one(PromptInput).cursor_blink = False
        await script(pilot)
        await pilot.pause(0.1)
        svg = re.sub(r"terminal-\d+", f"screen-{name}", app.export_screenshot(title="yohaku"))
        svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # the reader's own font: nothing to fetch
        (FOLDER / f"{name}.svg").write_text(svg, "utf-8")


async def turn(lang: str, theme: str, size: tuple[int, int], name: str, *, end: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = screen(Path(folder), lang, theme)

        async def script(pilot: Pilot[int]) -> None:
            await pilot.pause(0.2)
            app.query_one(PromptInput).take(WORDS[lang][0])
            await pilot.press("enter")
            while not (app.dialog and app.dialog.armed):
                await pilot.pause(0.05)
            if end:
                await pilot.press("y")
                while app._working:
                    await pilot.pause(0.05)
            await pilot.pause(0.2)
            app._tell_panel(files=FilesState("fix-percent", 1))

        await draw(app, size, name, script)


async def first_start(lang: str, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = YohakuApp(begins(Path(folder), None, lang=lang), quiet=0.01)
        facts = {"name": "Qwen2.5-Coder 1.5B", "size": 1.1}
        ways = tuple(say(f"setup_{way}", lang, **facts) for way in ("download", "server", "key", "file"))

        async def script(pilot: Pilot[int]) -> None:
            await pilot.pause(0.2)
            app.run_worker(app.question(say("setup_title", lang), ways, own_words=False))
            while not (app.dialog and app.dialog.armed):
                await pilot.pause(0.05)
            app._status(say("screen_looking", lang))
            await pilot.press("down", "down")

        await draw(app, (80, 18), name, script)


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    await first_start("en", "first-start")
    await first_start("ja", "first-start-ja")
    await turn("en", "textual-dark", (80, 24), "question", end=False)
    await turn("ja", "textual-dark", (80, 24), "question-ja", end=False)
    await turn("en", "textual-light", (120, 35), "turn-light", end=True)
    await turn("ja", "textual-dark", (120, 35), "turn-ja", end=True)


if __name__ == "__main__":
    asyncio.run(main())
