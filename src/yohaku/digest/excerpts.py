"""Excerpts: the hidden texts of a conversation, those of their lines that were chosen, and names that stay visible.

Law: every line stands as it was, under a title that names who wrote it or the call it comes from. A line does not
repeat its title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from yohaku.analysis.activity import read_event
from yohaku.analysis.entities import extract_names, split_words
from yohaku.analysis.tool_calls import describe_call, find_command, read_arguments
from yohaku.core.folds import Cut
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.core.view import View
from yohaku.digest.gist_text import user_prompts
from yohaku.digest.spans import Span, bare_line, render_spans

MAX_HIDDEN_CHARS = 500_000
"""Characters of hidden texts that are collected, the newest first."""

MAX_LINE_CHARS = 100
"""Characters of a title, and of an argument that may be needed again as a whole."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A hidden text, some lines of which may be shown."""

    use: ToolUse | None
    """The call it was an argument or the result of; None for prompts and replies."""
    text: str
    age: int
    """Steps since then."""
    own: bool = False
    """Written by the model."""
    quotes: frozenset[str] = frozenset()
    """Arguments of the call that are one short line."""
    prompt: bool = False
    """Written by the user."""


def collect_excerpts(turns: Sequence[Turn], age: int = 0) -> list[Excerpt]:
    """Return the texts of hidden turns in order, as far back as MAX_HIDDEN_CHARS allows; `age`: steps since then."""
    newest_first: list[list[Excerpt]] = []
    left = MAX_HIDDEN_CHARS
    for group in _newest_first(turns, age):
        newest_first.append(group)
        left -= sum([len(excerpt.text) for excerpt in group])
        if left < 0:
            break
    return [excerpt for group in reversed(newest_first) for excerpt in group]


def _newest_first(turns: Sequence[Turn], age: int) -> Iterator[list[Excerpt]]:
    """Yield the excerpts of each step and each prompt."""
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            yield list(_excerpts_of_step(step, age))
            age += 1
        yield [Excerpt(None, text, age, prompt=True) for text in user_prompts([turn])]


MAX_SUCCESS_CHARS = 400


def only_says_done(use: ToolUse) -> bool:
    """Test for the result of a change of files that says no more than that it was made."""
    if len(use.result.text) > MAX_SUCCESS_CHARS or find_command(use) is not None:
        return False
    event = read_event(0, use)
    return not event.failed and any(access.kind != "read" for access in event.accesses)


def _excerpts_of_step(step: Step, age: int) -> Iterator[Excerpt]:
    for item in step.items:
        if isinstance(item, ToolUse):
            values = [_value_text(value) for value in read_arguments(item).values()]
            short = frozenset([value for value in values if 4 <= len(value) <= MAX_LINE_CHARS and "\n" not in value])
            yield Excerpt(item, "\n".join(values), age, own=True, quotes=short)
            if not only_says_done(item):
                yield Excerpt(item, item.result.text, age)
        elif isinstance(item, Text):
            yield Excerpt(None, item.text, age, own=True)


def _value_text(value: Any) -> str:
    """Return an argument as text or JSON; "" if it is nested too deep to be encoded."""
    try:
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):
        return ""


# Titles and lines


def render_excerpts(excerpts: Sequence[Excerpt], spans: Sequence[Sequence[Span]]) -> list[str]:
    """Return the chosen spans of each excerpt as lines under titles."""
    lines: list[str] = []
    last = ""
    by_end: dict[str, str] = {}
    for excerpt, chosen in zip(excerpts, spans, strict=True):
        if chosen:
            title = _title_of(excerpt)
            if title != last:
                lines.append(f"[{_PATH.sub(partial(_shorten_known_path, by_end), title)}]")
                last = title
            new = [span for span in chosen if not (excerpt.own and _says(title, excerpt.text[span.start : span.end]))]
            lines += render_spans(excerpt.text, new, numbered=bool(excerpt.use) and not excerpt.own)
    return lines


_PATH = re.compile(r"(?<![\w.@+~/-])/?[\w.@+~-]+(?:/[\w.@+~-]+)+((?:/[\w.@+~-]+){2})(?![\w.@+~/-])")
"""A path longer than its end, which is a file and its folder."""


def _shorten_known_path(by_end: dict[str, str], path: re.Match[str]) -> str:
    """Return the end of a path that came before, unless another path ends like it; else the whole path."""
    if by_end.get(path[1]) == path[0]:
        return f"…{path[1]}"
    by_end.setdefault(path[1], path[0])
    return path[0]


def _title_of(excerpt: Excerpt) -> str:
    if excerpt.use:
        return describe_call(excerpt.use, MAX_LINE_CHARS)
    return "user" if excerpt.prompt else "assistant"


def _says(title: str, text: str) -> bool:
    return f" {text} " in f" {title} "


# Names and words that stay visible

TOPIC_STEPS = 12
"""Newest steps that make up the topic."""
MAX_TOPIC_CHARS = 4_000
"""Characters of each text of the topic that are read."""


def find_visible_names(view: View, cut: Cut | None) -> set[str]:
    """Return the names in all that stays visible if everything before `cut` is hidden."""
    names: set[str] = set()
    for text in (*(part.text for part in view.history.system if isinstance(part, Text)), *_visible_texts(view, cut)):
        names |= extract_names(text)
    return names


def find_visible_lines(view: View, cut: Cut | None) -> frozenset[str]:
    """Return the lines, without their numbers, of all in the conversation that stays visible behind `cut`."""
    return frozenset([bare_line(line) for text in _visible_texts(view, cut) for line in text.split("\n")])


def _visible_texts(view: View, cut: Cut | None) -> Iterator[str]:
    hidden = {step.key for turn in view.hidden(cut) for step in turn.steps} if cut else set[str]()
    for turn in view.stubbed[cut.turn - view.cut.turn :] if cut else view.stubbed:
        yield from (part.text for part in turn.prompt if isinstance(part, Text))
        for step in turn.steps:
            if step.key not in hidden:
                yield from _written_texts(step)
                yield from _result_texts(step)


def find_topic_words(view: View, steps: int = TOPIC_STEPS, max_chars: int = MAX_TOPIC_CHARS) -> frozenset[str]:
    """Return the words of the newest prompt and of what the model wrote in the newest steps."""
    words: set[str] = set()
    for part in view.history.turns[-1].prompt:
        words |= split_words(part.text[:max_chars]) if isinstance(part, Text) else set()
    for step in view.history.steps[-steps:]:
        for text in _written_texts(step):
            words |= split_words(text[:max_chars])
    return frozenset(words)


def _written_texts(step: Step) -> Iterator[str]:
    """Yield the texts and arguments that the model wrote."""
    for item in step.solid:
        if isinstance(item, ToolUse):
            yield from map(_value_text, read_arguments(item).values())
        elif isinstance(item, Text):
            yield item.text


def _result_texts(step: Step) -> Iterator[str]:
    for item in step.solid:
        if isinstance(item, ToolUse):
            yield from (part.text for part in item.result.parts if isinstance(part, Text))
