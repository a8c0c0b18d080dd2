"""What functions were given and gave back in a command that fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent.scripted import agent, play, says
from tests.agent.small_models.test_preload import SMALL, called, yes
from tests.agent.small_models.test_rewrites import CART, FAILS, MONEY, TEST
from tests.models import js_library
from yohaku.agent.small_models.traced_command import trace_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    for name, text in {"money.py": MONEY, "cart.py": CART, "test_cart.py": TEST}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "test_unit.py").write_text(
        "import unittest, money\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        print('noise')\n        self.assertEqual(money.percent(10, 10), 9)\n"
    )
    return tmp_path


def told(project: Path, command: str, *names: str) -> list[str]:
    traced = trace_command(command, names)
    ran = subprocess.run(traced, shell=True, cwd=project, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


def test_the_last_calls_of_each_function_are_told(project: Path) -> None:
    calls = ["percent(total=1000, rate=0) gave 1000", "percent(total=1000, rate=50) gave 1500"]
    assert told(project, "python3 -B test_cart.py", "percent") == calls
    assert told(project, "python3 test_cart.py", "total", "nothing")[-1] == "total(whole=1000, rate=50) gave 1650"


@pytest.mark.parametrize(
    "command", ["python3 -m unittest -q test_unit", "python3 -c '__import__(\"money\").percent(10, 10)'"]
)
def test_modules_and_code_are_run_too_and_what_they_print_is_not_shown(project: Path, command: str) -> None:
    assert told(project, command, "percent") == ["percent(total=10, rate=10) gave 11"]


def test_what_cannot_be_shown_does_no_harm(project: Path) -> None:
    (project / "odd.py").write_text(
        "class Odd:\n    def __repr__(self):\n        raise ValueError\n\n\n"
        "def made(a):\n    return 'x' * 999\n\n\nmade(Odd())\n"
    )
    (line,) = told(project, "python3 odd.py", "made")
    assert line.startswith("made(a=?) gave 'xxx") and len(line) < 100


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "python3 a.py && rm b",
        "python3 a.py > b",
        "python3",
        "python3 -X dev a.py",
        "npm test",
        "python3 'a",
    ],
)
def test_only_plain_calls_of_python_are_traced(command: str) -> None:
    assert trace_command(command, ["f"]) == ""


def test_pytest_is_a_module_of_python() -> None:
    assert trace_command("pytest -q tests", ["f"]).endswith("trace_calls.py f -m pytest -q tests")
    assert trace_command("pytest -q tests", []) == ""


def test_a_small_model_sees_it_before_it_is_asked(project: Path) -> None:
    events = play(agent(project, *[says("I cannot say.")] * 9, tools=SMALL, allow=yes), FAILS)
    (traced,) = [
        each["command"] for name, each in called(events) if name == "bash" and "trace_calls" in each["command"]
    ]
    assert traced.endswith("percent,with_tax,total test_cart.py")


def test_node_programs_are_traced_through_what_their_modules_export(tmp_path: Path) -> None:
    if not shutil.which("node"):
        pytest.skip("node is needed to run JavaScript")
    js_library.PROJECT.build(tmp_path)
    assert told(tmp_path, "node test-loans.js", "daysBetween", "lateFee", "takeBack", "nothing") == [
        "daysBetween(2026-03-28T00:00:00.000Z, 2026-04-02T00:00:00.000Z) gave 5",
        "lateFee(5) gave 900",
        "takeBack('Moby Dick', 2026-04-02T00:00:00.000Z) gave 900",
    ]
    assert trace_command("node --test", ["f"]) == ""
