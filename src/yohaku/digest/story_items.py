"""Items of a story: what was asked, said and done in a stretch of the conversation, in order.

Law: each item says who it comes from. Texts stay as they were written; only what is cut later is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from yohaku.analysis.activity import ToolEvent, describe_status, read_event
from yohaku.analysis.file_access import SEARCH_WORDS, LineRange
from yohaku.analysis.tool_calls import (
    describe_call,
    find_command,
    find_complaint,
    find_errors,
    read_arguments,
    split_tool_name,
)
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.digest.gist_text import GistTitles
from yohaku.digest.output_shape import count_log
from yohaku.digest.prompt_text import clean_prompt, split_reports
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.written_changes import bound_text, find_changes

Speaker: TypeAlias = Literal["user", "assistant", "tool"]
ItemKind: TypeAlias = Literal["asked", "answered", "concluded", "said", "changed", "failed", "ran", "looked", "skipped"]

WORTH: dict[ItemKind, float] = {
    "asked": 20.0,
    "answered": 6.0,
    "concluded": 10.0,
    "changed": 3.0,
    "failed": 3.0,
    "said": 2.0,
    "ran": 1.0,
    "looked": 0.3,
    "skipped": 0.0,
}
"""How much an item may take beside others, and how long it stays where not every item has a line."""
REPORT_WORTH, DOCUMENT_WORTH, WRITTEN_WORTH, COMPLAINT_WORTH, OUTPUT_WORTH = 10.0, 4.0, 2.0, 2.0, 0.8
"""Of what a sub-agent reported, of a document or other text written to a file, of an error, of a command's output."""
FEW_LINES_WORTH = 3.0
"""Of the output of a look that has only a few lines."""
ANSWER_WORTH = 300.0
"""Of what the user answered in a tool: so much that it is shown whole wherever it fits."""


DOCUMENT_ENDINGS = (".md", ".mdx", ".rst", ".txt", ".adoc")


class Detail(NamedTuple):
    """Text of an item, shown as far as its share of the tokens goes."""

    text: str
    worth: float
    by: Speaker


@dataclass(slots=True)
class StoryItem:
    kind: ItemKind
    line: str = ""
    """What was done and how it ended; empty for what somebody said."""
    details: list[Detail] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    """Files and searches of a call that only looks: such calls in a row share a line."""
    calls: int = 0
    """Calls, or texts, that it stands for."""
    names: Counter[str] = field(default_factory=Counter)
    """Programs and tools of its calls, and how often."""
    uses: list[tuple[str, ToolUse]] = field(default_factory=list)
    """Its calls, each with the words that name it where it stands alone."""
    step: int = 0
    """Number of its step in the stretch; of a call that is repeated, of the last one."""
    is_report: bool = False
    """What it gave was written by another agent for this one."""

    @property
    def is_speech(self) -> bool:
        return bool(self.details) and not self.line


def read_story_items(turns: Sequence[Turn], titles: GistTitles, paths: ShortPaths, max_steps: int) -> list[StoryItem]:
    """Return the items in order; of steps older than the newest `max_steps`, only prompts and conclusions."""
    reader = _StoryReader(titles, paths)
    left_out = sum(len(turn.steps) for turn in turns) - max_steps
    for turn in turns:
        reader.read_prompt(turn)
        for number, step in enumerate(turn.steps):
            left_out -= 1
            reader.step += 1
            reader.read_step(step, last=number == len(turn.steps) - 1, old=left_out >= 0)
    return _drop_repeats(reader.items)


def _drop_repeats(items: list[StoryItem]) -> list[StoryItem]:
    """Return the items without what is said again in the same words; the last time stays, and is worth less."""
    times = Counter(item.details[0].text for item in items if item.is_speech)
    kept: list[StoryItem] = []
    left = times.copy()
    for item in items:
        text = item.details[0].text if item.is_speech else ""
        left[text] -= 1
        if text and left[text] > 0:
            if not (kept and kept[-1].kind == "skipped"):
                kept.append(StoryItem("skipped"))
            kept[-1].calls += 1
        else:
            item.details = [detail._replace(worth=detail.worth / max(1, times[text])) for detail in item.details]
            kept.append(item)
    return kept


MAX_ROUTINE_CHARS = 160
_ROUTINE = re.compile(
    r"(?:now )?running\b|now (?!i (?:see|understand|know|have))"
    r"|(?:next,? |first,? |ok(?:ay)?[,.] |good[,.] |great[,.!] )*"
    r"(?:let me|let's|i'll|i will|i need to|i'm going to|i should)\b"
    r"|.{0,60}(?:確認|調査|実行|修正|更新|読み|見て|探|作成)\S{0,6}(?:ます|しましょう|みます)[。:：]?$",
    re.IGNORECASE,
)
"""A short text that only announces the next call."""
_THOUGHT_MARK = re.compile(r"^(?:THOUGHT|DISCUSSION)\s*:\s*", re.IGNORECASE)
_BASH_FENCE = re.compile(r"\n*```(?:bash|sh)\n.*?\n```\s*$", re.DOTALL)


