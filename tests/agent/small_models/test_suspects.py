from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.small_models.suspects import MAX_SUSPECTS, find_suspects

MONEY = """\
def with_tax(total):
    return total


def percent(total, rate):
    return limit(total)


def limit(n):
    return n
"""
CART = (
    "import money\n\n\nclass Cart:\n    def total(self, rate):\n        return money.with_tax(money.percent(1, rate))\n"
)


def names(root: Path, code: str, *named: str) -> list[str]:
    return [each.name for each in find_suspects(sorted(root.iterdir()), code, named)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "cart.py").write_text(CART)
    (tmp_path / "money.py").write_text(MONEY)
    return tmp_path


def test_what_is_called_innermost_comes_first_and_what_the_failing_line_calls_last(project: Path) -> None:
    assert names(project, "assert cart.total(50) == 550") == ["limit", "percent", "with_tax", "total"]
    assert names(project, "assert cart.total(50) == 550", "with_tax")[-2:] == ["with_tax", "total"]
    assert names(project, "assert nothing(1)") == names(project, "") == []


def test_javascript_and_a_limit(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    functions = "".join(f"function f{n}(a) {{\n  return f{n + 1}(a);\n}}\n" for n in range(9))
    (tmp_path / "a.js").write_text(functions)
    assert names(tmp_path, "assert.equal(lib.f2(3), 60);") == [f"f{n}" for n in range(1 + MAX_SUSPECTS, 1, -1)]
