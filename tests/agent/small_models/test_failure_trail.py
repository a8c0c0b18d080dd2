from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.small_models.failure_trail import Trail, follow_failure

FILES = {
    "money.py": "def percent(total, rate):\n    return total + rate\n",
    "cart.py": "import money\n\n\ndef total(rate):\n    return money.percent(1000, rate)\n",
    "test_cart.py": "from cart import total\n\nassert total(\n    50,\n) == 500\n",
    "web/fees.js": "const days = require('./days');\n",
    "web/days.js": "const fees = require('./fees');\n",
    "web/test-fees.js": "const fees = require('./fees');\n\nassert.equal(fees.lateFee(3), 60);\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path.resolve()


def follow(root: Path, output: str, *others: str) -> tuple[list[str], str]:
    found: Trail = follow_failure(root, output, [root / name for name in others], Path.is_file)
    return [path.relative_to(root).as_posix() for path in found.files], found.code


def test_a_traceback_of_python_leads_through_the_test_to_what_is_imported(project: Path) -> None:
    output = f'Traceback (most recent call last):\n  File "{project}/test_cart.py", line 3, in <module>\nAssertionError'
    assert follow(project, output) == (
        ["test_cart.py", "cart.py", "money.py"],
        "assert total(\n    50,\n) == 500",
    )


@pytest.mark.parametrize(
    "place", ["at Object.<anonymous> ({}/web/test-fees.js:3:8)", "at file://{}/web/test-fees.js:3:8"]
)
def test_one_of_javascript_does_too_and_gives_the_line_that_it_does_not_show(project: Path, place: str) -> None:
    output = f"node:assert:126\nAssertionError: 2 !== 3\n    {place.format(project)}\n    at node:internal/main:28:49"
    files, code = follow(project, output)
    assert files == ["web/test-fees.js", "web/fees.js", "web/days.js"]
    assert code == "assert.equal(fees.lateFee(3), 60);"


def test_the_deepest_place_comes_before_the_others_and_files_elsewhere_are_left(project: Path) -> None:
    output = f"{project}/cart.py:5: in total\n{project}/money.py:2: TypeError\n/usr/lib/python3/json.py:3: no\n"
    assert follow(project, output)[0] == ["money.py", "cart.py"]


def test_what_is_only_named_is_where_it_begins(project: Path) -> None:
    assert follow(project, "FAILED (failures=1)", "test_cart.py")[0] == ["test_cart.py", "cart.py", "money.py"]
    assert follow(project, "nothing of ours") == ([], "")
