from __future__ import annotations

import json
from typing import Any

import pytest

from yohaku.analysis.activity import describe_status, find_failures, find_plan, is_check, read_activity
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn


def use(name: str, arguments: dict[str, Any], result: str = "", error: bool = False) -> ToolUse:
    return ToolUse(Call("1", name, json.dumps(arguments)), Result((Text(result),), error))


def shell(command: str, result: str = "") -> ToolUse:
    return use("bash", {"command": command}, result)


def turns(*items: ToolUse | Text) -> list[Turn]:
    return [Turn((Text("go"),), tuple(Step((item,)) for item in items))]


def test_the_newest_calls_are_looked_at_in_order() -> None:
    told = read_activity(turns(shell("a"), shell("b"), Text("said"), shell("c")), limit=2)
    assert [(event.step, event.command) for event in told.events] == [(1, "b"), (3, "c")]
    assert told.texts == ((2, "said"),)


@pytest.mark.parametrize(
    ("ran", "looks"),
    [
        ("cat a | head", True),
        ("git log -3", True),
        ("grep x a > b", False),
        ("make", False),
        ("cd x && git push", False),
        ("gh pr view 12 --comments", True),
        ("docker ps", True),
        ("entire configure --help", True),
        ("entire configure --remote github:a/b --local", False),
        ("npm install list", False),
    ],
)
def test_a_command_that_only_looks_is_known(ran: str, looks: bool) -> None:
    (event,) = read_activity(turns(shell(ran))).events
    assert event.only_looks is looks


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("fine", "ok"),
        ("Exit code 3\nx", "exit 3"),
        ("<returncode>0</returncode>", "ok"),
        ("= 1 failed in 1s =", "ok"),
        ("== 1 failed in 1s ==", "failed"),
    ],
)
def test_the_status_of_a_command(result: str, said: str) -> None:
    (event,) = read_activity(turns(shell("x", result))).events
    assert describe_status(event) == said


def test_an_error_is_solved_when_the_same_attempt_works() -> None:
    events = read_activity(
        turns(
            shell("cd x && make test 2>&1 | tail", "Exit code 1\nerror: one"),
            shell("make lint", "Exit code 1\nerror: two"),
            use("Edit", {"file_path": "a"}, "x", error=True),
            shell("make test", "fine"),
        )
    ).events
    assert [(one.event.attempt, one.solved, one.lines()) for one in find_failures(events)] == [
        ("make test", True, ("error: one",)),
        ("make lint", False, ("error: two",)),
        ("Edit a", False, ("x",)),
    ]


def test_failed_tests_are_solved_by_a_run_of_as_many_and_not_by_one_of_fewer() -> None:
    failed = shell("go test -v ./...", "Exit code 1\n--- FAIL: TestA (0.02s)")
    narrow = shell("go test -v ./... -run TestB -count 1", "ok  \tpkg\t0.1s")
    assert [one.solved for one in find_failures(read_activity(turns(failed, narrow)).events)] == [False]
    whole = shell("mise run test", "ok  \tpkg\t0.1s")
    assert [one.solved for one in find_failures(read_activity(turns(failed, whole)).events)] == [True]


@pytest.mark.parametrize(
    ("command", "checks"),
    [("make lint", True), ("npm run build", True), ("git config --get wt.hook", False), ("cat missing.txt", False)],
)
def test_only_a_check_leaves_something_failing(command: str, checks: bool) -> None:
    (event,) = read_activity(turns(shell(command, "Exit code 1"))).events
    assert is_check(event) is checks


def test_a_call_that_the_user_refused_did_not_work() -> None:
    refused = shell(
        "git push --force", "The user doesn't want to proceed with this tool use. The tool use was rejected."
    )
    (event,) = read_activity(turns(refused)).events
    assert event.failed


def test_failing_tests_are_trouble_even_where_a_pipe_hides_the_exit_code() -> None:
    (event,) = read_activity(turns(shell("pytest | tail", "E  ValueError: 1\n== 1 failed in 1s =="))).events
    (one,) = find_failures([event])
    assert one.lines() == ("E ValueError: 1", "1 failed in 1s")


TODOS = [
    {"content": "one", "status": "completed"},
    {"content": "two", "status": "in_progress"},
    {"content": "three", "status": "pending"},
]


@pytest.mark.parametrize(
    "call",
    [
        use("TodoWrite", {"todos": TODOS}),
        use("update_plan", {"plan": [{"step": item["content"], "status": item["status"]} for item in TODOS]}),
    ],
)
def test_the_plan_is_the_newest_list_with_its_marks(call: ToolUse) -> None:
    older = use("TodoWrite", {"todos": [{"content": "zero", "status": "pending"}]})
    assert find_plan(read_activity(turns(older, call))) == ["[x] one", "[>] two", "[ ] three"]


def test_a_plan_kept_task_by_task_is_put_together() -> None:
    told = read_activity(
        turns(
            use("TaskCreate", {"subject": "one"}, "Task #1 created"),
            use("TaskCreate", {"subject": "two"}, "Task #2 created"),
            use("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated"),
        )
    )
    assert find_plan(told) == ["[x] one", "[ ] two"]


def test_a_checklist_in_a_text_is_a_plan_too() -> None:
    assert find_plan(read_activity(turns(Text("Plan:\n- [x] one\n- [ ] two\nGo."), Text("ok")))) == [
        "[x] one",
        "[ ] two",
    ]