class _StoryReader:
    def __init__(self, titles: GistTitles, paths: ShortPaths) -> None:
        self._titles, self._paths = titles, paths
        self.items: list[StoryItem] = []
        self.step = 0
        """Number of the step that is read."""
        self._complaints: dict[str, str] = {}
        """Complaint of the last failure of each attempt."""

    def read_prompt(self, turn: Turn) -> None:
        for part in turn.prompt:
            if not isinstance(part, Text) or part.by:
                continue
            text, reports = split_reports(part.text)
            for summary, report in reports:
                details = [Detail(bound_text(report), REPORT_WORTH, "tool")]
                self.items.append(StoryItem("ran", summary, details, calls=1, step=self.step, is_report=True))
            if text := clean_prompt(text):
                self.items.append(StoryItem("asked", details=[Detail(text, WORTH["asked"], "user")], step=self.step))

    def read_step(self, step: Step, last: bool, old: bool) -> None:
        calls = [item for item in step.items if isinstance(item, ToolUse)]
        if old and not (last and not calls):
            self._skip(calls)
            return
        for item in step.items:
            if isinstance(item, Text):
                self._read_reply(item.text, bool(calls), last)
            elif isinstance(item, ToolUse):
                self._read_call(item)

    def _skip(self, calls: list[ToolUse]) -> None:
        """Count calls that are not told one by one."""
        if calls:
            if not (self.items and self.items[-1].kind == "skipped"):
                self.items.append(StoryItem("skipped"))
            self.items[-1].calls += len(calls)
            self.items[-1].names.update(map(_name_of, calls))

    def _read_reply(self, text: str, calls: bool, last: bool) -> None:
        text = _THOUGHT_MARK.sub("", text.strip())
        text = (_BASH_FENCE.sub("", text) if calls else text).strip()
        if not text:
            return
        kind: ItemKind = "said" if calls and not last else "concluded"
        if calls and len(text) < MAX_ROUTINE_CHARS and _ROUTINE.match(text):
            return  # it only announces the call, which is told
        self.items.append(StoryItem(kind, details=[Detail(bound_text(text), WORTH[kind], "assistant")], step=self.step))

    def _read_call(self, use: ToolUse) -> None:
        event = read_event(0, use)
        words = split_tool_name(use.call.name)
        if keeps_tasks(words):
            return
        if event.failed:
            self._add(self._failure(event), use)
        elif looks := _find_looks(event, words, self._paths):
            self._add_look(event, looks)
        elif any(access.kind != "read" for access in event.accesses):
            self._add(self._change(event), use)
        elif event.command is not None:
            self._add(self._command(event), use)
        else:
            self._add(self._other(event, words), use)

    def _add(self, item: StoryItem, use: ToolUse) -> None:
        item.calls, item.names = 1, Counter([_name_of(use)])
        item.step = self.step
        told = item.kind == "answered" or (item.kind == "changed" and find_command(use) is None)
        item.uses = [] if told else [(item.line, use)]
        before = self.items[-1] if self.items else None
        if before and before.line == item.line and before.kind == item.kind and before.calls:
            before.calls += 1  # done again, with the same end
            before.names += item.names
            before.details += [detail for detail in item.details if detail not in before.details]
            before.uses += item.uses
            before.step = self.step
            return
        self.items.append(item)

    def _add_look(self, event: ToolEvent, looks: list[str]) -> None:
        answer = _short_output(event.use) if event.command is not None else ""
        if answer:
            self._add(StoryItem("ran", f"{self._call_name(event)}: {answer}"), event.use)
            return
        if few := _few_lines(event.use):
            line = f"{self._titles.looked} {', '.join(looks)}"
            self._add(StoryItem("ran", line, [Detail(few, FEW_LINES_WORTH, "tool")]), event.use)
            return
        if counted := count_log(bound_text(event.use.result.text)):
            looks = [*looks[:-1], f"{looks[-1]} {counted}"]
        before = self.items[-1] if self.items else None
        if before is None or not before.looked_at:
            before = StoryItem("looked")
            self.items.append(before)
        before.looked_at += [look for look in looks if look not in before.looked_at]
        before.calls += 1
        before.names[_name_of(event.use)] += 1
        before.uses.append((", ".join(looks), event.use))
        before.step = self.step

    def _failure(self, event: ToolEvent) -> StoryItem:
        if refused := _REFUSED.match(event.use.result.text):
            line = f"{self._call_name(event)}: {self._titles.refused}"
            return StoryItem("answered", line, [Detail(bound_text(refused[1].strip()), ANSWER_WORTH, "tool")])
        complaint = " | ".join(line.strip("=-* ") for line in find_complaint(event.use, 3))
        if event.test_summary and event.test_summary not in complaint:
            complaint = f"{complaint} | {event.test_summary}" if complaint else event.test_summary
        status = describe_status(event)
        known = self._complaints.get(event.attempt) == complaint and bool(complaint)
        self._complaints[event.attempt] = complaint
        line = f"{self._call_name(event)}: {status}"
        if known:
            return StoryItem("failed", f"{line} ({self._titles.as_before})")
        if len(complaint) <= MAX_SHORT_OUTPUT_CHARS:
            return StoryItem("failed", f"{line}: {complaint}" if complaint else line, _rest_of_command(event))
        return StoryItem("failed", line, [Detail(complaint, COMPLAINT_WORTH, "tool"), *_rest_of_command(event)])

    def _change(self, event: ToolEvent) -> StoryItem:
        states = self._titles.states
        changed = dict.fromkeys((access.path, access.kind) for access in event.accesses if access.kind != "read")
        names = ", ".join(f"{states[kind]} {self._paths.show(path)}" for path, kind in changed)
        line = names
        worth = DOCUMENT_WORTH if any(path.endswith(DOCUMENT_ENDINGS) for path, _ in changed) else WRITTEN_WORTH
        details = [Detail(text, worth, "assistant") for text in find_changes(event.use)]
        if event.command is not None:
            rest = _rest_of_command(event)
            short = " ".join(event.command.split())
            told = len(short) <= MAX_CHANGE_CHARS
            rest = [] if told else rest
            line = f"{names} (`{self._paths.shorten(short)}`)" if told else names
            output = output_of(bound_text(event.use.result.text))
            details = [*rest, *([Detail(output, OUTPUT_WORTH, "tool")] if output else [])]
        return StoryItem("changed", line, details)

    def _command(self, event: ToolEvent) -> StoryItem:
        output = output_of(bound_text(event.use.result.text))
        last = "" if event.test_summary else _last_line(output)
        complains = bool(last and find_errors(last, 1))
        worked = not complains and self._complaints.pop(event.attempt, None) is not None
        status = self._titles.works_now if worked else "exit 0" if complains else describe_status(event)
        if event.test_summary:
            status = f"{status}, {event.test_summary}"
        if output and "\n" not in output and len(output) <= MAX_SHORT_OUTPUT_CHARS and not event.test_summary:
            return StoryItem("ran", f"{self._call_name(event)}: {output}", _rest_of_command(event))
        told = not output or output == event.test_summary
        if last and not told:
            errors = find_errors(output, 1)
            status = f"{status}, … {errors[0] if errors else last}"
            output = output if errors and errors[0] != last else output.rstrip().rpartition("\n")[0]
        details = [Detail(output, OUTPUT_WORTH, "tool")] if output and not told else []
        return StoryItem("ran", f"{self._call_name(event)}: {status}", [*_rest_of_command(event), *details])

    def _other(self, event: ToolEvent, words: frozenset[str]) -> StoryItem:
        use = event.use
        text = bound_text(use.result.text.strip())
        if words & {"ask", "question"} and words & {"user", "question", "human"}:
            details = [Detail(text, ANSWER_WORTH, "tool")]
            if len(text) < MIN_ANSWER_CHARS:  # it does not repeat the question
                details.insert(0, Detail(bound_text(_arguments_text(use)), OUTPUT_WORTH, "assistant"))
            return StoryItem("answered", self._titles.asked_user, details)
        is_report = bool(words & {"task", "agent", "subagent", "delegate"})
        details = [Detail(text, REPORT_WORTH if is_report else OUTPUT_WORTH, "tool")] if text else []
        return StoryItem("ran", f"{self._call_name(event)}: ok", details, is_report=is_report)

    def _call_name(self, event: ToolEvent) -> str:
        if event.command is not None:
            return f"`{self._paths.shorten(describe_call(event.use, MAX_COMMAND_CHARS))}`"
        if event.accesses and split_tool_name(event.use.call.name).isdisjoint(SEARCH_WORDS):
            return f"{event.use.call.name} {self._paths.show(event.accesses[0].path)}"
        return self._paths.shorten(describe_call(event.use, MAX_COMMAND_CHARS))


