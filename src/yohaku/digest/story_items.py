"""Items of a story: what was asked, said and done in a stretch of the conversation, in order.

Law: each item says who it comes from. Texts stay as they were written; only what is cut later is left out.
"""

from __future__ import annotations

import math
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
    find_refusal,
    read_arguments,
    split_tool_name,
)
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.digest.gist_text import GistTitles
from yohaku.digest.output_shape import count_log, shorten_tables
from yohaku.digest.prompt_text import clean_prompt, is_instructions, split_reports
from yohaku.digest.readable_json import read_json_text
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.written_changes import bound_text, find_changes, list_tests

Speaker: TypeAlias = Literal["user", "assistant", "tool"]
ItemKind: TypeAlias = Literal[
    "asked",
    "ahead",
    "answered",
    "concluded",
    "said",
    "reported",
    "changed",
    "failed",
    "tested",
    "ran",
    "seen",
    "looked",
    "skipped",
]

Worth: TypeAlias = tuple[tuple[float, float], ...]
"""Worth of a token up to each position of a text; a text says most in its beginning."""

LINE_WORTH: dict[ItemKind, float] = {
    "ahead": 20.0,
    "answered": 20.0,
    "reported": 8.0,
    "changed": 8.0,
    "failed": 7.0,
    "tested": 12.0,
    "ran": 6.0,
    "seen": 3.0,
    "looked": 1.2,
    "skipped": 0.0,
}
"""Worth of a token of the line that says what was done and how it ended."""
_ALL = math.inf
GOAL_WORTH: Worth = ((160, 20.0), (500, 3.5), (_ALL, 0.8))
INSTRUCTIONS_WORTH: Worth = ((40, 10.0), (160, 1.5), (_ALL, 0.4))
"""Of a file of instructions that a client sends as the first prompt: its rules are stated anyway."""
PROMPT_WORTH: Worth = ((64, 20.0), (160, 5.0), (_ALL, 0.8))
MARK_WORTH: Worth = ((_ALL, 2.0),)
"""Of a prompt that only says that the user stopped the assistant."""
ANSWER_WORTH: Worth = ((80, 20.0), (240, 5.0), (_ALL, 0.8))
"""Of what the user answered in a tool, or said when refusing a call."""
CONCLUSION_WORTH: Worth = ((32, 10.0), (120, 4.0), (400, 1.5), (_ALL, 0.5))
"""Of the text that ends a turn."""
SAID_WORTH: Worth = ((40, 4.0), (100, 1.0), (_ALL, 0.3))
"""Of a text before a call: what is found out comes first, and then how it was thought."""
ANNOUNCED_WORTH: Worth = ((_ALL, 0.6),)
"""Of a short text before a call: it mostly says no more than the call."""
REPORT_WORTH: Worth = ((60, 8.0), (300, 3.0), (_ALL, 0.8))
"""Of what a sub-agent reported."""
DOCUMENT_WORTH: Worth = ((40, 3.0), (160, 1.4), (_ALL, 0.5))
"""Of a document written to a file."""
TEST_CODE_WORTH: Worth = ((40, 2.0), (_ALL, 0.2))
"""Of tests written to a file: their names say most."""
WRITTEN_WORTH: Worth = ((40, 3.0), (120, 1.2), (_ALL, 0.4))
"""Of other text written to a file, and of a command behind its first line."""
COMPLAINT_WORTH: Worth = ((60, 5.0), (_ALL, 1.0))
OUTPUT_WORTH: Worth = ((30, 1.5), (_ALL, 0.4))
FEW_LINES_WORTH: Worth = ((60, 2.0), (_ALL, 0.5))
"""Of the output of a look that has only a few lines."""


_TEST_FILE = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)\.\w+$|_test\.\w+$")
DOCUMENT_ENDINGS = (".md", ".mdx", ".rst", ".txt", ".adoc")


class Detail(NamedTuple):
    """Text of an item; a prefix of it is shown, as far as there are tokens."""

    text: str
    worth: Worth
    by: Speaker
    whole: bool = False
    """Only its beginning and its end are shown: its lines do not stand for themselves."""


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
    results: list[tuple[str, str]] = field(default_factory=list)
    """What its calls gave, each with the words that name the call where it stands alone."""
    step: int = 0
    """Number of its step in the stretch; of a call that is repeated, of the last one."""

    @property
    def is_speech(self) -> bool:
        return bool(self.details) and not self.line


