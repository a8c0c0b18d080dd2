"""Text of one chapter without a model: the story of a stretch of the conversation, and lines and passages of it.

Law: the same stretch gives the same text, and it weighs at most as much as it may, with the user's rules beside that.
A chapter does not state again what an earlier one states: the goal, and the rules that still hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from yohaku.analysis.entities import extract_names, split_words
from yohaku.core.model import Turn
from yohaku.digest.excerpts import Excerpt, collect_excerpts, render_excerpts
from yohaku.digest.gist import word_lines, write_gist, write_opening
from yohaku.digest.gist_text import ENGLISH, Count, GistTitles, cut_to_tokens
from yohaku.digest.passages import MIN_PASSAGE_LINES, choose_passage_spans, choose_passages
from yohaku.digest.select_lines import Source, SpanCache, choose_spans
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span, bare_line
from yohaku.digest.story import ToldItem, tell_items
from yohaku.digest.story_items import is_listing, output_of
from yohaku.digest.wished_lines import choose_wished, merge_spans
from yohaku.digest.woven_lines import WovenText, collect_woven_texts, to_sources, weave

STORY_SHARE, MAX_STORY_SHARE = 0.45, 0.6
"""Shares of a chapter for its story: in any case, and if it has so much that is worth more than lines; lines and
passages have the rest."""
MIN_STORY_TOKENS = 300
"""A story gets so many at least, of a chapter that has them."""
PASSAGES_SHARE = 0.5
"""Share of that rest that passages take: several lines in a row of what the work is about now."""
AGAIN_SHARE = 0.15
"""Share of that rest for passages of earlier stretches that have become relevant again."""
LINES_SHARE = 0.9
"""Share that lines have at most of what stands beside a text by a model."""
TITLE_TOKENS = 10
"""Tokens of the title over the lines of one call."""
WISHED_SHARE = 0.4
"""Share of the tokens for lines that goes to lines with the user's words about what to keep."""
MAX_WORDS_SHARE = 0.1
"""Share of a chapter that these words take in it at most."""


MAX_TRIES = 4
"""Estimates of what lines weigh are a little off: so often fewer are chosen, until they fit."""


@dataclass(frozen=True)
class Stretch:
    """Hidden turns that a chapter tells, and what its reader sees beside it."""

    turns: tuple[Turn, ...]
    ref: str
    age: int
    """Steps that follow it."""
    titles: GistTitles = ENGLISH
    rules: tuple[str, ...] = ()
    """Rules to state: those that no earlier chapter states."""
    withdrawn: tuple[str, ...] = ()
    """Rules that an earlier chapter states and the user has taken back in this stretch."""
    earlier: tuple[Turn, ...] = ()
    """Turns that earlier chapters tell; some of their lines may be needed again."""
    visible: frozenset[str] = frozenset()
    """Names that are shown elsewhere."""
    visible_lines: frozenset[str] = frozenset()
    """Lines, without their numbers, of what stays whole."""
    topic: frozenset[str] = frozenset()
    """Words of the current work."""
    solved: frozenset[str] = frozenset()
    """Attempts that worked after it."""
    words: str = ""
    """Words of the user on what to keep."""
    answered: str = ""
    """Prompt that the last steps answer, where it stays visible."""
    focus: Mapping[str, float] = field(default_factory=dict)
    """Names of the current work, each with its worth."""
    cache: SpanCache = field(default_factory=dict, compare=False, repr=False)
    """Names of lines, for further tellings."""

    @property
    def first(self) -> bool:
        """True if it begins with the conversation."""
        return not self.earlier

    @property
    def header(self) -> str:
        """First lines: the ref that opens what is folded, and the rules that are new in it."""
        return write_opening(self.turns, self.ref, self.rules, self.titles, first=self.first, withdrawn=self.withdrawn)


def tell(stretch: Stretch, tokens: int, count: Callable[[str], int]) -> str:
    """Return a text of about `tokens`, beside the rules: the story of the stretch with its lines, then passages."""
    header, words = stretch.header, cut_to_tokens(stretch.words, int(tokens * MAX_WORDS_SHARE), count)
    wished = count("\n".join([stretch.titles.wished, *word_lines(words)])) if words else 0
    story = write_gist(
        stretch.turns,
        ref=stretch.ref,
        tokens=tokens + count(header) + wished,
        count=count,
        rules=stretch.rules,
        words=words,
        titles=stretch.titles,
        first=stretch.first,
        withdrawn=stretch.withdrawn,
        solved=stretch.solved,
        tell=partial(_tell_story, stretch, count),
    )
    return story or header


