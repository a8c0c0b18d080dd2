"""How the work in a conversation went: what was run, what is still wrong, what was decided, what is planned.

Law: the newest is looked at first, and no further back than asked; what is told is told in the words it was said in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from yohaku.analysis.file_access import find_accesses
from yohaku.analysis.sentences import lower_in_place
from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.shell_files import READERS
from yohaku.analysis.tool_calls import (
    QUERY_COMMANDS,
    find_command,
    find_complaint,
    find_exit_code,
    find_test_summary,
    has_failed,
    read_arguments,
    split_tool_name,
    tests_failed,
)
from yohaku.analysis.touch import FileAccess
from yohaku.core.model import Step, Text, ToolUse, Turn


class ToolEvent(NamedTuple):
    """One call, looked at."""

    step: int
    use: ToolUse
    ran: str | None
    """The shell command, if it is one."""
    bad: bool
    tests: str | None
    touches: tuple[FileAccess, ...]

    key: str
    """What makes two calls the same attempt: the command without `cd` and what trims its output, or tool and file."""
    looks: bool
    """Whether a command only looked at things: what it saw counts, not that it was run."""


@dataclass(frozen=True, slots=True)
class Activity:
    events: tuple[ToolEvent, ...]
    """In order; the oldest may be left out."""
    said: tuple[tuple[int, str], ...]
    """What the assistant said, with the number of its step, in order."""


def read_activity(turns: Sequence[Turn], most: int = 4_000) -> Activity:
    """The newest `most` calls, and what was said around them."""
    events: list[ToolEvent] = []
    said: list[tuple[int, str]] = []
    for number, step in _newest_first(turns):
        if len(events) >= most or len(said) >= most:
            break
        for item in reversed(step.items):
            if isinstance(item, ToolUse):
                events.append(_read_event(number, item))
            elif isinstance(item, Text):
                said.append((number, item.text))
    return Activity(tuple(reversed(events)), tuple(reversed(said)))


def _newest_first(turns: Sequence[Turn]) -> Iterator[tuple[int, Step]]:
    number = sum(len(turn.steps) for turn in turns)
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            number -= 1
            yield number, step


def _read_event(number: int, use: ToolUse) -> ToolEvent:
    ran = find_command(use)
    done = find_accesses(use)
    if ran is None:
        key = " ".join((use.call.name, *(touch.path for touch in done)))
        return ToolEvent(number, use, None, has_failed(use), None, done, key, False)
    summary = find_test_summary(use.result.text)
    parts = [part for part in split_commands(ran) if part.words]
    key = " && ".join(" ".join(part.words) for part in parts if not part.piped and part.words[0] != "cd")
    looks = all(map(_only_looks, parts)) and all(touch.how == "read" for touch in done)
    bad = has_failed(use) or bool(summary and tests_failed(summary))
    return ToolEvent(number, use, ran, bad, summary, done, key or ran, looks)


LOOK_COMMANDS = READERS | QUERY_COMMANDS | frozenset("sed echo pwd find tree cd wc sort awk jq true stat du".split())
_GIT_LOOK_COMMANDS = frozenset("log status diff show branch ls-files ls-tree rev-parse remote blame".split())


def _only_looks(part: ShellCommand) -> bool:
    return part.words[0] in LOOK_COMMANDS or (part.words[0] == "git" and not _GIT_LOOK_COMMANDS.isdisjoint(part.words))


def describe_status(event: ToolEvent) -> str:
    code = find_exit_code(event.use)
    if code is not None and not (code == 0 and event.bad):
        return f"exit {code}" if code else "ok"
    return "failed" if event.bad else "ok"


# Errors


class Failure(NamedTuple):
    event: ToolEvent
    solved: bool

    def lines(self, most: int = 3) -> tuple[str, ...]:
        """What went wrong, with what the tests came to."""
        told, summary = find_complaint(self.event.use, most), self.event.tests
        if summary and most > 1 and not any(summary in line for line in told):
            return (*told[: most - 1], summary)
        return told


def find_failures(events: Iterable[ToolEvent]) -> list[Failure]:
    """The last failure of each attempt, in order, and whether the same attempt worked later."""
    found: dict[str, Failure] = {}
    for event in events:
        if event.bad:
            found.pop(event.key, None)
            found[event.key] = Failure(event, False)
        elif event.key in found:
            found[event.key] = Failure(found[event.key].event, True)
    return list(found.values())


# Decisions

# In small letters, and with the words first: so the search goes through a text at the pace of its first letters.
_DECIDES = re.compile(
    r"(?:decided|decision|instead of|instead,|because|root cause|the (?:fix|cause|problem|issue|bug) (?:is|was)"
    r"|chose|opted|turns out|rather than|so i(?:'ll| will)|must not)\b"
    r"|方針|代わりに|原因は|ことにし|に決め|理由は|ではなく|ので、|ため、"
)
_INTENDS = re.compile(r"(?:i['’]ll|i will|we['’]ll|we will|i['’]m going to)\b|にします|していきます|進めます")
_STOP = re.compile(r"[.!?](?=\s)|[。！？\n]")
_NOT_A_SENTENCE = re.compile(r"^(?:```|\||import |from |let me )|[:：]$", re.IGNORECASE)
"""Code, and what only leads on to something."""

MAX_SENTENCE_CHARS = 280
"""Characters of a sentence that are shown."""


def find_decisions(said: Sequence[tuple[int, str]], most: int = 60) -> list[str]:
    """Sentences in which the assistant says what it does and why: those with a reason first, the newest first."""
    found: dict[str, None] = {}
    for pattern in (_DECIDES, _INTENDS):
        for _, text in reversed(said):
            for sentence in reversed(list(_find_sentences(text, pattern))):
                found[sentence] = None
            if len(found) >= most:
                return list(found)[:most]
        most = len(found) + most // 4
    return list(found)


def _find_sentences(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    at = 0
    text = text[-20_000:]
    lower = lower_in_place(text)
    while found := pattern.search(lower, at):
        if found.start() and lower[found.start() - 1].isalpha() and found[0].isascii():
            at = found.end()  # the end of another word
            continue
        begin = max(at, found.start() - MAX_SENTENCE_CHARS)
        for stop in _STOP.finditer(text, begin, found.start()):
            begin = stop.end()
        end = _STOP.search(text, found.end(), found.end() + MAX_SENTENCE_CHARS)
        at = end.end() if end else min(len(text), found.end() + MAX_SENTENCE_CHARS)
        sentence = " ".join(text[begin:at].strip(" \n-*#>").split())
        if len(sentence) > (24 if sentence.isascii() else 12) and not _NOT_A_SENTENCE.search(sentence):
            yield sentence


# The plan

_TEXTS = ("content", "step", "description", "subject", "task", "text", "title", "name")
_CHECK = re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) \[([ xX~>/-])\] ([^\n]{1,300})", re.MULTILINE)
_NUMBER = re.compile(r"#(\w{1,20})")


def find_plan(told: Activity) -> list[str]:
    """The newest list of things to do, with its marks: from a tool that keeps one, or from a text."""
    tasks: dict[str, tuple[str, str]] = {}
    for event in told.events:
        given = read_arguments(event.use)
        listed = _read_task_list(given)
        if listed:
            tasks = {str(number): task for number, task in enumerate(listed)}
        elif split_tool_name(event.use.call.name) & {"task", "todo"} and not event.bad:
            _update_task(tasks, event, given)
    if tasks:
        return [f"[{_mark_of(status)}] {text}" for text, status in tasks.values() if status != "deleted"]
    for _, text in reversed(told.said):
        checks = _CHECK.findall(text)
        if len(checks) > 1:
            return [f"[{mark.lower()}] {what.strip()}" for mark, what in checks]
    return []


def _read_task_list(given: dict[str, Any]) -> list[tuple[str, str]]:
    for value in given.values():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "status" in item for item in value):
            texts = [next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), "") for item in value]
            return [(_shorten_task(text), str(item["status"])) for text, item in zip(texts, value, strict=True) if text]
    return []


def _update_task(tasks: dict[str, tuple[str, str]], event: ToolEvent, given: dict[str, Any]) -> None:
    """A tool that keeps a list task by task: each is made with a text, and later changed by its number."""
    words = split_tool_name(event.use.call.name)
    text = next((given[name] for name in ("subject", "title", "content") if isinstance(given.get(name), str)), None)
    number = next((str(given[name]) for name in ("taskid", "todoid", "id") if name in given), None)
    if words & {"create", "add"} and text:
        said = _NUMBER.search(event.use.result.text[:200])
        tasks[said[1] if said else str(len(tasks) + 1)] = _shorten_task(text), "pending"
    elif words & {"update", "complete", "set"} and number is not None:
        old = tasks.get(number, (text or f"#{number}", "pending"))
        tasks[number] = _shorten_task(text or old[0]), str(given.get("status", old[1]))


def _mark_of(status: str) -> str:
    word = status.lower()
    if word in ("completed", "complete", "done", "finished", "closed", "cancelled", "canceled"):
        return "-" if word.startswith("cancel") else "x"
    return ">" if "progress" in word or word in ("active", "doing") else " "


def _shorten_task(text: str) -> str:
    return " ".join(text[:400].split())[:200]
