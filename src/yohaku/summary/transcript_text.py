"""A conversation told to someone who has to sum it up: compact, in order, in as many stretches as their window asks.

Law: no turn, reply or call is skipped. Where there is too much, the longest are cut first, evenly, and it is said.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from yohaku.core.folds import Cut, View, arguments_of
from yohaku.core.model import Part, Text, ToolUse, Turn
from yohaku.passes.shrink_all import level

MIN_RESULT_CHARS = 600
"""Characters a result keeps before the conversation is rather told in several stretches."""

MAX_STRETCHES = 8
"""At most so many are asked about; beyond that everything is cut harder."""


class Utterance(NamedTuple):
    who: str
    text: str
    result: bool = False

    def told(self, most: int) -> str:
        return (
            f"{self.who}: {cut_middle(self.text, most)}"
            if "\n" not in self.text
            else f"{self.who}:\n{cut_middle(self.text, most)}"
        )


def read_utterances(turns: Iterable[Turn]) -> Iterator[Utterance]:
    for turn in turns:
        for part in turn.prompt:
            yield Utterance(part.by or "USER" if isinstance(part, Text) else "USER", _part_text(part))
        for item in (item for step in turn.steps for item in step.solid):
            if isinstance(item, ToolUse):
                yield Utterance(f"CALL {item.call.name}", _arguments_text(item.call.arguments), result=True)
                text = "\n".join(map(_part_text, item.result.parts))
                yield Utterance("ERROR" if item.result.error else "RESULT", text or "(nothing)", result=True)
            else:
                yield Utterance("ASSISTANT", _part_text(item))


def prefer_earlier_gist(
    said: list[Utterance], view: View, cut: Cut, tokens: int, count: Callable[[str], int]
) -> list[Utterance]:
    """All that is hidden at `cut`, or, where that is too much for one question, an earlier gist and what came since."""
    since = list(read_utterances(_turns_since_gist(view, cut))) if view.gist else []
    if not view.gist or not since:
        return said
    sample = "\n".join(saying.text for saying in since)
    rate = count(sample) / max(1, len(sample))
    if sum(len(saying.text) for saying in said) * rate <= tokens:
        return said
    return [Utterance("SUMMARY OF WHAT CAME BEFORE", view.gist.text), *since]


def _turns_since_gist(view: View, cut: Cut) -> tuple[Turn, ...]:
    """What a new gist at `cut` hides and the newest one does not."""
    hidden = view.hidden(cut)[view.cut.turn :]
    if not hidden or not view.cut.steps:
        return hidden
    return replace(hidden[0], steps=hidden[0].steps[view.cut.steps :]), *hidden[1:]


def split_stretches(said: list[Utterance], tokens: int, count: Callable[[str], int]) -> list[str]:
    """The whole conversation in consecutive texts of at most `tokens` each; one, where that is possible."""
    whole = "\n".join([saying.told(len(saying.text)) for saying in said])
    weight = count(whole)
    if weight <= tokens:
        return [whole]
    room = int(len(whole) * 0.97 * tokens / weight)
    """Characters of one stretch."""
    if (found := _fit_one_stretch(said, room)) and count(found) <= tokens:
        return [found]
    for tighter in (1.0, 0.85, 0.7, 0.5, 0.3):
        texts = _fill_stretches(said, max(1, int(room * tighter)))
        if len(texts) <= MAX_STRETCHES and all(count(text) <= tokens for text in texts):
            return texts
    return [cut_middle_to_tokens(text, tokens, count) for text in texts]


def _fit_one_stretch(said: list[Utterance], room: int) -> str | None:
    """Only calls and results cut, and none of them below the floor."""
    spoken = sum(_size(saying) for saying in said if not saying.result)
    lengths = [len(saying.text) for saying in said if saying.result]
    cap = level(lengths, room - spoken - sum(len(saying.who) + NOTE_CHARS for saying in said if saying.result))
    if cap < min(MIN_RESULT_CHARS, max(lengths, default=0)):
        return None
    return "\n".join([saying.told(cap if saying.result else len(saying.text)) for saying in said])


def _fill_stretches(said: list[Utterance], room: int) -> list[str]:
    """Filled one after the other. What is longer than a stretch is cut, and all is when there would be too many."""
    most = min(MIN_RESULT_CHARS, room // 4)
    sizes = [
        min(_size(saying), len(saying.who) + NOTE_CHARS + (most if saying.result else room // 2)) for saying in said
    ]
    if math.ceil(sum(sizes) / room) >= MAX_STRETCHES:
        allowed = int(MAX_STRETCHES * room * 0.8) - sum(len(saying.who) + NOTE_CHARS for saying in said)
        most = max(0, level([len(saying.text) for saying in said], allowed))
        lines = [saying.told(min(most, room // 4)) for saying in said]
    else:
        lines = [saying.told(most if saying.result else room // 2) for saying in said]
    texts: list[str] = []
    now: list[str] = []
    size = 0
    for line in lines:
        if now and size + len(line) + 1 > room and len(texts) < MAX_STRETCHES - 1:
            texts.append("\n".join(now))
            now, size = [], 0
        now.append(line)
        size += len(line) + 1
    return [*texts, "\n".join(now)]


NOTE_CHARS = 40
"""Characters that the note of a cut takes, and the frame of a line."""


def _size(saying: Utterance) -> int:
    return len(saying.who) + len(saying.text) + 3


def cut_middle(text: str, most: int) -> str:
    """The beginning and the end of a text, and how much is between them."""
    if len(text) <= most + NOTE_CHARS:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]} [… {len(text) - most:,} characters …] {text[len(text) - tail :] if tail else ''}".rstrip()


def cut_middle_to_tokens(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Without its middle, within `tokens` whatever the text is."""
    shown, most = text, len(text)
    while shown and (weight := count(shown)) > tokens:
        most = min(most - 1, int(most * min(0.9, 0.95 * tokens / weight)))
        shown = cut_middle(text, most) if most > 0 else ""
    return shown


SPACES = re.compile(r"[ \t]{3,}|\n\s*\n+")


def _part_text(part: Part) -> str:
    if isinstance(part, Text):
        text = part.text.replace("<transcript", "< transcript").replace("</transcript", "</ transcript")
        return SPACES.sub(lambda found: "\n" if "\n" in found[0] else "  ", text).strip()
    return f"[{part.kind}]"


def _arguments_text(arguments: str) -> str:
    """The arguments as they were meant: texts unescaped, so that what is quoted of them can be found again."""
    values = arguments_of(arguments)
    if not values:
        return arguments
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return "; ".join(f"{name}={text}" for name, text in texts.items())
