"""Draw the pictures of docs/agent.md: the panel at 40, 70, 85 and 95 %, normal and with --debug.

python3 scripts/panel_pictures.py          writes docs/panel/*.svg
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual.app import App, ComposeResult

from yohaku.agent.events import Gauge
from yohaku.agent.gauge import describe_coming
from yohaku.core.budget import Budget
from yohaku.recipes.auto import AUTO
from yohaku.tui.panel import Panel

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "panel"
WINDOW, RESERVE = 8192, 1024
LIMIT = WINDOW - RESERVE
BUDGET = Budget(WINDOW, RESERVE)
SHARES = (40, 70, 85, 95)


def gauge(percent: int) -> Gauge:
    used = LIMIT * percent // 100
    return Gauge(
        used,
        WINDOW,
        system=514,
        tools=402,
        turns=used - 916,
        last=min(1200, used // 4),
        reserve=RESERVE,
        messages=percent // 2,
        foldings=int(percent > 80),
        cuts=int(percent > 90),
        warnings=int(percent > 90),
        coming=describe_coming(AUTO, BUDGET, used, "en"),
        folds_at=AUTO.starts_at(BUDGET),
        cuts_at=AUTO.cuts_at(BUDGET),
    )


class Picture(App[None]):
    CSS_PATH = Path(__file__).resolve().parent.parent / "src" / "yohaku" / "tui" / "panel.tcss"

    def __init__(self, percent: int, *, debug: bool) -> None:
        super().__init__()
        self.percent = percent
        self.panel = Panel("en", debug=debug)

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_mount(self) -> None:
        self.panel.show(gauge(self.percent))


async def drawn(percent: int, *, debug: bool) -> str:
    app = Picture(percent, debug=debug)
    async with app.run_test(size=(36, 23) if debug else (28, 12)) as pilot:
        await pilot.pause()
        title = f"yohaku{' --debug' if debug else ''}, {percent} %"
        svg = re.sub(r"terminal-\d+", f"panel-{percent}-{int(debug)}", app.export_screenshot(title=title))
        return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # the reader's own font: nothing to fetch


def names() -> dict[str, tuple[int, bool]]:
    return {f"{percent}{'-debug' * debug}.svg": (percent, debug) for percent in SHARES for debug in (False, True)}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (percent, debug) in names().items():
        (FOLDER / name).write_text(asyncio.run(drawn(percent, debug=debug)), "utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