MAX_ANSWERED_CHARS = 100
"""Characters of a visible prompt, before the steps that answer it."""


def read_story_items(
    turns: Sequence[Turn], titles: GistTitles, paths: ShortPaths, max_steps: int, answered: str = ""
) -> list[StoryItem]:
    """Return the items in order; of steps older than the newest `max_steps`, only prompts and conclusions.

    `answered` is the prompt that the last steps answer, where it stays visible and is not among the turns.
    """
    reader = _StoryReader(titles, paths)
    left_out = sum(len(turn.steps) for turn in turns) - max_steps
    for turn in turns:
        reader.read_prompt(turn)
        if not turn.prompt and turn is turns[-1] and turn.steps:
            prompt = " ".join(clean_prompt(answered).split())
            prompt = prompt if len(prompt) <= MAX_ANSWERED_CHARS else f"{prompt[:MAX_ANSWERED_CHARS].rstrip()} …"
            line = titles.ahead_of.format(prompt=prompt) if prompt else titles.ahead
            reader.items.append(StoryItem("ahead", line, step=reader.step))
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
            if times[text] > 1:
                item.details = [detail._replace(worth=_lower(detail.worth, times[text])) for detail in item.details]
            kept.append(item)
    return kept


def _lower(worth: Worth, times: int) -> Worth:
    return tuple((end, each / times) for end, each in worth)


MIN_FINDING_BYTES = 60
MIN_TEMPLATE_LINES, MIN_KNOWN_CHARS = 8, 20
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
_ANSWER_FRAME = re.compile(
    r"^User has answered your questions:|You can now continue with the user's answers in mind\.$"
    r"|^The user wants to clarify these questions\..*?Questions asked:",
    re.DOTALL,
)
"""Sentences that clients put around what the user answered."""
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\n]{0,40}\]$")
_BASH_FENCE = re.compile(r"\n*```(?:bash|sh)\n.*?\n```\s*$", re.DOTALL)


