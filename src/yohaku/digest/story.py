"""Story of a stretch of the conversation, without a model: who asked, said and did what, in order, and how it ended.

Each item has a line; its texts share the tokens by their worth, and the newest get most. Law: the same turns give the
same text, and it never weighs more than allowed. Only what the user wrote stands behind the user's name: what tools
gave stands behind a bar, on every line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.core.model import Turn
from yohaku.digest.gist_text import Count, GistTitles
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.story_items import WORTH, Detail, StoryItem, read_story_items

OLDEST_SHARE, NEWEST_SHARE = 0.6, 1.5
"""Factors of the worth of the oldest and of the newest item; the very first, the goal, has that of the newest."""
MAX_LINES_SHARE = 0.6
"""Share of the tokens for the lines of items: where they need more, items go, the least worth first."""
MIN_STORY_TOKENS = 40
SPEAKER_TOKENS = 2.0
"""Tokens of the speaker's name before what somebody said."""
UNTOLD_TOKENS = 24
"""Tokens left for the line that names what is not told."""
MIN_TOLD_STEPS = 200
"""Newest steps that are told call by call; more in a longer story."""
MIN_CUT_TOKENS = 24
"""A text of which less could be shown is left out, unless it is that short."""
OWN_MARK, TOOL_MARK = "  ", "  | "
"""Before each line of what the assistant wrote, and of what a tool gave: none of it looks like a new speaker."""
MIN_ENDS_CHARS = 240
"""Of a text cut to fewer characters only the beginning is shown."""
SAMPLE_CHARS = 1_200
"""Characters by which the tokens of a text are estimated."""


class ToldItem(NamedTuple):
    item: StoryItem
    lines: list[str]
    """None if there was no room for it."""


def tell_story(turns: Sequence[Turn], titles: GistTitles, paths: ShortPaths, tokens: int, count: Count) -> list[str]:
    """Return the lines of a story of at most `tokens`."""
    told = tell_items(turns, titles, paths, tokens, count)
    lines = [line for one in told for line in one.lines]
    more = [*lines, *name_untold([one for one in told if not one.lines], titles)]
    return more if lines and count("\n".join(more)) <= tokens else lines


MAX_UNTOLD = 8


def name_untold(untold: Iterable[ToldItem], titles: GistTitles) -> list[str]:
    """Return a line that names the calls that are not told, the most frequent first."""
    calls: Counter[str] = Counter()
    for one in untold:
        calls.update(one.item.names)
        if again := one.item.calls - one.item.names.total():
            calls[titles.said_again] += again
    named = [f"{name} ×{times:,}" if times > 1 else name for name, times in calls.most_common(MAX_UNTOLD)]
    rest = sum(calls.values()) - sum(times for _, times in calls.most_common(MAX_UNTOLD))
    return [titles.untold.format(what=", ".join([*named, *([f"… +{rest:,}"] if rest else [])]))] if named else []


def name_calls(turns: Sequence[Turn], titles: GistTitles) -> list[str]:
    """Return a line that names all calls, for a gist without room for a story."""
    items = read_story_items(turns, titles, ShortPaths(()), max_steps=0)
    return name_untold([ToldItem(item, []) for item in items if item.names], titles)


