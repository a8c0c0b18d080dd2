"""Edits after which a file does not parse: told at once, and refused to small models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit.syntax_errors import find_breakage

GOOD = {
    "a.py": "def f(x):\n    return (x + 1)\n",
    "a.json": '{"a": [1, 2]}\n',
    "a.toml": '[tool]\nname = "x"\n',
    "a.js": "function f(x) {\n  return x + 1;\n}\n",
    "a.go": "package a\n\nfunc f(x int) int {\n\treturn x + 1\n}\n",
    "a.rs": "fn f(x: i32) -> i32 {\n    x + 1\n}\n",
}
EDITS = {
    "a.py": ("(x + 1)", "(x + 1"),
    "a.json": ("2]", "2"),
    "a.toml": ('"x"', '"x'),
    "a.js": ("x + 1;\n}", "x + 1;\n"),
    "a.go": ("x + 1\n}", "x + 1\n"),
    "a.rs": ("x + 1\n}", "x + 1\n"),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_model_is_told_at_once_that_a_file_no_longer_parses(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD[name])
    old, new = EDITS[name]
    given = ABench(tmp_path).use("edit", path=name, old_string=old, new_string=new)
    assert not given.error and f"Warning: {name} no longer parses: line " in given.text
    assert (tmp_path / name).read_text() == GOOD[name].replace(old, new)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_breaks_a_file_is_refused_to_a_small_model(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD[name])
    bench = ABench(tmp_path)
    bench.careful = True
    old, new = EDITS[name]
    given = bench.use("edit", path=name, old_string=old, new_string=new)
    assert given.error and given.text.startswith(
        f"Refused, nothing was changed. With this edit {name} no longer parses"
    )
    assert (tmp_path / name).read_text() == GOOD[name] and not bench.asked


def test_the_note_names_the_line_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GOOD["a.py"])
    given = ABench(tmp_path).use("edit", path="a.py", old_string="(x + 1)", new_string="(x + 1")
    assert given.text == (
        "Edited a.py (+1 -1 lines).\n"
        "Warning: a.py no longer parses: line 2: '(' was never closed.\n2\t    return (x + 1 Correct it."
    )


def test_a_new_file_that_does_not_parse_is_written_and_told(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.careful = True
    given = bench.use("write", path="new.py", content="def f(:\n    pass\n")
    assert not given.error and "Warning: new.py does not parse: line 1: invalid syntax" in given.text


def test_a_small_step_in_a_broken_file_is_allowed_and_says_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n    pass\n\n\ndef g(:\n    pass\n")
    bench = ABench(tmp_path)
    bench.careful = True
    given = bench.use("edit", path="a.py", old_string="def f(:", new_string="def f():")
    assert not given.error and "a.py still does not parse: line 5" in given.text
    given = bench.use("edit", path="a.py", old_string="def g(:", new_string="def g():")
    assert given.text == "Edited a.py (+1 -1 lines)."


def test_code_that_parses_but_cannot_be_compiled_counts_as_broken() -> None:
    found = find_breakage(GOOD["a.py"], "x = 1\nreturn x\n", "a.py")
    assert found and found.fault == (2, "'return' outside function")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("tsconfig.json", None, '{\n  // comments are fine here\n  "strict": true\n}\n'),
        ("data.json", '{"a": 1, // why\n}\n', '{"a": 2, // why\n}\n'),
        ("a.h", None, "BEGIN_DECLS\nint f(void) __attr(x) MACRO;\nEND_DECLS\n"),
        ("a.txt", "(", "(("),
        ("a.py", "x = (1)\n", ""),
        ("template.yaml", "a: 1\n", "a: [1\n"),
    ],
)
def test_where_a_parser_cannot_be_trusted_nothing_is_said(name: str, before: str | None, after: str) -> None:
    assert find_breakage(before, after, name) is None


LONG = "".join(f"line_{n} = {n}\n" for n in range(12))


def careful_write(root: Path, content: str) -> tuple[bool, str]:
    (root / "a.py").write_text(LONG)
    bench = ABench(root)
    bench.careful = True
    bench.use("read", path="a.py")
    given = bench.use("write", path="a.py", content=content)
    return given.error, given.text


def test_a_small_model_may_not_throw_away_most_of_a_file(tmp_path: Path) -> None:
    error, text = careful_write(tmp_path, "line_3 = 4\n# the rest as before\n")
    assert error and "12 of the 12 lines of a.py would be lost" in text
    assert (tmp_path / "a.py").read_text() == LONG


def test_a_small_model_may_write_a_file_again_with_some_lines_changed(tmp_path: Path) -> None:
    error, _ = careful_write(tmp_path, LONG.replace("line_3 = 3", "line_3 = 4") + "last = 1\n")
    assert not error and "line_3 = 4" in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize(
    "content",
    [
        '{"name": "write", "arguments": {"path": "a.py", "content": "x = 1"}}',
        '<tool_call>\n{"name": "edit", "arguments": {"path": "a.py"}}\n</tool_call>',
        '```json\n{"name": "write", "arguments": {"path": "b.py", "content": "x"}}\n```',
    ],
)
def test_a_small_model_may_not_write_its_own_call_into_a_file(tmp_path: Path, content: str) -> None:
    bench = ABench(tmp_path)
    bench.careful = True
    given = bench.use("write", path="new.txt", content=content)
    assert given.error and "the content is a tool call" in given.text and not (tmp_path / "new.txt").exists()
    bench.careful = False
    assert not bench.use("write", path="new.txt", content=content).error
