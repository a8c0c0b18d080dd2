from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.benches import ABench

BOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# 題\n"]},
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {},
            "source": ["1"],
            "outputs": [{"text": ["1"]}],
            "execution_count": 3,
        },
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def edited(root: Path, **given: Any) -> list[dict[str, Any]]:
    (root / "a.ipynb").write_text(json.dumps(BOOK, indent=1, ensure_ascii=False) + "\n")
    said = ABench(root).use("notebook_edit", path="a.ipynb", **given)
    assert not said.error, said.text
    text = (root / "a.ipynb").read_text()
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return cells


def test_a_cell_is_replaced_and_loses_its_old_output(tmp_path: Path) -> None:
    cells = edited(tmp_path, cell=1, source="a = 1\nb = 2")
    first, second = BOOK["cells"]
    assert cells == [first, {**second, "source": ["a = 1\n", "b = 2"], "outputs": [], "execution_count": None}]


def test_a_cell_is_inserted_with_an_id_of_its_own(tmp_path: Path) -> None:
    cells = edited(tmp_path, cell=2, source="x", mode="insert", cell_type="markdown")
    assert cells[2] == {"cell_type": "markdown", "metadata": {}, "source": ["x"], "id": "cell-0"}


def test_a_cell_is_deleted(tmp_path: Path) -> None:
    assert [cell["id"] for cell in edited(tmp_path, cell=0, mode="delete")] == ["b"]


@pytest.mark.parametrize("given", [{"cell": 9, "source": "x"}, {"cell": 0}, {"cell": -1, "mode": "delete"}])
def test_what_cannot_be_done_is_told(tmp_path: Path, given: dict[str, Any]) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(BOOK))
    assert ABench(tmp_path).use("notebook_edit", path="a.ipynb", **given).error
    (tmp_path / "b.ipynb").write_text("[]")
    assert ABench(tmp_path).use("notebook_edit", path="b.ipynb", **given).text == "b.ipynb is no notebook."