def _tell_story(stretch: Stretch, count: Count, paths: ShortPaths, text: str, tokens: int, weigh: Count) -> list[str]:
    """Return the story with lines in their places, then lines that the user wants and passages of earlier stretches."""
    titles, words = stretch.titles, stretch.words
    least = min(tokens, max(int(tokens * STORY_SHARE), MIN_STORY_TOKENS))
    more = max(0, int(tokens * MAX_STORY_SHARE) - least)
    told = tell_items(stretch.turns, titles, paths, least, count, more, stretch.answered)
    story = weave(told, (), (), titles, paths)
    texts = collect_woven_texts(told)
    later = sum(len(turn.steps) for turn in stretch.turns)
    excerpts = collect_excerpts(stretch.earlier, stretch.age + later)
    sources = to_sources(told, texts, stretch.age, count)
    room = tokens - sum(map(weigh, story))
    shown = _show_again(stretch, excerpts, int(room * AGAIN_SHARE), count)
    if words:
        excerpts += collect_excerpts(stretch.turns, stretch.age)
        wished, _ = choose_wished(excerpts, words, room * WISHED_SHARE, count)
        lines = render_excerpts(excerpts, wished)
        shown = [*([titles.lines, *lines] if lines else []), *shown]
    room -= sum(map(weigh, shown))
    covered = stretch.visible | extract_names("\n".join([text, *story]))
    passages = _choose_passages(stretch, told, texts, sources, int(room * PASSAGES_SHARE), count)
    passed = [text.text[span.start : span.end] for text, some in zip(texts, passages, strict=True) for span in some]
    covered |= extract_names("\n".join(passed))
    room -= count("\n".join(passed)) + 2 * len(passed)
    for _ in range(MAX_TRIES):
        if room <= 0:
            break
        spans, _ = choose_spans(sources, covered, room, stretch.topic, split_words(words), stretch.cache)
        woven = [[*some, *more] for some, more in zip(spans, passages, strict=True)]
        lines = [*weave(told, texts, woven, titles, paths), *shown]
        over = sum(map(weigh, lines)) - tokens
        if over <= 0:
            return lines
        room -= max(over, tokens // 50)
    return story


def _show_again(stretch: Stretch, excerpts: Sequence[Excerpt], tokens: int, count: Count) -> list[str]:
    """Return passages of earlier stretches that are about what the work is about now, under a title."""
    results = [
        replace(excerpt, text=output_of(excerpt.text))
        for excerpt in excerpts
        if excerpt.use and not excerpt.own and not is_listing(excerpt.use)
    ]
    texts = [(excerpt.text, excerpt.age) for excerpt in results]
    found = choose_passage_spans(texts, stretch.focus, tokens, count, stretch.visible_lines)
    lines = render_excerpts(results, [spans if len(spans) >= MIN_PASSAGE_LINES else [] for spans in found])
    return [stretch.titles.passages, *lines] if lines else []


def _choose_passages(
    stretch: Stretch,
    told: Sequence[ToldItem],
    texts: Sequence[WovenText],
    sources: Sequence[Source],
    tokens: int,
    count: Count,
) -> list[list[Span]]:
    """Return passages of what was looked at, about what the work is about now."""
    ages = [source.age for source in sources[: len(texts)]]
    looked = [(text.text if text.by == "tool" else "", age) for text, age in zip(texts, ages, strict=True)]
    changes = (detail.text for one in told if one.item.kind == "changed" for detail in one.item.details)
    changed = [bare_line(line.lstrip("+-")) for text in changes for line in text.split("\n")]
    return choose_passage_spans(looked, stretch.focus, tokens, count, stretch.visible_lines.union(changed))


def tell_lines(
    stretch: Stretch, text: str, tokens: int, count: Callable[[str], int], share: float = LINES_SHARE
) -> list[str]:
    """Return what tools showed and is likely to be needed, beside a `text` about the stretch.

    First lines that name what is not visible elsewhere, of this share of the tokens, then passages with the rest.
    """
    later = sum(len(turn.steps) for turn in stretch.turns)
    excerpts = [
        *collect_excerpts(stretch.earlier, stretch.age + later),
        *collect_excerpts(stretch.turns, stretch.age),
    ]
    words, title = stretch.words, stretch.titles.lines
    left = max(0, tokens - count(title))
    wished, taken = choose_wished(excerpts, words, left * WISHED_SHARE, count) if words else (None, 0)
    shown = [excerpt for excerpt in excerpts if excerpt.use and not excerpt.own]
    spans, _ = choose_spans(
        _to_sources(shown, count),
        stretch.visible | extract_names(text),
        min(max(0, left - taken), int(tokens * share)),
        stretch.topic,
        split_words(words),
        stretch.cache,
    )
    chosen = dict(zip(map(id, shown), spans, strict=True))
    merged = [chosen.get(id(excerpt), []) for excerpt in excerpts]
    lines = render_excerpts(excerpts, merge_spans(wished, merged) if wished else merged)
    lines = [title, *lines] if lines else []
    return [*lines, *_tell_passages(stretch, tokens - count("\n".join(lines)), count)]


def _tell_passages(stretch: Stretch, tokens: int, count: Callable[[str], int]) -> list[str]:
    title = stretch.titles.passages
    left, paths = tokens - count(title) - 2, ShortPaths(())
    found = choose_passages(stretch.turns, stretch.focus, left, count, paths, stretch.visible_lines)
    return [title, *found] if found else []


def _to_sources(excerpts: list[Excerpt], count: Callable[[str], int]) -> list[Source]:
    rates = (count(excerpt.text) / max(1, len(excerpt.text)) for excerpt in excerpts)
    return [
        Source(excerpt.text, excerpt.age, rate, title_tokens=TITLE_TOKENS)
        for excerpt, rate in zip(excerpts, rates, strict=True)
    ]
