from __future__ import annotations

import json
from typing import Any

import pytest

from yohaku.analysis import tool_calls
from yohaku.analysis.tool_calls import (
    describe_call,
    find_command,
    find_complaint,
    find_errors,
    find_exit_code,
    has_failed,
    has_failed_tests,
    split_tool_name,
)
from yohaku.core.model import Call, Result, Text, ToolUse


def use(name: str, arguments: dict[str, Any] | str, result: str = "", error: bool = False) -> ToolUse:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolUse(Call("1", name, given), Result((Text(result),), error))


# What was run


@pytest.mark.parametrize(
    ("name", "arguments", "ran"),
    [
        ("Bash", {"command": "ls -la", "description": "look"}, "ls -la"),
        ("exec_command", {"cmd": "git status", "workdir": "/x"}, "git status"),
        ("shell", {"command": ["bash", "-lc", "cat a | head"]}, "cat a | head"),
        ("shell", {"command": ["cat", "a b.py"]}, "cat 'a b.py'"),
        ("local_shell", {"action": {"command": ["ls", "x"]}}, "ls x"),
        ("execute", {"action": "open a.py\n"}, "open a.py"),
        ("run_shell_command", "ls -F", "ls -F"),
        ("str_replace_editor", {"command": "view", "path": "/a"}, None),
        ("task", {"command": "review", "prompt": "x"}, None),
        ("Bash", {"command": ""}, None),
        ("Read", {"file_path": "/a"}, None),
        ("bash", "[1, 2", None),
    ],
)
def test_the_command_of_a_call_is_found(name: str, arguments: dict[str, Any] | str, ran: str | None) -> None:
    assert find_command(use(name, arguments)) == ran


def test_a_tools_name_is_read_by_its_words() -> None:
    assert (
        split_tool_name("read_file")
        == split_tool_name("fs.readFile") - {"fs"}
        == split_tool_name("ReadFile")
        == {"read", "file"}
    )


# How it ended


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("Exit code 1\nboom", 1),
        ("<returncode>0</returncode>\n<output>\n</output>", 0),
        ("Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 128\nOutput:\n", 128),
        ("out\n<shellId: 3 completed with exit code 2>", 2),
        ("out\n\nCommand exited with code 7", 7),
        ("[The command completed with exit code 0.]", 0),
        ('{"output":"x","metadata":{"exit_code":3,"duration_seconds":0.1}}', 3),
        ("Stdout: x\nExit Code: 4\nSignal: 0", 4),
        ("out\n[exit 5]", 5),
        ("終了コード: 6", 6),
        ("killed\nexit code: -9", -9),
        ("exit: 0", None),
        ("all is well", None),
        ("", None),
    ],
)
def test_an_exit_code_is_found_where_tools_say_it(result: str, code: int | None) -> None:
    assert find_exit_code(use("bash", {"command": "x"}, result)) == code


def test_the_tool_is_believed_before_the_output() -> None:
    assert find_exit_code(use("bash", {"command": "x"}, "Exit code 1\nlog\nexited with code 0")) == 1


@pytest.mark.parametrize(
    ("failing", "is_so"),
    [
        (use("bash", {"command": "make"}, "Exit code 2\n"), True),
        (use("bash", {"command": "make"}, "fine"), False),
        (use("bash", {"command": "grep x a"}, "Exit code 1", error=True), False),
        (use("bash", {"command": "grep x a"}, "Exit code 2", error=True), True),
        (
            use("Edit", {"file_path": "a"}, "<tool_use_error>String to replace not found in file.</tool_use_error>"),
            True,
        ),
        (use("editor", {"path": "a"}, "ERROR:\nNo replacement was performed."), True),
        (use("read", {"path": "a"}, "Error: File not found: a"), True),
        (use("read", {"path": "a"}, "1: errors are values"), False),
    ],
)
def test_a_call_failed_if_it_or_its_result_says_so(failing: ToolUse, is_so: bool) -> None:
    assert has_failed(failing) is is_so


# Tests


