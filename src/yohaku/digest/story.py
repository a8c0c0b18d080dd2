"""Story of a stretch of the conversation, without a model: who asked, said and did what, in order, and how it ended.

Each item has a line, and texts whose beginnings are worth most: those of prompts and of what was concluded. What is
worth most has its tokens first, and the newest is worth more. Law: the same turns give the
same text, and it never weighs more than allowed. Only what the user wrote stands behind the user's name: what tools
gave stands behind a bar, on every line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from yohaku.core.model import Turn
from yohaku.digest.gist_text import Count, GistTitles
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span, split_rows
from yohaku.digest.story_items import LINE_WORTH, Detail, Speaker, StoryItem, read_story_items

OLDEST_SHARE, NEWEST_SHARE = 0.6, 1.5
"""Factors of the worth of the oldest and of the newest item; the very first, the goal, has that of the newest."""
PLAIN_WORTH = 1.0
"""What is worth less has room only within the tokens that a story takes anyway."""
MIN_STORY_TOKENS = 40
SPEAKER_TOKENS = 2.0
"""Tokens of the speaker's name before what somebody said."""
UNTOLD_TOKENS = 24
"""Tokens left for the line that names what is not told."""
MIN_TOLD_STEPS = 200
"""Newest steps that are told call by call; more in a longer story."""
MAX_REST = 1.3
"""A text that is this much longer than a portion is told whole with it."""
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
    shown: tuple[tuple[Span, ...], ...] = ()
    """Lines of each of its texts that are shown."""


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
    turns: Sequence[Turn],
    titles: GistTitles,
    paths: ShortPaths,
    tokens: int,
    count: Count,
    more: int = 0,
    answered: str = "",
) -> list[ToldItem]:
    """Return the items of a story, in order, with lines that weigh at most `tokens` together.

    What is worth more than PLAIN_WORTH may take up to `more` tokens beside them. `answered`: the prompt that the last
    steps answer, where it stays visible.
    """
    items = read_story_items(turns, titles, paths, max(MIN_TOLD_STEPS, tokens // 8), answered)
    if not items or tokens < MIN_STORY_TOKENS:
        return [ToldItem(item, []) for item in items]
    teller = _Teller(items, titles, count)
    tokens -= UNTOLD_TOKENS
    limit, scale = tokens + more, 1.0
    for _ in range(5):
        told = teller.tell(tokens * scale, limit * scale)
        weight = count("\n".join(line for one in told for line in one.lines))
        if weight <= limit:
            return told
        scale *= min(0.96, 0.98 * limit / weight)
    return [ToldItem(item, []) for item in items]


@dataclass(slots=True)
class _SizedDetail:
    detail: Detail
    tokens: float
    allowed: float = 0.0
    """Tokens of it that are shown."""


class _Portion(NamedTuple):
    """The line of an item, or some tokens of a text of it."""

    order: float
    """Its worth, negative: what is worth most comes first."""
    item: int
    detail: int
    """-1 for the line."""
    number: int
    tokens: float


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
                _SizedDetail(detail, self._estimate(detail.text) + SPEAKER_TOKENS * item.is_speech)
                for detail in item.details
            ]
            for item in items
        ]

    def tell(self, tokens: float, limit: float) -> list[ToldItem]:
        shown = self._share_out(tokens, limit)
        return [self._tell_item(at) if at in shown else ToldItem(item, []) for at, item in enumerate(self._items)]

    def _share_out(self, tokens: float, limit: float) -> set[int]:
        """Give tokens to lines and to portions of texts, those worth most first; return the items that are told."""
        queue = [portion for at in range(len(self._items)) for portion in self._begin(at)]
        heapify(queue)
        shown: set[int] = set()
        used = 0.0
        while queue:
            portion = heappop(queue)
            left = (limit if -portion.order > PLAIN_WORTH else tokens) - used
            if portion.detail < 0:
                if portion.tokens > left:
                    continue
                used += portion.tokens
                following = self._begin_details(portion.item)
            else:
                sized = self._details[portion.item][portion.detail]
                taken = min(portion.tokens, left)
                if taken <= 0 or sized.allowed + taken < min(MIN_CUT_TOKENS, sized.tokens):
                    continue
                sized.allowed += taken
                used += taken
                following = self._portion(portion.item, portion.detail, portion.number + 1)
            shown.add(portion.item)
            for more in following:
                heappush(queue, more)
        return shown

    def _begin(self, at: int) -> list[_Portion]:
        """Return what is told first of an item: its line, or the beginning of what somebody said."""
        for sized in self._details[at]:
            sized.allowed = 0.0
        if not self._lines[at]:
            return self._begin_details(at)
        if self._items[at].kind == "skipped":
            return []
        return [_Portion(-LINE_WORTH[self._items[at].kind] * self._ages[at], at, -1, 0, self._line_tokens[at])]

    def _begin_details(self, at: int) -> list[_Portion]:
        return [portion for number in range(len(self._details[at])) for portion in self._portion(at, number, 0)]

    def _portion(self, at: int, detail: int, number: int) -> list[_Portion]:
        """Return the next portion of a text, if there is one; a small rest goes with the portion before it."""
        sized = self._details[at][detail]
        if number == len(sized.detail.worth) or sized.allowed >= sized.tokens:
            return []
        end, worth = sized.detail.worth[number]
        if sized.tokens <= end * MAX_REST:
            end = sized.tokens
        return [_Portion(-worth * self._ages[at], at, detail, number, end - sized.allowed)]

    def _tell_item(self, at: int) -> ToldItem:
        item = self._items[at]
        shown = tuple(tuple(self._cut(sized)) for sized in self._details[at])
        return ToldItem(item, show_item(item, self._titles, shown, self._lines[at]), shown)

    def _cut(self, sized: _SizedDetail) -> Iterator[Span]:
        """Yield the lines of a text that its tokens are enough for."""
        text = sized.detail.text
        if sized.tokens <= sized.allowed:
            yield from split_rows(text, [Span(1, 0, len(text))])
        elif sized.allowed:
            for start, end in cut_ranges(text, int(len(text) * (sized.allowed - 3) / sized.tokens)):
                yield from split_rows(text, [Span(text.count("\n", 0, start) + 1, start, end)])

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