class _StoryReader:
    def __init__(self, titles: GistTitles, paths: ShortPaths) -> None:
        self._titles, self._paths = titles, paths
        self.items: list[StoryItem] = []
        self.step = 0
        """Number of the step that is read."""
        self._has_goal = False
        self._prompt_lines: set[str] = set()
        """Lines of earlier prompts that are long."""
        self._complaints: dict[str, str] = {}
        """Complaint of the last failure of each attempt."""

    def read_prompt(self, turn: Turn) -> None:
        for part in turn.prompt:
            if not isinstance(part, Text) or part.by:
                continue
            text, reports = split_reports(part.text)
            for summary, report in reports:
                details = [Detail(bound_text(report), REPORT_WORTH, "tool")]
                self.items.append(StoryItem("reported", summary, details, calls=1, step=self.step))
            if text := clean_prompt(text):
                self._add_prompt(text)

    def _add_prompt(self, text: str) -> None:
        text = self._leave_out_known(text)
        worth = PROMPT_WORTH if self._has_goal else GOAL_WORTH
        if is_instructions(text):
            worth = INSTRUCTIONS_WORTH
        else:
            self._has_goal = True
        if _INTERRUPTED.match(text):
            if self.items and self.items[-1].kind == "answered":
                return  # the call that was refused says so already
            worth = MARK_WORTH
        self.items.append(StoryItem("asked", details=[Detail(text, worth, "user", whole=True)], step=self.step))

    def _leave_out_known(self, text: str) -> str:
        """Return a prompt without the lines of an earlier one: a template that is used again is told once."""
        first, *lines = text.splitlines() or [""]
        long = [line for line in lines if len(line) > MIN_KNOWN_CHARS]
        new = [line for line in long if line not in self._prompt_lines]
        self._prompt_lines.update(long)
        if len(long) < MIN_TEMPLATE_LINES or len(new) > len(long) // 2:
            return text
        return "\n".join([first, *new, f"[… {self._titles.as_before}]"])

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
        brief = len(text.encode()) < MIN_FINDING_BYTES
        worth = CONCLUSION_WORTH if kind == "concluded" else ANNOUNCED_WORTH if brief else SAID_WORTH
        detail = Detail(bound_text(text), worth, "assistant", whole=kind == "said")
        self.items.append(StoryItem(kind, details=[detail], step=self.step))

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
        item.results = [] if told else [(item.line, _find_result(item, use))]
        before = self.items[-1] if self.items else None
        if before and before.line == item.line and before.kind == item.kind and before.calls:
            before.calls += 1  # done again, with the same end
            before.names += item.names
            before.details += [detail for detail in item.details if detail not in before.details]
            before.results += item.results
            before.step = self.step
            return
        self.items.append(item)

    def _add_look(self, event: ToolEvent, looks: list[str]) -> None:
        answer = _short_output(event.use) if event.command is not None else ""
        if answer:
            self._add(StoryItem("seen", f"{self._call_name(event)}: {answer}"), event.use)
            return
        if few := _few_lines(event.use):
            line = f"{self._titles.looked} {', '.join(looks)}"
            self._add(StoryItem("seen", line, [Detail(few, FEW_LINES_WORTH, "tool")]), event.use)
            return
        lines = event.use.result.text.count("\n") + 1
        if counted := count_log(bound_text(event.use.result.text)):
            looks = [*looks[:-1], f"{looks[-1]} {counted}"]
        elif is_listing(event.use) and lines > MAX_FEW_LINES:
            looks = [*looks[:-1], f"{looks[-1]} {self._titles.counted.format(lines=f'{lines:,}')}"]
        before = self.items[-1] if self.items else None
        if before is None or not before.looked_at:
            before = StoryItem("looked")
            self.items.append(before)
        before.looked_at += [look for look in looks if look not in before.looked_at]
        before.calls += 1
        before.names[_name_of(event.use)] += 1
        if not is_listing(event.use):
            before.results.append((", ".join(looks), event.use.result.text))
        before.step = self.step

    def _failure(self, event: ToolEvent) -> StoryItem:
        if (words := find_refusal(event.use)) is not None:
            line = f"{self._call_name(event)}: {self._titles.refused if words else self._titles.rejected}"
            words = _ANSWER_FRAME.sub("", words).strip()
            details = [Detail(bound_text(words), ANSWER_WORTH, "tool")] if words else []
            return StoryItem("answered", line, [*details, *_rest_of_command(event)])
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
        tests = any(_TEST_FILE.search(path) for path, _ in changed)
        documents = any(path.endswith(DOCUMENT_ENDINGS) for path, _ in changed)
        worth = DOCUMENT_WORTH if documents else TEST_CODE_WORTH if tests else WRITTEN_WORTH
        changes = map(list_tests if tests else str, find_changes(event.use))
        details = [Detail(text, worth, "assistant", whole=tests) for text in changes]
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
        output = output_of(read_json_text(bound_text(event.use.result.text)))
        output = shorten_tables(output, self._titles.rows_left_out)
        last = "" if event.test_summary else _last_line(output)
        complains = bool(last and find_errors(last, 1))
        worked = not complains and self._complaints.pop(event.attempt, None) is not None
        status = self._titles.works_now if worked else "exit 0" if complains else describe_status(event)
        if event.test_summary:
            status = f"{status}, {event.test_summary}"
        if output and "\n" not in output and len(output) <= MAX_SHORT_OUTPUT_CHARS and not event.test_summary:
            return StoryItem("ran", f"{self._call_name(event)}: {output}", _rest_of_command(event))
        told = not output or event.test_summary is not None
        if last and not told:
            errors = find_errors(output, 1)
            status = f"{status}, … {errors[0] if errors else last}"
            output = output if errors and errors[0] != last else output.rstrip().rpartition("\n")[0]
        details = [Detail(output, OUTPUT_WORTH, "tool")] if output and not told else []
        kind: ItemKind = "tested" if event.test_summary else "ran"
        return StoryItem(kind, f"{self._call_name(event)}: {status}", [*_rest_of_command(event), *details])

    def _other(self, event: ToolEvent, words: frozenset[str]) -> StoryItem:
        use = event.use
        text = bound_text(use.result.text.strip())
        if words & {"ask", "question"} and words & {"user", "question", "human"}:
            text = _ANSWER_FRAME.sub("", text).strip()
            details = [Detail(text, ANSWER_WORTH, "tool")]
            if len(text) < MIN_ANSWER_CHARS:  # it does not repeat the question
                details.insert(0, Detail(bound_text(_arguments_text(use)), OUTPUT_WORTH, "assistant"))
            return StoryItem("answered", self._titles.asked_user, details)
        kind: ItemKind = "reported" if words & {"task", "agent", "subagent", "delegate"} else "ran"
        text = output_of(read_json_text(text))
        details = [Detail(text, REPORT_WORTH if kind == "reported" else OUTPUT_WORTH, "tool")] if text else []
        return StoryItem(kind, f"{self._call_name(event)}: ok", details)

    def _call_name(self, event: ToolEvent) -> str:
        if event.command is not None:
            return f"`{_describe(event.use, self._paths, MAX_COMMAND_CHARS)}`"
        if event.accesses and split_tool_name(event.use.call.name).isdisjoint(SEARCH_WORDS):
            return f"{event.use.call.name} {self._paths.show(event.accesses[0].path)}"
        return _describe(event.use, self._paths, MAX_COMMAND_CHARS)


