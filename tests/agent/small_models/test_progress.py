from __future__ import annotations

import pytest

from yohaku.agent.small_models.progress import has_helped, last_line, read_failure

TRACE = 'Traceback:\n  File "/p/test_till.py", line {line}, in <module>\n    assert x\nAssertionError: {why}\n[exit 1]'
NODE = "AssertionError: 1 !== 2\n    at Object.<anonymous> (/p/test-fees.js:{line}:8)\n\nNode.js v20\n[exit 1]"


@pytest.mark.parametrize(
    ("before", "after", "helped"),
    [
        (TRACE.format(line=4, why="gave 1200"), TRACE.format(line=4, why="gave 980"), False),
        (TRACE.format(line=4, why="gave 1200"), TRACE.format(line=6, why="gave 980"), True),
        (TRACE.format(line=4, why="a"), TRACE.format(line=3, why="b"), False),
        (NODE.format(line=4), NODE.format(line=5), True),
        (NODE.format(line=4), NODE.format(line=4), False),
        ("2 failed, 3 passed in 0.1s", "1 failed, 4 passed in 0.1s", True),
        ("1 failed, 4 passed in 0.1s", "3 failed, 2 passed in 0.1s", False),
        ("FAILED (failures=1, errors=1)", "FAILED (failures=1)", True),
        ("FAILED (failures=1)", "FAILED (failures=1)", False),
        ("# pass 1\n# fail 2", "# pass 2\n# fail 1", True),
        (TRACE.format(line=4, why="a"), "SyntaxError: invalid syntax", False),
        ("ImportError: no module named x", TRACE.format(line=4, why="a"), True),
        ("it is broken\n[exit 1]", "it is broken\n[exit 2]", False),
        ("it is broken", "something else is broken", None),
    ],
)
def test_a_change_helps_if_less_fails_or_later(before: str, after: str, helped: bool | None) -> None:
    assert has_helped(read_failure(before), read_failure(after)) is helped


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (TRACE.format(line=4, why="gave 1200"), "AssertionError: gave 1200"),
        (
            "AssertionError [ERR]: not equal:\n\n900 !== 60\n\n    at x\n\nNode.js v20\n[exit 1]",
            "AssertionError [ERR]: not equal: 900 !== 60",
        ),
        ("AssertionError: 1 != 2\n\n----\nRan 2 tests\n\nFAILED (failures=1)\n[exit 1]", "AssertionError: 1 != 2"),
        ("make: nothing to do\nit failed\n[exit 2]", "it failed"),
        ("", ""),
    ],
)
def test_the_line_that_says_why_is_the_last_that_names_an_error(output: str, line: str) -> None:
    assert last_line(output) == line
