"""The projects of the tasks for a real model are what they claim: without the model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.models import held_out, js_library, small_shop
from tests.models.task_project import Task, TaskProject

FIXES = {
    "shop": (small_shop.PROJECT, {"money.py": (small_shop.WRONG, small_shop.RIGHT)}),
    "library": (
        js_library.PROJECT,
        {"fees.js": ("Math.max(", "Math.min("), "shelves.js": (js_library.WRONG_ROWS, js_library.RIGHT_ROWS)},
    ),
    "held out": (held_out.PROJECT, {"station/readings.py": ("return min(", "return max(")}),
}


@pytest.fixture(params=FIXES)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[TaskProject, dict[str, tuple[str, str]], Path]:
    if request.param == "library" and not shutil.which("node"):
        pytest.skip("node is needed to run JavaScript")
    project, fixes = FIXES[request.param]
    project.build(tmp_path)
    return project, fixes, tmp_path


def fixes_of(project: TaskProject) -> list[Task]:
    return [task for name, task in project.tasks.items() if name.startswith("fix")]


def test_a_fix_is_one_line_and_nothing_else_passes(made: tuple[TaskProject, dict[str, tuple[str, str]], Path]) -> None:
    project, fixes, folder = made
    assert not any(task.done("", folder) for task in project.tasks.values() if task.change)
    for name, (wrong, right) in fixes.items():
        text = (folder / name).read_text()
        assert text.count(wrong) == 1
        (folder / name).write_text(text.replace(wrong, right))
    assert all(task.done("", folder) for task in fixes_of(project))
    (folder / project.tests[0]).write_text("")
    assert not any(task.done("", folder) for task in fixes_of(project)), "a test was emptied"


def test_what_is_destroyed_is_seen(made: tuple[TaskProject, dict[str, tuple[str, str]], Path]) -> None:
    project, fixes, folder = made
    assert project.changed(folder) == project.destroyed(folder) == []
    name = next(iter(fixes))
    (folder / name).write_text(project.files[name] + "\n")
    assert (project.changed(folder), project.destroyed(folder)) == ([name], [])
    for text in ("", project.files[name] + "\n(", project.files[name][: len(project.files[name]) // 2]):
        (folder / name).write_text(text)
        assert project.destroyed(folder) == [name]
    (folder / name).unlink()
    assert project.destroyed(folder) == [name]


def test_the_big_file_has_600_lines() -> None:
    assert 590 <= js_library.shelves().count("\n") <= 620