def show_item(
    item: StoryItem, titles: GistTitles, shown: Sequence[Sequence[Span]], line: str | None = None
) -> list[str]:
    """Return an item with the given lines of its texts."""
    line = line_of(item, titles) if line is None else line
    rows = [
        (detail.by, row)
        for detail, spans in zip(item.details, shown, strict=True)
        for row in show_text(detail.text, spans)
    ]
    if line:
        return [line, *((TOOL_MARK if by == "tool" else OWN_MARK) + row for by, row in rows)]
    return [row if at else f"{titles.speakers[by]} {row}" for at, (by, row) in enumerate(_indent_rest(rows))]


def _indent_rest(rows: list[tuple[Speaker, str]]) -> Iterator[tuple[Speaker, str]]:
    """Yield the lines of what somebody said; all but the first are indented, so that none looks like a new speaker."""
    for at, (by, row) in enumerate(rows):
        yield by, OWN_MARK + row if at else row


GAP, END = "… ", " […]"
"""Before a line that does not follow the one above it; behind the last one where only the rest is left out."""


def show_text(text: str, spans: Sequence[Span]) -> Iterator[str]:
    """Yield the given lines of a text, in order, with a mark where lines between them are left out."""
    row, last, gaps = "", Span(0, 0, 0), False
    for span in sorted(spans):
        start = max(span.start, last.end)
        piece = text[start : span.end]
        if not piece.strip():
            continue
        if row and span.line == last.line:
            row = row + piece if start == last.end else f"{row.rstrip()} … {piece.lstrip()}"
        else:
            if row:
                yield row.rstrip()
            gap = bool(text[last.end : start].strip())
            gaps |= gap
            row = GAP + piece.lstrip() if gap else piece
        last = Span(span.line, start, span.end)
    if row:
        yield row.rstrip() + (END if not gaps and text[last.end :].strip() else "")


def cut_text(text: str, chars: int) -> str:
    """Return the beginning of a text, up to the end of a line or sentence, and if there is room also its end."""
    ranges = cut_ranges(text, chars)
    shown = [text[start:end].strip() for start, end in ranges]
    return "\n[…]\n".join(shown) + (END if ranges[-1][1] < len(text) else "")


def cut_ranges(text: str, chars: int) -> list[tuple[int, int]]:
    """Return where the beginning that is shown ends, and where the end begins, if there is room for one."""
    if len(text) <= chars:
        return [(0, len(text))]
    tail = chars // 3 if chars > MIN_ENDS_CHARS else 0
    head = _end_at_break(text, chars - tail)
    if not tail:
        return [(0, head)]
    start = len(text) - tail
    start = next(
        (at + 1 for at in (text.find("\n", start, start + tail // 2), text.find(" ", start)) if at >= 0), start
    )
    return [(0, head), (start, len(text))]


def _end_at_break(text: str, chars: int) -> int:
    """Return where to end within `chars`: behind a line, a sentence or a word in the last third, else right there."""
    least = chars * 2 // 3
    for mark in ("\n", ". ", "。", ", ", "、", " "):
        at = text.rfind(mark, least, chars)
        if at > 0:
            return at + (mark in (". ", "。"))
    return chars
