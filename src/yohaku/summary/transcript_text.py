"""The record of a conversation for a model that summarises it: compact, in order, in as many stretches as it needs.

Law: no turn, reply or call is left out. If there is too much, the longest texts are cut first, all to one length, with
a note of how much is missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from yohaku.analysis.shorten import find_cap, shorten
from yohaku.core.folds import Cut
from yohaku.core.model import Part, Text, ToolUse, Turn
from yohaku.core.originals import arguments_of
from yohaku.core.view import View

MIN_RESULT_CHARS = 600
"""Characters a result keeps in a record of one stretch; if that is too many, the record is split."""

MAX_STRETCHES = 8
"""With more than this, all texts are cut harder instead."""

NOTE_CHARS = 40
"""Characters of the note in a cut text, and of what else a line needs beside its text."""


class Utterance(NamedTuple):
    who: str
    text: str
    result: bool = False
    """A call or its result, which may be cut before what people and the model wrote."""

    def render(self, max_chars: int) -> str:
        separator = "\n" if "\n" in self.text else " "
        return f"{self.who}:{separator}{cut_middle(self.text, max_chars)}"

    @property
    def size(self) -> int:
        return len(self.who) + len(self.text) + 3

    @property
    def frame(self) -> int:
        """Characters beside the text, if it is cut."""
        return len(self.who) + NOTE_CHARS


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


_WIDE_SPACE = re.compile(r"(?<=\S)[ \t]{3,}|\n\s*\n+")
"""Inside a line, not before it: of some languages the indentation is part of what a line says."""


def _part_text(part: Part) -> str:
    if isinstance(part, Text):  # the record stands between <transcript> tags: those inside it are broken
        text = part.text.replace("<transcript", "< transcript").replace("</transcript", "</ transcript")
        return _WIDE_SPACE.sub(lambda found: "\n" if "\n" in found[0] else "  ", text).strip("\r\n").rstrip()
    return f"[{part.kind}]"


def _arguments_text(arguments: str) -> str:
    """Return the arguments with texts unescaped, so that quotations from them can be found again."""
    values = arguments_of(arguments)
    if not values:
        return arguments
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return "; ".join(f"{name}={text}" for name, text in texts.items())


# An earlier gist in place of what it summarises


def prefer_earlier_gist(
    utterances: list[Utterance], view: View, cut: Cut, tokens: int, count: Callable[[str], int]
) -> list[Utterance]:
    """Return all that is hidden at `cut`; if that is too much for one question, an earlier gist and what came since."""
    since = list(read_utterances(view.between(view.cut, cut))) if view.gist else []
    if not view.gist or not since:
        return utterances
    sample = "\n".join(utterance.text for utterance in since)
    rate = count(sample) / max(1, len(sample))
    if sum(len(utterance.text) for utterance in utterances) * rate <= tokens:
        return utterances
    return [*(Utterance("SUMMARY OF WHAT CAME BEFORE", gist.text) for gist in view.chapters), *since]


# Stretches


def split_stretches(
    utterances: list[Utterance], tokens: int, count: Callable[[str], int], result_chars: int = MIN_RESULT_CHARS
) -> list[str]:
    """Return the conversation in consecutive texts of at most `tokens` each; in one if possible.

    Rather than to cut a result to fewer than `result_chars`, the conversation is split.
    """
    whole = "\n".join([utterance.render(len(utterance.text)) for utterance in utterances])
    weight = count(whole)
    if weight <= tokens:
        return [whole]
    chars = int(len(whole) * 0.97 * tokens / weight)
    """Characters of one stretch, by the average weight of a character."""
    if (found := _fit_one_stretch(utterances, chars, result_chars)) and count(found) <= tokens:
        return [found]
    for tighter in (1.0, 0.85, 0.7, 0.5, 0.3):  # some texts weigh more than the average
        texts = _fill_stretches(utterances, max(1, int(chars * tighter)), result_chars)
        if len(texts) <= MAX_STRETCHES and all(count(text) <= tokens for text in texts):
            return texts
    return [cut_middle_to_tokens(text, tokens, count) for text in texts]


def _fit_one_stretch(utterances: list[Utterance], chars: int, result_chars: int) -> str | None:
    """Cut calls and results only; None if that cuts them below `result_chars`."""
    results = [utterance for utterance in utterances if utterance.result]
    spoken = sum(utterance.size for utterance in utterances if not utterance.result)
    lengths = [len(utterance.text) for utterance in results]
    cap = find_cap(lengths, chars - spoken - sum(utterance.frame for utterance in results))
    if cap < min(result_chars, max(lengths, default=0)):
        return None
    return "\n".join([one.render(cap if one.result else len(one.text)) for one in utterances])


_RESULTS = ("RESULT:", "ERROR:")


def _fill_stretches(utterances: list[Utterance], chars: int, result_chars: int) -> list[str]:
    """Fill stretches one after the other with lines that are cut as far as needed."""
    texts: list[str] = []
    lines: list[str] = []
    size = 0
    for line in _cut_lines(utterances, chars, result_chars):
        if lines and size + len(line) + 1 > chars and len(texts) < MAX_STRETCHES - 1:
            kept = [lines.pop()] if len(lines) > 1 and line.startswith(_RESULTS) else []  # a call and its result
            texts.append("\n".join(lines))
            lines, size = kept, sum(len(one) + 1 for one in kept)
        lines.append(line)
        size += len(line) + 1
    return [*texts, "\n".join(lines)]


def _cut_lines(utterances: list[Utterance], chars: int, result_chars: int) -> list[str]:
    """Cut results to `result_chars` and others to half a stretch; if that is too much, all of them to one length."""
    result_cap, cap = min(result_chars, max(MIN_RESULT_CHARS, chars // 2), chars // 4 * 3), chars // 2
    sizes = [min(one.size, one.frame + (result_cap if one.result else cap)) for one in utterances]
    if math.ceil(sum(sizes) / chars) < MAX_STRETCHES:
        return [one.render(result_cap if one.result else cap) for one in utterances]
    allowed = int(MAX_STRETCHES * chars * 0.8) - sum(one.frame for one in utterances)
    common = max(0, find_cap([len(one.text) for one in utterances], allowed))
    return [one.render(min(common, chars // 4)) for one in utterances]


# Cutting


def cut_middle(text: str, max_chars: int) -> str:
    """Return the beginning and the end of a text, with a note of how much is between them."""
    if len(text) <= max_chars + NOTE_CHARS:
        return text
    head = max_chars * 2 // 3
    tail = max_chars - head
    end = text[len(text) - tail :] if tail else ""
    return f"{text[:head]} [… {len(text) - max_chars:,} characters …] {end}".rstrip()


def cut_end_to_tokens(text: str, tokens: int, count: Callable[[str], int]) -> str:
    return shorten(
        lambda chars: text if chars >= len(text) else f"{text[:chars].rstrip()} […]", len(text), tokens, count
    )


def cut_middle_to_tokens(text: str, tokens: int, count: Callable[[str], int]) -> str:
    return shorten(partial(cut_middle, text), len(text), tokens, count)
