from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent.scripted import agent, ended, play, says
from tests.agent.small_models.test_preload import SMALL, called, yes
from yohaku.agent.small_models.reproduction import find_check

MONEY = "def percent(total, rate):\n    return total + total * rate // 100\n\n\ndef label(n):\n    return f'#{n}'\n"
WANTED = "money.percent(1000, 20) should give 800 but does not. Fix it."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "money.py").write_text(MONEY)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "tax.py").write_text("def rate():\n    return [1, 2]\n")
    (tmp_path / "fees.js").write_text("module.exports = { late: (n) => n > 2 };\n")
    return tmp_path


@pytest.mark.parametrize(
    ("prompt", "passes"),
    [
        (WANTED, False),
        ("money.percent(1000, 20) must return 1200.", True),
        ("`money.label(3)` should be '#3', is it?", True),
        ("shop.tax.rate() is supposed to give [1, 2]", True),
        ("money.percent(1000, 20) は 800 を返すはずです。直してください。", False),
        ("fees.late(3) should be true.", True),
        ("fees.late(1) should be true.", False),
    ],
)
def test_what_should_hold_is_a_command_that_fails_until_it_does(project: Path, prompt: str, passes: bool) -> None:
    command = find_check(project, prompt)
    if command.startswith("node") and not shutil.which("node"):
        pytest.skip("node is needed to run JavaScript")
    assert (subprocess.run(command, shell=True, cwd=project, capture_output=True).returncode == 0) is passes


@pytest.mark.parametrize(
    "prompt",
    [
        "money.percent(total, rate) should give 800.",
        "money.percent(__import__('os').system('x'), 1) should give 800.",
        "other.percent(1, 2) should give 3.",
        "money.percent(1000, 20) gives 1200.",
        "percent(1000, 20) should give 800.",
        "money.percent(1000, 20) should give an integer.",
    ],
)
def test_nothing_but_plain_values_and_functions_of_the_project_are_taken(project: Path, prompt: str) -> None:
    assert find_check(project, prompt) == ""


def test_it_is_run_first_and_after_each_change(project: Path) -> None:
    right = "```python\ndef percent(total, rate):\n    return total - total * rate // 100\n```"
    events = play(agent(project, says(right), says("Done."), tools=SMALL, allow=yes), WANTED)
    names = [name for name, _ in called(events)]
    assert names == ["bash", "read", "bash", "edit", "bash"], "the second traces the function"
    assert ended(events).problems == ()
