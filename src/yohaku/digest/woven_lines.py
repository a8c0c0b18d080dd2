"""Lines woven into a story: under each item those of its texts and results that are likely to be needed again.

Law: a line stands as it was (of JSON: a value behind its name), under what it belongs to; what a tool gave stands
behind a bar. A call is named once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import dedent
from typing import NamedTuple

from yohaku.digest.gist_text import Count, GistTitles
from yohaku.digest.readable_json import read_json_text
from yohaku.digest.select_lines import Source
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span, has_line_numbers, split_rows
from yohaku.digest.story import (
    GAP,
    OWN_MARK,
    TOOL_MARK,
    ToldItem,
    cut_ranges,
    line_of,
    name_untold,
    show_item,
    show_text,
)
from yohaku.digest.story_items import Speaker, StoryItem, output_of

MIN_CHARS = 8
"""A shorter text is not worth lines of its own: it stands in the story."""
MAX_COLLECTED_CHARS = 500_000
"""Characters of all texts together, the newest first."""
MAX_SAMPLE_CHARS = 6_000
"""Characters by which the tokens of a text are estimated."""
BEGINNING_CHARS = 90
"""Characters of the beginning of what somebody said, before lines of it, where the story has no room for more."""


MAX_JOINED_CHARS = 300
"""A line that tells of several looks ends behind so many."""


class WovenText(NamedTuple):
    """A text of a told item, some lines of which may be shown under it."""

    item: int
    label: str
    text: str
    by: Speaker


def collect_woven_texts(told: Sequence[ToldItem]) -> list[WovenText]:
    """Return what was written and what tools gave, in order, as far back as MAX_COLLECTED_CHARS allows."""
    newest_first: list[WovenText] = []
    left = MAX_COLLECTED_CHARS
    for text in _collect_backwards(told):
        newest_first.append(text)
        left -= len(text.text)
        if left < 0:
            break
    return newest_first[::-1]


def _collect_backwards(told: Sequence[ToldItem]) -> Iterator[WovenText]:
    for at in reversed(range(len(told))):
        item = told[at].item
        for label, result in reversed(item.results):
            text = output_of(read_json_text(result))
            if len(text) >= MIN_CHARS:
                yield WovenText(at, label, text, "tool")
        for detail in reversed(item.details):
            if not detail.whole and (detail.by != "tool" or not item.results) and len(detail.text) >= MIN_CHARS:
                yield WovenText(at, "", detail.text, detail.by)


def to_sources(told: Sequence[ToldItem], texts: Sequence[WovenText], age: int, count: Count) -> list[Source]:
    """Return the texts as sources to choose lines of; `age`: steps that follow the stretch."""
    last = max((one.item.step for one in told), default=0)
    sources: list[Source] = []
    for text in texts:
        item, lines, _ = told[text.item]
        new = not lines or (item.looked_at and text.by == "tool")
        title = count(text.label or item.line or _begin(item)) + 2 if new else 0
        sample = text.text[:MAX_SAMPLE_CHARS]
        sources.append(
            Source(
                text.text,
                max(1, age + last - item.step),
                count(sample) / len(sample),
                own=text.by != "tool" or item.kind == "reported",
                title_tokens=title,
                group=-1 if item.looked_at else text.item,
                shown="\n".join(lines) or ("" if item.line else _begin(item)),
            )
        )
    return sources


def weave(
    told: Sequence[ToldItem],
    texts: Sequence[WovenText],
    spans: Sequence[Sequence[Span]],
    titles: GistTitles,
    paths: ShortPaths,
) -> list[str]:
    """Return the lines of the story with the chosen spans of the texts in their places."""
    chosen: dict[int, list[tuple[WovenText, Sequence[Span]]]] = {}
    for text, some in zip(texts, spans, strict=True):
        if some:
            chosen.setdefault(text.item, []).append((text, some))
    lines: list[str] = []
    for at, one in enumerate(told):
        lines += map(paths.shorten, _weave_item(one, chosen[at], titles)) if at in chosen else one.lines
    lines = _join_looks(lines, titles)
    untold = [one for at, one in enumerate(told) if not one.lines and at not in chosen]
    return [*lines, *name_untold(untold, titles)]


def _join_looks(lines: Sequence[str], titles: GistTitles) -> list[str]:
    """Return the lines with those that tell only of looks, one after the other, joined."""
    look = f"- {titles.looked} "
    joined: list[str] = []
    joins = False
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        bare = line.startswith(look) and not below.startswith(OWN_MARK)
        if bare and joins and len(joined[-1]) < MAX_JOINED_CHARS:
            joined[-1] = f"{joined[-1]}, {line.removeprefix(look)}"
        else:
            joined.append(line)
        joins = bare
    return joined


def _weave_item(
    told: ToldItem, chosen: Sequence[tuple[WovenText, Sequence[Span]]], titles: GistTitles
) -> Iterator[str]:
    item = told.item
    if item.looked_at:
        yield from _weave_looks(told, chosen, titles)
        return
    shown = [list(spans) for spans in told.shown] or [[] for _ in item.details]
    rest: list[tuple[WovenText, Sequence[Span]]] = []
    for text, spans in chosen:
        at = next((at for at, detail in enumerate(item.details) if detail.text == text.text), None)
        if at is None or (text.by == "tool" and not shown[at]):
            rest.append((text, spans))
        else:
            shown[at] += split_rows(text.text, spans)
    if item.is_speech and not told.lines:
        shown[0].append(_begin_span(item.details[0].text))
    yield from show_item(item, titles, shown)
    for text, spans in rest:
        yield from _show_spans(text, spans, line_of(item, titles))


def _begin(item: StoryItem) -> str:
    """Return the first words of what somebody said."""
    return next(show_text(item.details[0].text, [_begin_span(item.details[0].text)]), "") if item.details else ""


def _begin_span(text: str) -> Span:
    start = len(text) - len(text.lstrip())
    first = text[start:].partition("\n")[0]
    return Span(text.count("\n", 0, start) + 1, start, start + cut_ranges(first, BEGINNING_CHARS)[0][1])


def _weave_looks(
    told: ToldItem, chosen: Sequence[tuple[WovenText, Sequence[Span]]], titles: GistTitles
) -> Iterator[str]:
    """Yield one line for all that was only looked at, and one for each look with lines, above them."""
    labels = {text.label for text, _ in chosen}
    rest = [look for look in told.item.looked_at if look not in labels]
    if told.lines and rest:
        yield line_of(replace(told.item, looked_at=rest), titles)
    last = ""
    for text, spans in chosen:
        if text.label != last:
            yield f"- {titles.looked} {text.label}:"
        last = text.label
        yield from _show_spans(text, spans)


def _show_spans(text: WovenText, spans: Sequence[Span], above: str = "") -> Iterator[str]:
    """Yield lines that stand alone, or a few in a row: most of the text is left out, which needs no mark.

    A line that `above` says already is left out, too.
    """
    mark = TOOL_MARK if text.by == "tool" else OWN_MARK + GAP
    rows: list[str] = []
    last = Span(0, 0, 0)
    for span in sorted(split_rows(text.text, spans)):
        start = max(span.start, last.end)
        piece = text.text[start : span.end]
        if piece.strip() and span.line == last.line:
            rows[-1] += piece if start == last.end else f" … {piece.strip()}"
        elif piece.strip():
            rows.append(piece)
        last = Span(span.line, start, max(span.end, last.end))
    rows = [row.strip() for row in rows] if has_line_numbers(text.text) else dedent("\n".join(rows)).split("\n")
    yield from (mark + row.rstrip() for row in rows if row.strip() and row.strip() not in above)