_REFUSED = re.compile(
    r"The user doesn't want to proceed with this tool use\..*?the user said:\s*(\S.*)", re.DOTALL | re.IGNORECASE
)
"""Result of a call that the user refused, with the user's words."""


def _name_of(use: ToolUse) -> str:
    """Return the program that a call runs, or the tool."""
    words = describe_call(use, MAX_COMMAND_CHARS).split() if find_command(use) is not None else []
    return words[0] if words else use.call.name


def keeps_tasks(words: frozenset[str]) -> bool:
    """Test for a tool that keeps a list of tasks: the newest list is shown, not how it came about."""
    return bool(words & {"todo", "todos"}) or bool(
        "task" in words and words & {"create", "update", "list", "get", "stop"}
    )


# Calls that only look

MAX_COMMAND_CHARS = 90
MAX_CHANGE_CHARS = 200
"""Characters of a command that changes files: it is shown whole, since it says what was changed."""
MAX_SHORT_OUTPUT_CHARS = 120
MAX_FEW_LINES, MAX_FEW_LINES_CHARS = 8, 400
MAX_FRAME_CHARS = 200
"""Characters that tools put around an output."""
MIN_ANSWER_CHARS = 80


def _find_looks(event: ToolEvent, words: frozenset[str], paths: ShortPaths) -> list[str]:
    """Return what a call looks at: files with the lines read, or a search; none if it does more."""
    if event.command is not None:
        if not event.only_looks:
            return []
        return [f"`{paths.shorten(describe_call(event.use, 70))}`"]
    if not words.isdisjoint(SEARCH_WORDS):
        return [f"`{paths.shorten(describe_call(event.use, 70))}`"]
    reads = [access for access in event.accesses if access.kind == "read"]
    if not reads or len(reads) < len(event.accesses):
        return []
    return [f"{paths.show(access.path)}{_range_text(access.lines)}" for access in reads]


