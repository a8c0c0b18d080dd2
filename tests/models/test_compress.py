"""Folding by hand as a user does it: `/compress` typed in a real terminal, on a real llama.cpp server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.models.conftest import made
from tests.tui import test_terminal
from tests.tui.test_terminal import Terminal, terminal

__all__ = ["terminal"]
pytestmark = [pytest.mark.slow, test_terminal.pytestmark]


def test_compress_as_typed_folds_with_the_users_words(terminal: Terminal, tmp_path: Path) -> None:  # S1
    served = made(tmp_path, window=32_768)
    (tmp_path / "app.py").write_text("".join(f"PORT_{number} = {number * 7919 % 9000}\n" for number in range(200)))
    terminal.start("--model", f"{served.url}/v1", "--recipe", "snapshot")
    terminal.until(" / 28K (")
    for number in range(3):
        terminal.type(f"{number}: read app.py")
    terminal.type("/compress Keep the port 8443.")
    page = terminal.until("Your words stand in it")
    told = re.search(r"([0-9,]+) → ([0-9,]+) tokens, 1 folds", page)
    assert told, page
    before, after = (int(number.replace(",", "")) for number in told.groups())
    assert after < before
    terminal.type("3: read app.py")
    terminal.until("❯ 3: read app.py")
    terminal.type("/quit")
    assert "Traceback" not in terminal.until("ended 0")
