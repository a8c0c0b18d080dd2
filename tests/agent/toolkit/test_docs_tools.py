"""What the page on tools shows is run."""

from __future__ import annotations

import re
from pathlib import Path

from yohaku.agent.tools import FULL_TIER

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tools.md").read_text("utf-8")


def test_the_page_names_every_tool() -> None:
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert {name for name in re.findall(r"`(\w+)`", rows) if name in FULL_TIER} == set(FULL_TIER)


def test_the_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for code in examples:
        exec(compile(code, "docs/tools.md", "exec"), {})
