"""The package stays readable: one thing for one class name, docstrings that begin with what a thing is or does."""

from __future__ import annotations

import pytest
from scripts import house

MAX_SHARE = 0.05
"""Of a package's docstrings that open with What, Whether, Which, Where or Who."""

NOT_YET = {
    "tui": 0.23, "client": 0.12, "meters": 0.10, "dialects": 0.09,
}  # fmt: skip
"""Packages that are above, and where they are."""

SHARED_NAMES = {
    "_Session": "private to each reader of recorded sessions",
    "_Stream": "private to each dialect: its parser of streamed replies",
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
