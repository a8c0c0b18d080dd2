"""The package stays readable: one thing for one class name, docstrings that begin with what a thing is or does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts import house

MAX_SHARE = 0.05
"""Of a package's docstrings that open with What, Whether, Which, Where or Who."""

NOT_YET = {
    "messages": 0.62, "core": 0.38, "analysis": 0.36, "client": 0.34, "session": 0.30, "digest": 0.30, "lab": 0.27,
    "summary": 0.26, "passes": 0.25, "cli": 0.24, "agent": 0.24, "tui": 0.23, "config": 0.21, "mcp": 0.20,
    "recall": 0.19, "doctor": 0.18, "dialects": 0.16, "stores": 0.09, "meters": 0.09, "recipes": 0.08,
}  # fmt: skip
"""Packages that are above, and where they are."""

SHARED_NAMES = {
    "Session": "the public class, and in the doctor a recorded file of another program's session",
    "_Parser": "argparse with our errors, for the command line and for the lab",
    "_Reader": "private to a tool and to the doctor",
    "_Search": "private to three modules that search different things",
    "_Session": "private to each reader of recorded sessions",
}


def test_a_class_name_stands_for_one_thing() -> None:
    assert set(house.double_classes()) <= set(SHARED_NAMES)


def test_docstrings_say_what_a_thing_is_or_does() -> None:
    above = {name: share for name, share in house.shares().items() if share > NOT_YET.get(name, MAX_SHARE)}
    assert above == {}, f"see `python3 dev.py house --list`: {sorted(house.relative_docstrings())}"


def test_no_function_is_longer_than_a_screen() -> None:
    assert house.long_functions() == []


def test_the_report_counts_and_lists() -> None:
    script = Path(house.__file__)
    told = subprocess.run([sys.executable, script, "--list"], capture_output=True, text=True, check=True).stdout
    assert f"lines in {len(house.trees())} files" in told
    assert all(f"{each.path}:{each.line}" in told for each in house.short_modules())
