"""Tests of how much a line tells without its neighbours."""

from __future__ import annotations

import pytest

from yohaku.digest.line_value import (
    BOILERPLATE,
    CHANGED,
    DEFINITION,
    FILE_VALUE,
    FRAGMENT,
    PROSE,
    TROUBLE,
    VALUE,
    rate_line,
)


@pytest.mark.parametrize(
    ("line", "factor"),
    [
        ("    31\texport class ClaudeProvider extends BaseProvider {", FRAGMENT),
        ("    32\tTTL = 86_400", FILE_VALUE),
        ("def parse(text: str) -> Tree:", DEFINITION),
        ("12: CREATE UNIQUE INDEX one ON shares (a)", DEFINITION),
        ("MAX_ROWS = 512", VALUE),
        ('  "version": "1.2.0",', VALUE),
        ('    args.push("--dangerously-skip-permissions");', VALUE),
        ("src/app.py:10:import os", BOILERPLATE),
        ("from pathlib import Path", BOILERPLATE),
        ("ERROR could not bind", TROUBLE),
        ("The limit was raised because the log grew.", PROSE),
        ("設定ファイルは起動のたびに読み直されます。", PROSE),
        ("+  return path.trim();", CHANGED),
        ("    console.log(x)", FRAGMENT),
        ("  });", FRAGMENT),
        ("index 9a9ed2a..8ab4db3 100644", BOILERPLATE),
    ],
)
def test_a_line_is_rated_by_what_it_says_by_itself(line: str, factor: float) -> None:
    assert rate_line(line) == factor