@pytest.mark.parametrize(
    ("said", "summary", "red"),
    [
        ("...\n===== 1 failed, 2 passed in 0.44s =====\n", "1 failed, 2 passed in 0.44s", True),
        ("\x1b[32m==== \x1b[1m179 passed\x1b[0m in 0.80s ====\x1b[0m", "179 passed in 0.80s", False),
        ("Ran 3 tests in 0.01s\n\nFAILED (failures=1)", "Ran 3 tests in 0.01s, FAILED (failures=1)", True),
        ("Ran 3 tests in 0.01s\n\nOK (expected failures=2)", "Ran 3 tests in 0.01s, OK (expected failures=2)", False),
        ("Tests:       1 failed, 5 passed, 6 total\nTime: 2 s", "Tests: 1 failed, 5 passed, 6 total", True),
        ("      Tests  5 passed (5)\n", "Tests 5 passed (5)", False),
        ("ok  \ta/b\t0.1s\nFAIL\ta/c\t0.2s\nok  \ta/d\t0.1s\n", "FAIL a/c 0.2s", True),
        ("ok  \ta/b\t0.1s\nok  \ta/d\t(cached)\n", "ok a/d (cached)", False),
        ("test result: ok. 3 passed; 0 failed; 0 ignored", "test result: ok. 3 passed; 0 failed; 0 ignored", False),
        (
            " 12 pass\n 0 fail\nRan 12 tests across 2 files. [9ms]",
            "12 pass, 0 fail, Ran 12 tests across 2 files. [9ms]",
            False,
        ),
        ("  5 passing (20ms)\n  1 failing\n", "5 passing (20ms), 1 failing", True),
        ("# pass 4\n# fail 1\n", "# pass 4, # fail 1", True),
        ("Tests run: 5, Failures: 1, Errors: 0", "Tests run: 5, Failures: 1, Errors: 0", True),
        ("12 examples, 0 failures", "12 examples, 0 failures", False),
    ],
)
def test_a_test_run_is_summed_up_in_its_own_words(said: str, summary: str, red: bool) -> None:
    assert tool_calls.find_test_summary(said) == summary
    assert has_failed_tests(summary) is red


def test_what_is_no_test_run_has_no_summary() -> None:
    assert tool_calls.find_test_summary("The tests are in tests/.\nOKAY\n12 files changed") is None


# Errors


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ('Traceback:\n  File "a.py"\n    raise ValueError(x)\nValueError: 12', ("ValueError: 12",)),
        ("src/a.ts(3,2): error TS2345: no\nfine", ("src/a.ts(3,2): error TS2345: no",)),
        ("a.go:3:1: undefined: x\nok", ("a.go:3:1: undefined: x",)),
        ("panic: oh no\ngoroutine 1", ("panic: oh no",)),
        ("cat: x: No such file or directory", ("cat: x: No such file or directory",)),
        ("ERROR:\nNo replacement was performed.", ("ERROR: No replacement was performed.",)),
        ("エラー: ファイルが開けません", ("エラー: ファイルが開けません",)),
        ("設定ファイルが見つかりません。", ("設定ファイルが見つかりません。",)),
        ("0 errors, 0 warnings", ()),
        ("エラーはありません", ()),
        ("", ()),
    ],
)
def test_the_lines_that_say_what_went_wrong_are_found(said: str, lines: tuple[str, ...]) -> None:
    assert find_errors(said) == lines


def test_of_many_errors_the_first_and_the_last_are_given() -> None:
    said = "\n".join(f"error: {number}" for number in range(9))
    assert find_errors(said, limit=3) == ("error: 0", "error: 1", "error: 8")
    assert find_errors(said, limit=0) == ()


def test_a_sure_error_goes_before_what_may_be_one() -> None:
    assert find_errors("x: command not found\nKeyError: 'a'") == ("KeyError: 'a'",)


def test_a_long_line_is_shown_around_its_error() -> None:
    (line,) = find_errors("x" * 5_000 + " error: here " + "y" * 5_000)
    assert "error: here" in line
    assert len(line) <= 240


def test_a_refusal_gives_the_users_reason() -> None:
    refused = use(
        "Edit", {"file_path": "a"}, "The user doesn't want this. To go on, the user said:\nuse b.py", error=True
    )
    assert find_complaint(refused) == ("the user said: use b.py",)


def test_where_nothing_sounds_like_an_error_the_last_line_is_given() -> None:
    assert find_complaint(use("bash", {"command": "x"}, "Exit code 1\nfirst\nlast words")) == ("last words",)
    assert find_complaint(use("bash", {"command": "x"}, "Exit code 1")) == ()


def test_what_passed_is_not_why_a_call_failed() -> None:
    hooks = "Exit code 1\ngitleaks........Passed\nbug: the script is in migration mode\ncommitizen check.....Passed"
    assert find_complaint(use("bash", {"command": "git commit"}, hooks)) == ("bug: the script is in migration mode",)
    assert find_complaint(use("bash", {"command": "x"}, "Exit code 1\nlast words\nlint passed")) == ("last words",)
    assert find_complaint(use("bash", {"command": "x"}, "Exit code 1\nlint passed")) == ("lint passed",)


@pytest.mark.parametrize("piece", ["a", " ", "error: ", "=== 1 passed", "1 failed, ", "\n", ":1:1", "A"])
def test_a_huge_text_is_no_trouble(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(find_errors(text)) <= 3
    assert len(tool_calls.find_test_summary(text) or "") < 300


def test_a_call_is_described_by_what_was_run_not_where() -> None:
    assert describe_call(use("bash", {"command": "cd /x && git -C /y log 2>&1"})) == "git log"
    assert describe_call(use("Read", {"file_path": "/a/b.py", "limit": 3})) == "Read /a/b.py"
    assert describe_call(use("bash", {"command": "echo " + "x" * 500}), limit=20) == "echo xxxxxxxxxxxxxx…"
