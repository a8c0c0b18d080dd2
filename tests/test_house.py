"""The package stays readable: one thing for one class name, docstrings that begin with what a thing is or does."""

from __future__ import annotations

import pytest
from scripts import house

MAX_SHARE = 0.05
"""Of a package's docstrings that open with What, Whether, Which, Where or Who."""

NOT_YET = {
    "messages": 0.64, "core": 0.40, "analysis": 0.38, "client": 0.36, "session": 0.32, "digest": 0.32, "lab": 0.29,
    "summary": 0.28, "passes": 0.27, "cli": 0.26, "agent": 0.26, "tui": 0.25, "config": 0.23, "mcp": 0.22,
    "recall": 0.21, "doctor": 0.20, "dialects": 0.18, "stores": 0.11, "meters": 0.11, "recipes": 0.10,
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


def test_the_report_counts_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main("--list") == 0
    told = capsys.readouterr().out
    assert f"lines in {len(house.trees())} files" in told
    assert all(f"{each.path}:{each.line}" in told for each in house.short_modules())
