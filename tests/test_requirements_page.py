"""The page of requirements names every one of them once, each with tests that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "requirements.md").read_text("utf-8")
LAST_NUMBERS = {"L": 18, "C": 13, "O": 8, "K": 11, "P": 10, "S": 10, "T": 3}
IDS = [f"{letter}{number}" for letter, last in LAST_NUMBERS.items() for number in range(1, last + 1)]
ROW = re.compile(r"^\| ([A-Z][0-9]+) \|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
NOT_PROVED = re.compile(r"\b(not tested|partly)\b", re.IGNORECASE)


def rows() -> list[tuple[str, list[str]]]:
    """Each id with the cells behind it."""
    return [(name, [cell.strip() for cell in rest.split("|")]) for name, rest in ROW.findall(PAGE)]


@cache
def functions_of(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    return frozenset(node.name for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))


def test_every_requirement_stands_on_the_page_once() -> None:
    assert Counter(name for name, _ in rows()) == Counter(IDS)


@pytest.mark.parametrize(("name", "cells"), rows(), ids=[name for name, _ in rows()])
def test_every_requirement_has_a_place_and_tests_that_exist(name: str, cells: list[str]) -> None:
    assert len(cells) == 3 and all(cells), name
    proof = cells[-1]
    named = TEST.findall(proof)
    assert len(named) == proof.count("`tests/") == proof.count("::"), "each is written as `tests/path.py::test_name`"
    assert named and not NOT_PROVED.search(" ".join(cells)), "every row has a test where a user meets it"
    assert [f"{path}::{test}" for path, test in named if test not in functions_of(path)] == []


@pytest.mark.shared
def test_every_id_of_the_list_of_requirements_is_on_the_page(shared: Path) -> None:
    listed = ROW.findall((shared / "REQUIREMENTS.md").read_text("utf-8"))
    assert Counter(name for name, _ in listed) == Counter(name for name, _ in rows())
