"""Reader of how the work in a conversation went: commands run, failures still open, the plan.

Law: the newest is read first, and no further back than the caller allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from yohaku.analysis.file_access import READ_COMMANDS, FileAccess, find_accesses
from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.tool_calls import (
    QUERY_COMMANDS,
    find_command,
    find_complaint,
    find_exit_code,
    find_test_summary,
    has_failed,
    has_failed_tests,
    read_arguments,
    split_tool_name,
)
from yohaku.core.model import Step, Text, ToolUse, Turn


class ToolEvent(NamedTuple):
    """A tool call and what it did."""

    step: int
    use: ToolUse
    command: str | None
    """The shell command, for tools that run one."""
    failed: bool
    test_summary: str | None
    accesses: tuple[FileAccess, ...]

    attempt: str
    """Equal for calls that try the same: the command without `cd` and pipes, or the tool and its files."""
    only_looks: bool
    """The command changes nothing: its output matters, not that it ran."""


@dataclass(frozen=True, slots=True)
class Activity:
    events: tuple[ToolEvent, ...]
    """Oldest first; the oldest may be left out."""
    texts: tuple[tuple[int, str], ...]
    """Texts of the assistant with the number of their step, oldest first."""


def read_activity(turns: Sequence[Turn], limit: int = 4_000) -> Activity:
    """Return the newest calls and texts of the assistant, about `limit` of each at most."""
    events: list[ToolEvent] = []
    texts: list[tuple[int, str]] = []
    for number, step in _newest_first(turns):
        if len(events) >= limit or len(texts) >= limit:
            break
        for item in reversed(step.items):
            if isinstance(item, ToolUse):
                events.append(read_event(number, item))
            elif isinstance(item, Text):
                texts.append((number, item.text))
    return Activity(tuple(reversed(events)), tuple(reversed(texts)))


def _newest_first(turns: Sequence[Turn]) -> Iterator[tuple[int, Step]]:
    number = sum(len(turn.steps) for turn in turns)
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            number -= 1
            yield number, step


def read_event(number: int, use: ToolUse) -> ToolEvent:
    command = find_command(use)
    accesses = find_accesses(use)
    if command is None:
        attempt = " ".join((use.call.name, *(access.path for access in accesses)))
        return ToolEvent(number, use, None, has_failed(use), None, accesses, attempt, False)
    summary = find_test_summary(use.result.text)
    parts = [part for part in split_commands(command) if part.words]
    attempt = " && ".join(" ".join(part.words) for part in parts if not part.piped and part.words[0] != "cd")
    only_looks = all(map(_only_looks, parts)) and all(access.kind == "read" for access in accesses)
    failed = has_failed(use) or bool(summary and has_failed_tests(summary))
    return ToolEvent(number, use, command, failed, summary, accesses, attempt or command, only_looks)


LOOK_COMMANDS = (
    READ_COMMANDS | QUERY_COMMANDS | frozenset("sed echo pwd find tree cd wc sort awk jq true stat du".split())
)
_GIT_LOOK_COMMANDS = frozenset("log status diff show branch ls-files ls-tree rev-parse remote blame".split())
_LOOK_SUBCOMMANDS = frozenset("status list ls show view info describe checks help version ps logs".split())
_NOUN_FIRST = frozenset("gh glab docker podman kubectl aws gcloud az".split())
"""Programs whose verb is their second word: `gh pr view`."""
_HELP_OPTIONS = frozenset(("--help", "-h", "--version"))


def _only_looks(part: ShellCommand) -> bool:
    program, *rest = part.words
    if program in LOOK_COMMANDS or not _HELP_OPTIONS.isdisjoint(rest):
        return True
    if program == "git":
        return not _GIT_LOOK_COMMANDS.isdisjoint(rest)
    verbs = [word for word in rest if not word.startswith("-")]
    return not _LOOK_SUBCOMMANDS.isdisjoint(verbs[: 2 if program in _NOUN_FIRST else 1])


def describe_status(event: ToolEvent) -> str:
    """Return "ok", "failed" or "exit N"."""
    code = find_exit_code(event.use)
    if code is not None and not (code == 0 and event.failed):
        return f"exit {code}" if code else "ok"
    return "failed" if event.failed else "ok"


# Failures


class Failure(NamedTuple):
    event: ToolEvent
    solved: bool

    def lines(self, limit: int = 3) -> tuple[str, ...]:
        """Return the error lines, with the summary of the test run among them."""
        lines, summary = find_complaint(self.event.use, limit), self.event.test_summary
        if summary and limit > 1 and not any(summary in line for line in lines):
            return (*lines[: limit - 1], summary)
        return lines


def find_failures(events: Iterable[ToolEvent]) -> list[Failure]:
    """Return the last failure of each attempt, in order; it is solved if the same attempt worked later.

    Tests that failed are also solved by a later run of tests that takes in as much.
    """
    found: dict[str, Failure] = {}
    for event in events:
        if event.failed:
            found.pop(event.attempt, None)
            found[event.attempt] = Failure(event, False)
            continue
        worked = frozenset((event.attempt,))
        for attempt, failure in found.items():
            if not failure.solved and is_solved(failure.event, worked):
                found[attempt] = Failure(failure.event, True)
    return list(found.values())


def find_solved(steps: Iterable[Step]) -> frozenset[str]:
    """Return the attempts that worked the last time they were made in these steps."""
    worked = {event.attempt: not event.failed for step in steps for event in map(partial(read_event, 0), step.uses)}
    return frozenset(attempt for attempt, did in worked.items() if did)


_CHECK = re.compile(
    r"\b(?:tests?|pytest|unittest|jest|vitest|tox|nox|rspec|phpunit|ctest|e2e|build|compile|tsc|typecheck|lint|eslint|ruff"
    r"|mypy|clippy|vet|check|make|cargo|mvn|gradlew?|cmake|ninja|bazel|msbuild|xcodebuild|webpack|vite)\b"
)
_TEST = re.compile(r"\b(?:tests?|pytest|unittest|jest|vitest|tox|nox|rspec|phpunit|ctest|e2e)\b")


_NOT_FOUND = 127
"""Exit code of a shell that did not find the command: nothing was checked."""


def is_check(event: ToolEvent) -> bool:
    """Test for a command that checks the work (tests, a build, a linter), and whose failure is therefore a state."""
    ran = event.command is not None and find_exit_code(event.use) != _NOT_FOUND
    return ran and bool(event.test_summary or _CHECK.search(event.attempt))


def is_solved(event: ToolEvent, worked: frozenset[str]) -> bool:
    """Test whether what failed worked: the same attempt, or for tests another run of tests with no more words."""
    if event.attempt in worked:
        return True
    if not (event.test_summary or _TEST.search(event.attempt)):
        return False
    words = len(event.attempt.split())
    return any(_TEST.search(attempt) and len(attempt.split()) <= words for attempt in worked)


# The plan

_TASK_TEXTS = ("content", "step", "description", "subject", "task", "text", "title", "name")
_CHECKBOX = re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) \[([ xX~>/-])\] ([^\n]{1,300})", re.MULTILINE)
_TASK_NUMBER = re.compile(r"#(\w{1,20})")


def find_plan(activity: Activity) -> list[str]:
    """Return the newest list of tasks with their marks: of a tool that keeps one, or of a text."""
    tasks: dict[str, tuple[str, str]] = {}
    for event in activity.events:
        arguments = read_arguments(event.use)
        listed = _read_task_list(arguments)
        if listed:
            tasks = {str(number): task for number, task in enumerate(listed)}
        elif split_tool_name(event.use.call.name) & {"task", "todo"} and not event.failed:
            _update_task(tasks, event, arguments)
    if tasks:
        return [f"[{_mark_of(status)}] {text}" for text, status in tasks.values() if status != "deleted"]
    for _, text in reversed(activity.texts):
        boxes = _CHECKBOX.findall(text)
        if len(boxes) > 1:
            return [f"[{mark.lower()}] {task.strip()}" for mark, task in boxes]
    return []


def _read_task_list(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Return text and status of each task, for tools that are given the whole list in every call."""
    for value in arguments.values():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "status" in item for item in value):
            texts = [
                next((item[name] for name in _TASK_TEXTS if isinstance(item.get(name), str)), "") for item in value
            ]
            return [(_shorten_task(text), str(item["status"])) for text, item in zip(texts, value, strict=True) if text]
    return []


