from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit.lost_definitions import describe_loss, find_lost

TILL = """\
RATE = 3
SPARE = 4


class Till:
    def paid(self, total):
        return total * RATE

    def empty(self):
        return None


def doubled(value):
    return value * 2
"""
PAID = "    def paid(self, total):\n        return total * RATE\n"


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("value * 2", "2 * value", []),
        ("def doubled(value):\n    return value * 2\n", "", ["doubled"]),
        ("def doubled(value)", "def twice(value)", ["doubled"]),
        (PAID, "", ["paid"]),
        ("class Till:", "class Box:", ["Till"]),
        ("RATE = 3\n", "", ["RATE"]),
        ("SPARE = 4\n", "", []),
        ("RATE = 3\n", "RATE: int = 5\n", []),
    ],
)
def test_a_definition_is_lost_whose_name_is_gone(old: str, new: str, lost: list[str]) -> None:
    assert find_lost(TILL, TILL.replace(old, new), "till.py") == lost


def test_javascript_is_looked_through_too() -> None:
    pytest.importorskip("tree_sitter_javascript")
    source = "const LIMIT = 3;\nconst half = (n) => {\n  return n / 2;\n};\nfunction few(n) {\n  return n < LIMIT;\n}\n"
    assert find_lost(source, source.replace("half", "third"), "a.js") == ["half"]
    assert find_lost(source, source.replace("function few", "function many"), "a.js") == ["few"]
    assert find_lost(source, source.replace("const LIMIT = 3;\n", ""), "a.js") == ["LIMIT"]


def test_what_the_user_names_is_meant() -> None:
    gone = TILL.replace("def doubled(value):\n    return value * 2\n", "")
    assert describe_loss(TILL, gone, "till.py", "Remove doubled from till.py.") == ""
    assert describe_loss(TILL, gone, "till.py", "Tidy up.") == (
        "till.py would lose doubled, which was not to be removed."
    )
    assert describe_loss(TILL, "\n", "till.py", "Tidy up.") == "till.py would be empty."
    assert describe_loss("", "", "a.txt", "") == describe_loss("a", "b", "a.txt", "") == ""


def test_a_small_model_takes_no_definition_out_unasked(tmp_path: Path) -> None:
    (tmp_path / "till.py").write_text(TILL)
    bench = ABench(tmp_path)
    bench.use("read", path="till.py")
    bench.careful = True
    given = bench.use("edit", path="till.py", old_string=PAID, new_string="")
    assert given.error and "would lose paid" in given.text
    assert bench.use("edit", path="till.py", old_string=TILL, new_string="").error
    assert (tmp_path / "till.py").read_text() == TILL and not bench.asked
    bench.prompt = "The method paid is not needed any more: delete it."
    assert not bench.use("edit", path="till.py", old_string=PAID, new_string="").error
    bench.careful = False
    assert not bench.use("edit", path="till.py", old_string="def doubled", new_string="def twice").error
