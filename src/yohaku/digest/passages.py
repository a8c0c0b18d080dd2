"""Passages: several lines in a row of what tools showed, with their numbers, chosen by what the work is about now.

Law: a passage stands as it was shown, under a title that names its call. Text behind a bar is a tool's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from yohaku.analysis.entities import extract_names
from yohaku.analysis.tool_calls import describe_call
from yohaku.core.model import ToolUse, Turn
from yohaku.digest.gist_text import Count
from yohaku.digest.line_value import is_import
from yohaku.digest.output_shape import MAX_LOG_SAMPLE_CHARS, begins_like_log, describe_shape
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span, bare_line, has_line_numbers
from yohaku.digest.story_items import is_listing, output_of

MAX_PASSAGE_LINES = 12
MIN_PASSAGE_LINES = 3
MAX_LINE_CHARS = 200
"""A longer line is cut."""
MAX_SCANNED_CHARS = 400_000
"""Characters of results that are searched, the newest first."""
MAX_WOVEN_CHARS = 200_000
"""Characters of texts that are searched for the passages of a story, the newest first."""
MAX_RESULT_CHARS = 60_000
TITLE_TOKENS = 12
AGE_POWER, SIZE_POWER = 0.15, 1.0
"""The worth of a passage falls with the age of its call, and with its size, by these powers."""
BASE_WORTH = 0.03
"""Worth of a name that nobody wrote: it decides where the work has not said yet what it is about."""
SHOWN_FACTOR = 0.1
"""Factor of the worth of a name in a passage that is shown already."""
DEFINED_FACTOR = 4.0
"""Factor of the worth of a name in the passage that defines it."""
DEFINITION_MARK = "="
"""Before a name that is defined, among the names of the passage."""
STALE_RATIO = 0.9
MIN_TELLING_CHARS = 4
MAX_SHOWN_SHARE = 0.5
"""Share of the lines of a passage that may be visible elsewhere, or changed since."""
CHARS_PER_TOKEN = 3.2
MAX_FOCUS_CHARS = 20_000
MIN_RESULT_CHARS = 160
"""A shorter result is in the story."""


class Passage(NamedTuple):
    source: int
    """Number of the result, in order."""
    first: int
    """Its first line in the result, from 0."""
    lines: tuple[str, ...]
    names: frozenset[str]
    age: int


def choose_passages(
    turns: Sequence[Turn],
    focus: Mapping[str, float],
    tokens: int,
    count: Count,
    paths: ShortPaths,
    shown: Collection[str] = frozenset(),
) -> list[str]:
    """Return lines of at most `tokens`: the passages that hold most of what the work is about, in order.

    `focus` are the names of the work, each with its worth; `shown` are lines, without their numbers, that a reader sees
    elsewhere.
    """
    uses = list(_newest_results(turns))
    passages = [passage for at, use in enumerate(uses) for passage in _split_result(use, at, len(uses) - at, shown)]
    chosen = _take_best(passages, focus, tokens, count)
    lines: list[str] = []
    last: Passage | None = None
    for passage in sorted(chosen):
        title = f"[{paths.shorten(describe_call(uses[passage.source], 90))}]"
        if last is None or last.source != passage.source:
            lines.append(title)
        elif last.first + len(last.lines) < passage.first:
            lines.append("  | …")
        numbered = has_line_numbers("\n".join(passage.lines))
        lines += [f"  | {line.lstrip() if numbered else line}" for line in passage.lines]
        last = passage
    return lines


def choose_passage_spans(
    texts: Sequence[tuple[str, int]],
    focus: Mapping[str, float],
    tokens: int,
    count: Count,
    shown: Collection[str] = frozenset(),
) -> list[list[Span]]:
    """Return the lines of each text, given with its age, that are passages about what the work is about.

    `shown` are lines, without their numbers, that a reader sees elsewhere, or that have been changed since.
    """
    passages: list[Passage] = []
    left = MAX_WOVEN_CHARS
    for source, (text, age) in sorted(enumerate(texts), key=lambda one: one[1][1]):
        if len(text) >= MIN_RESULT_CHARS and not begins_like_log(text[:MAX_LOG_SAMPLE_CHARS]):
            passages += _split_lines(text[:MAX_RESULT_CHARS].split("\n"), source, age, shown)
            left -= min(len(text), MAX_RESULT_CHARS)
        if left < 0:
            break
    spans: list[list[Span]] = [[] for _ in texts]
    for passage in sorted(_take_best(passages, focus, tokens, count)):
        text, start = texts[passage.source][0], 0
        for _ in range(passage.first):
            start = text.index("\n", start) + 1
        for number in range(len(passage.lines)):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            spans[passage.source].append(Span(passage.first + number + 1, start, end))
            start = end + 1
    return spans


def _newest_results(turns: Sequence[Turn]) -> list[ToolUse]:
    """Return the calls with long results, in order, as far back as may be searched; a result shown twice once."""
    found: list[ToolUse] = []
    left = MAX_SCANNED_CHARS
    seen: set[str] = set()
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            for use in reversed(tuple(step.uses)):
                text = use.result.text
                if len(text) < MIN_RESULT_CHARS or text in seen or use.result.error or is_listing(use):
                    continue
                seen.add(text)
                left -= min(len(text), MAX_RESULT_CHARS)
                if left < 0:
                    return found[::-1]
                found.append(use)
    return found[::-1]


_DECLARES = re.compile(
    r"^[ \t]{0,8}(?:\d{1,7}[→|:\t ]{1,3})?[ \t]{0,8}"
    r"(?:export |public |private |protected |static |async |abstract |pub )*"
    r"(?:def|class|func|fn|function|interface|type|enum|struct|impl|trait|const|describe|test|it|@@|diff --git)\b"
    r"|^#{1,4} "
)
_DEFINES = re.compile(
    r"[+-]?[ \t]*(?:export |default |public |private |protected |static |final |async |abstract |readonly |pub )*"
    r"(?:(?:def|class|func|fn|function|interface|type|enum|struct|trait|impl)[ \t]+(?:\([^)\n]{0,60}\)[ \t]*)?"
    r"(?P<name>[A-Za-z_]\w{3,})"
    r"|(?:const |let |var )?[\"']?(?P<value>[A-Za-z_][\w-]{3,})[\"']?"
    r"(?:[ \t]*:[ \t]*[^=\n]{1,60}|[ \t]+[A-Za-z]\w{2,30})?[ \t]*(?::=|=(?![=>])|:)[ \t]*\S)"
)
"""A line that defines a function, a class or a value."""


def _split_result(use: ToolUse, source: int, age: int, shown: Collection[str]) -> Iterator[Passage]:
    lines = output_of(use.result.text[:MAX_RESULT_CHARS]).splitlines()
    if shaped := describe_shape(lines):
        yield Passage(source, 0, tuple(shaped), extract_names("\n".join(shaped)), age)
        return
    yield from _split_lines(lines, source, age, shown)


def _split_lines(lines: list[str], source: int, age: int, shown: Collection[str] = frozenset()) -> Iterator[Passage]:
    """Yield the passages of a text, without blank lines at their ends, but not those whose lines are `shown`."""
    for begin, end in _split_blocks(lines):
        filled = [at for at in range(begin, end) if bare_line(lines[at])]
        if filled:
            block = tuple(line.rstrip()[:MAX_LINE_CHARS] for line in lines[filled[0] : filled[-1] + 1])
            bare = [bare_line(line) for line in block]
            if _is_mostly(shown, bare):
                continue
            found = filter(None, map(_DEFINES.match, bare))
            defined = (DEFINITION_MARK + (each["name"] or each["value"]) for each in found)
            names = extract_names("\n".join([line for line in bare if not is_import(line)]))
            yield Passage(source, filled[0], block, names.union(defined), age)


def _is_mostly(shown: Collection[str], lines: list[str]) -> bool:
    """Test whether more than half of the different lines of a passage, beside brackets, are shown."""
    telling = {line for line in lines if len(line) >= MIN_TELLING_CHARS} if shown else ()
    return bool(telling) and sum(line in shown for line in telling) > MAX_SHOWN_SHARE * len(telling)


def _split_blocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each block: from one declaration to the next, or at a blank line."""
    start = 0
    for at, line in enumerate(lines):
        size = at - start
        blank = not bare_line(line)
        breaks = (_DECLARES.match(line) and size >= MIN_PASSAGE_LINES) or (blank and size >= MAX_PASSAGE_LINES // 2)
        if breaks or size >= MAX_PASSAGE_LINES:
            yield start, at
            start = at
    if start < len(lines):
        yield start, len(lines)


def _worth_of(name: str, focus: Mapping[str, float]) -> float:
    if name[0] == DEFINITION_MARK:
        return DEFINED_FACTOR * focus.get(name[1:], 0.0)
    return focus.get(name, 0.0) + BASE_WORTH


def _take_best(passages: list[Passage], focus: Mapping[str, float], tokens: int, count: Count) -> list[Passage]:
    spread = Counter(name for passage in passages for name in passage.names)
    worth = {name: _worth_of(name, focus) / math.sqrt(number) for name, number in spread.items()}

    def rank(at: int) -> float:
        passage = passages[at]
        value = math.fsum([worth[name] for name in passage.names if name in worth]) * math.pow(passage.age, -AGE_POWER)
        size = sum([len(line) for line in passage.lines]) / CHARS_PER_TOKEN + TITLE_TOKENS
        return -value / math.pow(size, SIZE_POWER)

    chosen: list[Passage] = []
    shown: set[str] = set()
    left = float(tokens)
    heap = [(value, at) for at in range(len(passages)) if (value := rank(at)) < 0]
    heapify(heap)
    while heap and left > TITLE_TOKENS:
        value, at = heappop(heap)
        now = rank(at)
        if now > value * STALE_RATIO and heap and (now, at) > heap[0]:  # others have shown its names since
            if now < 0:
                heappush(heap, (now, at))
            continue
        passage = passages[at]
        bare = [bare_line(line) for line in passage.lines]
        if _is_mostly(shown, bare):
            continue
        while (cost := _weigh_passage(passage, count)) > left and len(passage.lines) > MIN_PASSAGE_LINES:
            passage = passage._replace(lines=passage.lines[: -max(1, len(passage.lines) // 4)])
        if cost > left:
            continue
        left -= cost
        chosen.append(passage)
        shown.update(bare)
        for name in worth.keys() & passage.names:
            worth[name] *= SHOWN_FACTOR
    return chosen


def _weigh_passage(passage: Passage, count: Count) -> int:
    return count("\n".join(f"  | {line}" for line in passage.lines)) + TITLE_TOKENS


def find_focus(own_texts: Sequence[tuple[int, str]]) -> dict[str, float]:
    """Return the names in what was written by the assistant and the user, each with its worth: newer ones more.

    `own_texts`: texts with their age in steps.
    """
    worth: dict[str, float] = {}
    for age, text in own_texts:
        for name in extract_names(text[:MAX_FOCUS_CHARS]):
            if "/" in name:
                continue  # a path says which file, not what of it
            worth[name] = worth.get(name, 0.0) + 1.0 / math.sqrt(max(1, age))
    return worth
