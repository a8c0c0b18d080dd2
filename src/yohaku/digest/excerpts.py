"""A conversation abridged: what was said and asked for and what came back, line by line, those lines that are chosen.

Law: every line stands as it was under a title that names who said it or which call it came from. What the title says
is not said again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from yohaku.analysis.entities import extract_names, split_words
from yohaku.analysis.tool_calls import describe_call, normalize_name, read_arguments
from yohaku.core.folds import Cut, Slot, View
from yohaku.core.model import Step, Text, ToolUse
from yohaku.digest.gist_text import user_prompts
from yohaku.digest.select_lines import Span, render_spans


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text that is hidden, and may be shown in part."""

    by: ToolUse | None
    """The call it was given to or came from; None where somebody said it."""
    text: str
    age: int
    """Steps since it was said."""
    own: bool = False
    """Said by the model."""
    quotes: frozenset[str] = frozenset()
    """Of what a call was given, what is one short line."""
    asked: bool = False
    """Said by the user."""


MAX_LINE_CHARS = 100
"""Characters of what may be needed again as it is."""


MAX_HIDDEN_CHARS = 500_000
"""Characters of what is hidden that are looked at, the newest."""


def collect_excerpts(view: View, cut: Cut) -> list[Excerpt]:
    """What is hidden at a cut, in order, as far back as it is looked at."""
    turns = view.hidden(cut)
    age = len(view.history.steps) - sum([len(turn.steps) for turn in turns])
    left = MAX_HIDDEN_CHARS
    found: list[list[Excerpt]] = []
    for turn in reversed(turns):
        said = [list(_excerpts_of_step(step, age + n)) for n, step in enumerate(reversed(turn.steps))]
        age += len(said)
        for one in (*said, [Excerpt(None, text, age, asked=True) for text in user_prompts([turn])]):
            found.append(one)
            left -= sum([len(scrap.text) for scrap in one])
            if left < 0:
                return [scrap for one in reversed(found) for scrap in one]
    return [scrap for one in reversed(found) for scrap in one]


def _excerpts_of_step(step: Step, age: int) -> Iterator[Excerpt]:
    for item in step.items:
        if isinstance(item, ToolUse):
            given = [_value_text(value) for value in read_arguments(item).values()]
            short = frozenset([value for value in given if 4 <= len(value) <= MAX_LINE_CHARS and "\n" not in value])
            yield Excerpt(item, "\n".join(given), age, own=True, quotes=short)
            yield Excerpt(item, item.result.text, age)
        elif isinstance(item, Text):
            yield Excerpt(None, item.text, age, own=True)


def render_excerpts(found: Sequence[Excerpt], chosen: Sequence[Sequence[Span]]) -> list[str]:
    lines: list[str] = []
    last = ""
    ends: dict[str, str] = {}
    for scrap, spans in zip(found, chosen, strict=True):
        if spans:
            label = _title_of(scrap)
            if label != last:
                lines.append(f"[{_PATH.sub(partial(_shorten_known_path, ends), label)}]")
                last = label
            new = [span for span in spans if not (scrap.own and _says(label, scrap.text[span.start : span.end]))]
            lines += render_spans(scrap.text, new, numbered=bool(scrap.by) and not scrap.own)
    return lines


def _shorten_known_path(ends: dict[str, str], path: re.Match[str]) -> str:
    """A path as it is, or only its end where it was said before and no other ends like it."""
    if ends.get(path[1]) == path[0]:
        return f"…{path[1]}"
    ends.setdefault(path[1], path[0])
    return path[0]


_PATH = re.compile(r"(?<![\w.@+~/-])/?[\w.@+~-]+(?:/[\w.@+~-]+)+((?:/[\w.@+~-]+){2})(?![\w.@+~/-])")
"""A path that is longer than its end, which is a file and its folder."""


def title_says_all(scrap: Excerpt) -> bool:
    """Whether its title says all of it."""
    return (
        scrap.own and scrap.by is not None and len(scrap.text) <= MAX_LINE_CHARS and _says(_title_of(scrap), scrap.text)
    )


def _title_of(scrap: Excerpt) -> str:
    return describe_call(scrap.by, MAX_LINE_CHARS) if scrap.by else "user" if scrap.asked else "assistant"


def _says(label: str, said: str) -> bool:
    return f" {said} " in f" {label} "


def find_visible_names(view: View, cut: Cut | None, folded: Iterable[tuple[str, Slot]] = ()) -> set[str]:
    """What is named by all that stays as it is."""
    hidden = {step.key for turn in view.hidden(cut) for step in turn.steps} if cut else set[str]()
    turns = view.stubbed[cut.turn - view.cut.turn :] if cut else view.stubbed
    without = {(key, _normalize_slot(slot)) for key, slot in folded}
    seen: set[str] = set()
    for part in (*view.history.system, *(part for turn in turns for part in turn.prompt)):
        seen |= extract_names(part.text) if isinstance(part, Text) else set()
    for step in (step for turn in turns for step in turn.steps):
        if step.key not in hidden:
            for slot, text in _texts_of_items(step.solid):
                if (step.key, slot) not in without:
                    seen |= extract_names(text)
    return seen


def find_topic_words(view: View, steps: int = 12, most: int = 4_000) -> frozenset[str]:
    """The words of what the model said last, and of what it was asked."""
    seen: set[str] = set()
    for part in view.history.turns[-1].prompt:
        seen |= split_words(part.text[:most]) if isinstance(part, Text) else set()
    for step in view.history.steps[-steps:]:
        for slot, text in _texts_of_items(step.solid):
            seen |= split_words(text[:most]) if slot.where != "result" else set()
    return frozenset(seen)


def _texts_of_items(items: Iterable[object]) -> Iterator[tuple[Slot, str]]:
    """Each text of a step, an argument by its plain name."""
    for index, item in enumerate(items):
        if isinstance(item, ToolUse):
            for name, value in read_arguments(item).items():
                yield Slot("argument", index, name), _value_text(value)
            for number, part in enumerate(item.result.parts):
                if isinstance(part, Text):
                    yield Slot("result", index, number), part.text
        elif isinstance(item, Text):
            yield Slot("item", index), item.text


def _normalize_slot(slot: Slot) -> Slot:
    return slot._replace(part=normalize_name(slot.part)) if isinstance(slot.part, str) else slot


def _value_text(value: Any) -> str:
    """As the call had it, in JSON; nothing of what is nested too deep to be written again."""
    try:
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):
        return ""
