"""Lines woven into a story: under each item those of its texts and results that are likely to be needed again.

Law: a line stands as it was, under what it belongs to; what a tool gave stands behind a bar. A call is named once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from yohaku.digest.gist_text import Count, GistTitles
from yohaku.digest.select_lines import Source
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span, split_rows
from yohaku.digest.story import OWN_MARK, TOOL_MARK, ToldItem, cut_text, line_of, name_untold
from yohaku.digest.story_items import Speaker, StoryItem

MIN_CHARS = 8
"""A shorter text is not worth lines of its own: it stands in the story."""
MAX_SAMPLE_CHARS = 6_000
"""Characters by which the tokens of a text are estimated."""
BEGINNING_CHARS = 90
"""Characters of the beginning of what somebody said, before lines of it, where the story has no room for more."""
CUT_MARK = "… "
"""Before a line of a text that is shown in part."""


class WovenText(NamedTuple):
    """A text of a told item, some lines of which may be shown under it."""

    item: int
    label: str
    text: str
    by: Speaker


def collect_woven_texts(told: Sequence[ToldItem]) -> list[WovenText]:
    """Return what was written and what tools gave, in order."""
    return list(_collect(told))


def _collect(told: Sequence[ToldItem]) -> Iterator[WovenText]:
    for at, (item, _) in enumerate(told):
        for detail in item.details:
            if (detail.by != "tool" or not item.uses) and len(detail.text) >= MIN_CHARS:
                yield WovenText(at, "", detail.text, detail.by)
        for label, use in item.uses:
            if len(use.result.text) >= MIN_CHARS:
                yield WovenText(at, label, use.result.text, "tool")


def to_sources(told: Sequence[ToldItem], texts: Sequence[WovenText], age: int, count: Count) -> list[Source]:
    """Return the texts as sources to choose lines of; `age`: steps that follow the stretch."""
    last = max((item.step for item, _ in told), default=0)
    sources: list[Source] = []
    for text in texts:
        item, lines = told[text.item]
        new = not lines or (item.looked_at and text.by == "tool")
        title = count(text.label or item.line or _begin(item)) + 2 if new else 0
        sample = text.text[:MAX_SAMPLE_CHARS]
        sources.append(
            Source(
                text.text,
                max(1, age + last - item.step),
                count(sample) / len(sample),
                own=text.by != "tool" or item.is_report,
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
    untold = [one for at, one in enumerate(told) if not one.lines and at not in chosen]
    return [*lines, *name_untold(untold, titles)]


def _weave_item(
    told: ToldItem, chosen: Sequence[tuple[WovenText, Sequence[Span]]], titles: GistTitles
) -> Iterator[str]:
    item, lines = told
    if item.looked_at:
        yield from _weave_looks(told, chosen, titles)
        return
    rows = [row for text, spans in chosen for row in _show_spans(text, spans)]
    if lines:
        yield from lines
    elif item.is_speech:
        yield f"{titles.speakers[item.details[0].by]} {_begin(item)}"
    else:
        yield line_of(item, titles)
    yield from rows


def _begin(item: StoryItem) -> str:
    """Return the first words of what somebody said."""
    text = item.details[0].text.strip() if item.details else ""
    return cut_text(text.partition("\n")[0], BEGINNING_CHARS)


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


def _show_spans(text: WovenText, spans: Sequence[Span]) -> Iterator[str]:
    mark = TOOL_MARK if text.by == "tool" else OWN_MARK + CUT_MARK
    row, last = "", Span(0, 0, 0)
    for span in split_rows(text.text, spans):
        piece = text.text[span.start : span.end].strip()
        if row and span.line == last.line:
            row += f" {piece}" if span.start == last.end else f" … {piece}"
        else:
            if row:
                yield mark + row
            row = piece
        last = span
    if row:
        yield mark + row