def tell_items(
    turns: Sequence[Turn], titles: GistTitles, paths: ShortPaths, tokens: int, count: Count
) -> list[ToldItem]:
    """Return the items of a story, in order, with lines that weigh at most `tokens` together."""
    items = read_story_items(turns, titles, paths, max_steps=max(MIN_TOLD_STEPS, tokens // 8))
    if not items or tokens < MIN_STORY_TOKENS:
        return [ToldItem(item, []) for item in items]
    teller = _Teller(items, titles, count)
    tokens -= UNTOLD_TOKENS
    room = tokens
    for _ in range(5):
        told = teller.tell(room)
        weight = count("\n".join(line for _, lines in told for line in lines))
        if weight <= tokens:
            return told
        room = int(room * min(0.96, 0.98 * tokens / weight))
    return [ToldItem(item, []) for item in items]


@dataclass(slots=True)
class _SizedDetail:
    detail: Detail
    tokens: float
    worth: float
    left_out: bool = False


class _Teller:
    def __init__(self, items: list[StoryItem], titles: GistTitles, count: Count) -> None:
        self._items, self._titles, self._count = items, titles, count
        self._lines = [line_of(item, titles) for item in items]
        self._line_tokens = [self._estimate(line) + 1 if line else 0.0 for line in self._lines]
        last = max(1, len(items) - 1)
        self._ages = [NEWEST_SHARE] + [
            OLDEST_SHARE + (NEWEST_SHARE - OLDEST_SHARE) * at / last for at in range(1, len(items))
        ]
        self._details = [
            [
                _SizedDetail(detail, self._estimate(detail.text) + SPEAKER_TOKENS * item.is_speech, detail.worth * age)
                for detail in item.details
            ]
            for item, age in zip(items, self._ages, strict=True)
        ]

    def tell(self, tokens: int) -> list[ToldItem]:
        shown = self._choose(tokens * MAX_LINES_SHARE)
        left = tokens - sum(self._line_tokens[at] for at in shown)
        share = self._share_out([sized for at in shown for sized in self._details[at]], left)
        return [
            ToldItem(item, self._tell_item(at, share) if at in shown else []) for at, item in enumerate(self._items)
        ]

    def _share_out(self, details: list[_SizedDetail], tokens: float) -> float:
        """Return the tokens per worth. Texts that would be torn off after a few words are left out instead."""
        for sized in details:
            sized.left_out = False
        for _ in range(8):
            share = _find_share([sized for sized in details if not sized.left_out], tokens)
            torn = [
                sized
                for sized in details
                if not sized.left_out and share * sized.worth < min(MIN_CUT_TOKENS, sized.tokens)
            ]
            if not torn:
                break
            for sized in sorted(torn, key=lambda sized: sized.worth)[: (len(torn) + 1) // 2]:
                sized.left_out = True
        return share

    def _choose(self, tokens: float) -> set[int]:
        """Return the items that have a line: all, or those worth most."""
        order = sorted(range(len(self._items)), key=lambda at: -WORTH[self._items[at].kind] * self._ages[at])
        chosen: set[int] = set()
        for at in order:
            if self._items[at].kind != "skipped" and self._line_tokens[at] <= tokens:
                tokens -= self._line_tokens[at]
                chosen.add(at)
        return chosen

    def _tell_item(self, at: int, share: float) -> list[str]:
        line = self._lines[at]
        texts = [(sized.detail.by, self._cut(sized, share)) for sized in self._details[at]]
        if not line:
            by, text = texts[0]
            return list(_indent_rest(f"{self._titles.speakers[by]} {text}")) if text else []
        marked = ((TOOL_MARK if by == "tool" else OWN_MARK, text) for by, text in texts)
        return [line, *(mark + row for mark, text in marked for row in text.splitlines() if row.strip())]

    def _cut(self, sized: _SizedDetail, share: float) -> str:
        allowed = share * sized.worth
        text = sized.detail.text
        if sized.left_out:
            return ""
        if sized.tokens <= allowed:
            return text
        return cut_text(text, int(len(text) * (allowed - 3) / sized.tokens))

    def _estimate(self, text: str) -> float:
        """Return about as many tokens as a text has."""
        if len(text) <= SAMPLE_CHARS:
            return self._count(text)
        middle = len(text) // 2
        sample = text[: SAMPLE_CHARS // 2] + text[middle : middle + SAMPLE_CHARS // 2]
        return 1.02 * self._count(sample) * len(text) / len(sample)


def line_of(item: StoryItem, titles: GistTitles) -> str:
    """Return what was done and how it ended in a line; empty for what somebody said."""
    if item.looked_at:
        shown = item.looked_at[:MAX_LOOKS]
        more = len(item.looked_at) - len(shown)
        return f"- {titles.looked} {', '.join(shown)}{f' … +{more}' if more else ''}"
    if not item.line:
        return ""
    times = f" (×{item.calls})" if item.calls > 1 else ""
    return f"- {item.line}{times}"


MAX_LOOKS = 12


def _indent_rest(text: str) -> Iterator[str]:
    """Yield the lines of what somebody said; all but the first are indented, so that none looks like a new speaker."""
    first, *rest = text.splitlines()
    yield first
    yield from (OWN_MARK + line for line in rest if line.strip())


def _find_share(details: list[_SizedDetail], tokens: float) -> float:
    """Return the tokens per worth with which the texts, each up to its own size, take just these tokens."""
    order = sorted(details, key=lambda sized: sized.tokens / sized.worth)
    worth = sum(sized.worth for sized in order)
    left = max(0.0, tokens)
    for sized in order:
        if sized.tokens / sized.worth * worth > left:
            return left / worth
        left -= sized.tokens
        worth -= sized.worth
    return float("inf")


def cut_text(text: str, chars: int) -> str:
    """Return the beginning of a text, up to the end of a line or sentence, and if there is room also its end."""
    if len(text) <= chars:
        return text
    tail = chars // 3 if chars > MIN_ENDS_CHARS else 0
    head = _end_at_break(text, chars - tail)
    if not tail:
        return f"{text[:head].rstrip()} […]"
    start = len(text) - tail
    start = next(
        (at + 1 for at in (text.find("\n", start, start + tail // 2), text.find(" ", start)) if at >= 0), start
    )
    return f"{text[:head].rstrip()}\n[…]\n{text[start:].strip()}"


def _end_at_break(text: str, chars: int) -> int:
    """Return where to end within `chars`: behind a line, a sentence or a word in the last third, else right there."""
    least = chars * 2 // 3
    for mark in ("\n", ". ", "。", ", ", "、", " "):
        at = text.rfind(mark, least, chars)
        if at > 0:
            return at + (mark in (". ", "。"))
    return chars