def _describe(use: ToolUse, paths: ShortPaths, limit: int) -> str:
    """Return a call in a short line, with its paths shortened first, so that more of the rest fits."""
    line = paths.shorten(describe_call(use, 4 * limit))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


_LISTS = re.compile(r"(?:ls|find|tree|fd|git (?:status|ls-files))\b")


def is_listing(use: ToolUse) -> bool:
    """Test for a call that lists files: its names say little beside one another."""
    return bool(split_tool_name(use.call.name) & {"glob", "list", "ls"}) or bool(_LISTS.match(describe_call(use)))


def _find_result(item: StoryItem, use: ToolUse) -> str:
    """Return the result of a call: as the item shows it, if it shows its text."""
    shown = [detail.text for detail in item.details if detail.by == "tool"]
    if item.kind in ("ran", "seen", "reported") and len(shown) == 1:
        return shown[0]
    return output_of(read_json_text(use.result.text))


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

MAX_COMMAND_CHARS, MAX_LOOK_CHARS = 90, 70
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
        return [f"`{_describe(event.use, paths, MAX_LOOK_CHARS)}`"]
    if not words.isdisjoint(SEARCH_WORDS):
        return [f"`{_describe(event.use, paths, MAX_LOOK_CHARS)}`"]
    reads = [access for access in event.accesses if access.kind == "read"]
    if not reads or len(reads) < len(event.accesses):
        return []
    return [f"{paths.show(access.path)}{_range_text(access.lines)}" for access in reads]


def _range_text(lines: LineRange | None) -> str:
    return f" {lines[0]}-{lines[1]}" if lines and lines[1] > 0 else ""


_FRAME = re.compile(
    r"^agentId: \S+ \(for resuming[^\n]*$|<usage>[^<]*</usage>"
    r"|\AChunk ID: [^\n]*\n(?:[A-Z][^\n:]{3,40}[^\n]*\n){1,4}?Output:$"
    r"|^total \d+$|^d\S{9} .* \.\.?$"
    r"|^[.sxXFE]{4,}(?:[ \t]+\[ *\d{1,3}%\])?[ \t]*$"
    r"|</?(?:output|returncode|stdout|stderr|content)>|^<(?P<tag>path|type)>[^<\n]*</(?P=tag)>\n?|^\(no output\)$"
    r"|^\[changed on disk since you read it: [^\n]*\]$",
    re.MULTILINE,
)
"""Marks around an output, a bar of progress, and notes that only held at that moment."""


def output_of(text: str) -> str:
    """Return the output of a command without the marks that tools put around it."""
    return _FRAME.sub("", re.sub(r"<returncode>-?\d+</returncode>", "", text)).strip()


def _last_line(output: str) -> str:
    """Return the line that tells how a command ended, if it is short: that of a commit, or the last with words."""
    if commit := _COMMIT.search(output):
        return commit[0]
    for line in reversed(output[-4 * MAX_SHORT_OUTPUT_CHARS :].splitlines()):
        if len(set(_LETTERS.findall(line))) >= MIN_LAST_LINE_LETTERS:
            line = " ".join(line.strip("=-* \t").split())
            return line if len(line) <= MAX_SHORT_OUTPUT_CHARS else ""
    return ""


_COMMIT = re.compile(r"^\[[^\]\n]{1,60} [0-9a-f]{7,40}\] [^\n]{1,100}", re.MULTILINE)
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
    """Return what a long command says behind its beginning, which its line shows."""
    command = (event.command or "").strip()
    first, _, rest = command.partition("\n")
    if not rest and len(first) > MAX_COMMAND_CHARS:
        rest = f"…{first[first.rfind(' ', 0, MAX_COMMAND_CHARS) :]}"
    return [Detail(bound_text(rest.strip("\n")), WRITTEN_WORTH, "assistant")] if rest else []


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