def _update_task(tasks: dict[str, tuple[str, str]], event: ToolEvent, arguments: dict[str, Any]) -> None:
    """Apply a call of a tool that keeps the list itself: tasks are created with a text and updated by number."""
    words = split_tool_name(event.use.call.name)
    titles = (arguments[name] for name in ("subject", "title", "content") if isinstance(arguments.get(name), str))
    text = next(titles, None)
    number = next((str(arguments[name]) for name in ("taskid", "todoid", "id") if name in arguments), None)
    if words & {"create", "add"} and text:
        assigned = _TASK_NUMBER.search(event.use.result.text[:200])
        tasks[assigned[1] if assigned else str(len(tasks) + 1)] = _shorten_task(text), "pending"
    elif words & {"update", "complete", "set"} and number is not None:
        old = tasks.get(number, (text or f"#{number}", "pending"))
        tasks[number] = _shorten_task(text or old[0]), str(arguments.get("status", old[1]))


def _mark_of(status: str) -> str:
    word = status.lower()
    if word in ("completed", "complete", "done", "finished", "closed", "cancelled", "canceled"):
        return "-" if word.startswith("cancel") else "x"
    return ">" if "progress" in word or word in ("active", "doing") else " "


def _shorten_task(text: str) -> str:
    return " ".join(text[:400].split())[:200]
