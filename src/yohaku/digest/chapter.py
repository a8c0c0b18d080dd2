"""Text of one chapter without a model: what a stretch of the conversation was about, and lines of it.

Law: the same stretch gives the same text, and it weighs at most as much as it may, with the user's rules beside that.
A chapter does not state again what an earlier one states: the goal, and the rules that still hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from yohaku.analysis.entities import split_words
from yohaku.core.model import Turn
from yohaku.digest.excerpts import Excerpt, collect_excerpts, render_excerpts, title_says_all
from yohaku.digest.gist import word_lines, write_gist, write_opening
from yohaku.digest.gist_text import ENGLISH, GistTitles, cut_to_tokens
from yohaku.digest.select_lines import Source, SpanCache, choose_spans
from yohaku.digest.wished_lines import choose_wished, merge_spans

SECTIONS_SHARE = 0.15
"""Share of a chapter for what was asked and done; lines have the rest."""
MAX_SECTIONS_TOKENS = 2_000
"""In a large window lines keep more than longer sections would."""
TITLE_TOKENS = 10
"""Tokens of the title over the lines of one call."""
WISHED_SHARE = 0.4
"""Share of the tokens for lines that goes to lines with the user's words about what to keep."""
MAX_WORDS_SHARE = 0.1
"""Share of a chapter that these words take in it at most."""


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
    topic: frozenset[str] = frozenset()
    """Words of the current work."""
    words: str = ""
    """Words of the user on what to keep."""
    cache: SpanCache = field(default_factory=dict, compare=False, repr=False)
    """Names of lines, for further tellings."""

    @property
    def first(self) -> bool:
        """True if it begins with the conversation."""
        return not self.earlier

    @property
    def header(self) -> str:
        """What is folded, with the ref that opens it, and the rules that are new in it."""
        return write_opening(self.turns, self.ref, self.rules, self.titles, first=self.first, withdrawn=self.withdrawn)


def tell(stretch: Stretch, tokens: int, count: Callable[[str], int], *, fill: bool = False) -> str:
    """Return a text of about `tokens`, beside the rules. `fill`: names that stand alone get their lines."""
    header, words = stretch.header, cut_to_tokens(stretch.words, int(tokens * MAX_WORDS_SHARE), count)
    wished = count("\n".join([stretch.titles.wished, *word_lines(words)])) if words else 0
    sections = min(int(tokens * SECTIONS_SHARE), MAX_SECTIONS_TOKENS) + count(header) + wished
    text = write_gist(
        stretch.turns,
        ref=stretch.ref,
        tokens=sections,
        count=count,
        rules=stretch.rules,
        words=words,
        index=False,
        titles=stretch.titles,
        first=stretch.first,
        withdrawn=stretch.withdrawn,
    )
    lines = tell_lines(stretch, tokens - max(0, count(text) - count(header)), count, fill=fill)
    return "\n".join([text or header, *lines])


def tell_lines(stretch: Stretch, tokens: int, count: Callable[[str], int], *, fill: bool = False) -> list[str]:
    """Return lines of the stretch, and of what was hidden before it, that are likely to be needed, under titles."""
    later = sum(len(turn.steps) for turn in stretch.turns)
    excerpts = [
        *collect_excerpts(stretch.earlier, stretch.age + later),
        *collect_excerpts(stretch.turns, stretch.age),
    ]
    tokens, words = max(0, tokens), stretch.words
    wished, taken = choose_wished(excerpts, words, tokens * WISHED_SHARE, count) if words else (None, 0)
    spans, _ = choose_spans(
        _to_sources(excerpts, count),
        stretch.visible,
        max(0, tokens - taken),
        stretch.topic,
        split_words(words),
        stretch.cache,
        names_alone=True,
        fill=fill,
    )
    return render_excerpts(excerpts, merge_spans(wished, spans) if wished else spans)


def _to_sources(excerpts: list[Excerpt], count: Callable[[str], int]) -> list[Source]:
    found: list[Source] = []
    group, last = 0, None
    for excerpt in excerpts:
        group += excerpt.use is not last or excerpt.use is None
        last = excerpt.use
        text = excerpt.use.call.arguments if excerpt.use and excerpt.own else excerpt.text  # as the meter counted it
        rate = 0.0 if title_says_all(excerpt) else count(text) / max(1, len(text))
        numbered = not (excerpt.own or excerpt.prompt)
        own, quotes = excerpt.own, excerpt.quotes
        found.append(Source(excerpt.text, excerpt.age, rate, own, quotes, TITLE_TOKENS, group, numbered))
    return found