def _range_text(lines: LineRange | None) -> str:
    return f" {lines[0]}-{lines[1]}" if lines and lines[1] > 0 else ""


_FRAME = re.compile(
    r"</?(?:output|returncode|stdout|stderr)>|^\(no output\)$|^\[changed on disk since you read it: [^\n]*\]$",
    re.MULTILINE,
)
"""Marks around an output, and a note on files that only held at that moment."""


def output_of(text: str) -> str:
    """Return the output of a command without the marks that tools put around it."""
    return _FRAME.sub("", re.sub(r"<returncode>-?\d+</returncode>", "", text)).strip()


def _last_line(output: str) -> str:
    """Return the last line that says something, if it is short: it tells how a command ended."""
    for line in reversed(output[-4 * MAX_SHORT_OUTPUT_CHARS :].splitlines()):
        if len(set(_LETTERS.findall(line))) >= MIN_LAST_LINE_LETTERS:
            line = " ".join(line.strip("=-* \t").split())
            return line if len(line) <= MAX_SHORT_OUTPUT_CHARS else ""
    return ""


MIN_LAST_LINE_LETTERS = 4
"""Different letters: `..x..xxx [ 20%]` says nothing."""
_LETTERS = re.compile(r"[^\W\d_]")


def _few_lines(use: ToolUse) -> str:
    """Return an output of a few short lines, which is as good an answer as one line."""
    if len(use.result.text) > MAX_FEW_LINES_CHARS + MAX_FRAME_CHARS:
        return ""
    output = output_of(bound_text(use.result.text))
    fits = len(output) <= MAX_FEW_LINES_CHARS and output.count("\n") < MAX_FEW_LINES
    return output if fits and not use.result.error else ""


def _short_output(use: ToolUse) -> str:
    if len(use.result.text) > MAX_SHORT_OUTPUT_CHARS + MAX_FRAME_CHARS:
        return ""
    output = output_of(bound_text(use.result.text))
    return output if len(output) <= MAX_SHORT_OUTPUT_CHARS and "\n" not in output else ""


def _rest_of_command(event: ToolEvent) -> list[Detail]:
    """Return the lines of a long command behind the first, which its line shows."""
    command = event.command or ""
    if len(command) <= MAX_COMMAND_CHARS and "\n" not in command.strip():
        return []
    rest = command.strip().partition("\n")[2] if "\n" in command.strip() else command
    return [Detail(bound_text(rest.strip("\n")), WRITTEN_WORTH, "assistant")]


def _arguments_text(use: ToolUse) -> str:
    """Return questions of a call as text: their sentences and choices, without the names of fields."""
    found: list[str] = []

    def collect(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for each in (value.get(name) for name in ("question", "options", "label")):
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    arguments = read_arguments(use)
    for value in arguments.values():
        try:
            value = msgspec.json.decode(value) if isinstance(value, str) and value[:1] in "[{" else value
        except (ValueError, RecursionError):
            pass
        collect(value)
    return " / ".join(found)
