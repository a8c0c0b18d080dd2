"""What is on the screen, as text and as a picture that is the same at every run."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from yohaku.tui.app import YohakuApp
from yohaku.tui.prompt import PromptInput

GOLDEN = Path(__file__).parent / "golden"
WIDE, SLIM = (94, 26), (72, 20)

Script = Callable[[Pilot[int]], Awaitable[None]]


def run(app: YohakuApp, script: Script, size: tuple[int, int] = WIDE, *, toasts: bool = False) -> None:
    async def play() -> None:
        async with app.run_test(size=size, notifications=toasts) as pilot:
            await until(pilot, lambda: app.agent is not None or not app.workers_busy("begin"))
            await script(pilot)

    asyncio.run(play())


async def until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    for _ in range(500):
        await pilot.pause()
        if condition():
            await pilot.pause()
            return
    raise AssertionError("it did not come to that")


async def send(pilot: Pilot[int], text: str) -> None:
    """Typed and sent, and worked on to the end."""
    app = pilot.app
    assert isinstance(app, YohakuApp)
    app.query_one(PromptInput).take(text)
    await pilot.pause()
    await pilot.press("escape", "enter") if text.startswith("/") else await pilot.press("enter")
    await until(pilot, lambda: not (app._working or app.workers_busy("command")))


def seen(app: YohakuApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def picture(app: YohakuApp) -> str:
    """The SVG without what differs from run to run."""
    svg = app.export_screenshot(title="yohaku")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(working&#160;…|作業中…)&#160;\d+", r"\1&#160;0", svg)
    return re.sub(r"terminal-\d+", "terminal", svg)


def same_as_golden(app: YohakuApp, name: str) -> None:
    app.screen_stack[0].query_one(PromptInput).cursor_blink = False
    path = GOLDEN / f"{name}.svg"
    drawn = picture(app)
    if os.environ.get("YOHAKU_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, "utf-8")
    assert drawn == path.read_text("utf-8"), f"{path.name} is drawn otherwise; YOHAKU_GOLDEN=write keeps the new one"
