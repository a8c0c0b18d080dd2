"""Selection of the old lines to go on showing: those likely to be needed again, by the names in them.

Law: lines are shown as they were, with their numbers. The same sources give the same choice.

How: every line of the hidden texts is a candidate. A name is worth more if the model wrote it itself, lately or often,
or if it belongs to the topic; an error or warning in a result is worth something by itself. The candidate with the
highest worth per token is taken first; its names are then worth nothing in others. The weights were fitted on recorded
sessions: how often a name was used in the twelve replies that followed. What a line tells a reader who does not see
its neighbours is a factor of its own (`line_value`); changed lines of a diff are one candidate.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

from yohaku.analysis.entities import extract_names, is_hyphenated, words_in_name
from yohaku.digest.line_value import rate_line
from yohaku.digest.output_shape import MAX_LOG_SAMPLE_CHARS, begins_like_log, names_trouble, reduce_to_form
from yohaku.digest.spans import Span, has_line_numbers, is_diff, join_changes, join_continued, split_ends

MAX_SCANNED_CHARS = 240_000
"""Characters of all sources that are scanned, the most promising first."""

MAX_SOURCE_CHARS = 24_000
"""Characters of one source that are scanned, at its beginning and its end: there stands what is needed again."""

MAX_BEGINNING_CHARS = 48
"""Characters of a line that is visible in part."""


LOG_DISCOUNT = 8
"""Of a log only errors and warnings are looked into: it counts for so much less."""


@dataclass(frozen=True, slots=True)
class Source:
    """A hidden text to choose lines of."""

    text: str
    age: int
    """Steps since it was written."""
    rate: float
    """Tokens per character."""
    own: bool = False
    """Written by the model."""
    quotes: frozenset[str] = frozenset()
    """Lines that are needed again as a whole, if at all: a command, a pattern."""
    title_tokens: int = 24
    """Tokens of the title, which is shown if any line is."""
    group: int = -1
    """Sources of one group have one title; a negative number is no group."""
    numbered: bool = True
    """Lines are shown with their numbers."""
    shown: str = ""
    """Text that shows some of its lines already."""

    def shows(self, span: Span) -> bool:
        """Test whether the beginning of the line is visible: the rest of it would only repeat that."""
        return bool(self.shown) and self.text[span.start : span.end].strip()[:MAX_BEGINNING_CHARS] in self.shown


class _NamedSpan(NamedTuple):
    span: Span
    names: frozenset[str]


_Scan: TypeAlias = tuple[list[_NamedSpan], int]
"""The spans of a text that name something, and how many spans there were."""
SpanCache: TypeAlias = dict[tuple[str, bool, frozenset[str]], _Scan]
"""Scans by text, `own` and `quotes`, for callers that choose twice from the same sources."""


@dataclass(slots=True)
class _Candidate:
    source: int
    span: Span
    names: Collection[str]
    cost: float
    """Tokens."""
    factor: float = 1.0
    """How much it tells without its neighbours."""


def choose_spans(
    sources: Sequence[Source],
    covered: Iterable[str],
    tokens: float,
    topic: frozenset[str] = frozenset(),
    wished: frozenset[str] = frozenset(),
    cache: SpanCache | None = None,
) -> tuple[list[list[Span]], float]:
    """Return the spans to show of each source, in order, together about `tokens`, and the tokens left over.

    Names that are `covered` are visible elsewhere and worth nothing. Names made of words of the `topic` are worth more,
    and so are those of words `wished` for, wherever they stand.
    """
    seen = frozenset(covered)
    candidates, worth = _find_candidates(sources, seen, topic, wished, {} if cache is None else cache)
    chosen, left = _take_best(sources, candidates, worth, tokens)
    spans: list[list[Span]] = [[] for _ in sources]
    for number in chosen:
        spans[candidates[number].source].append(candidates[number].span)
    return [sorted(some) for some in spans], max(0.0, left)


def _take_best(
    sources: Sequence[Source], candidates: list[_Candidate], worth: dict[str, float], tokens: float
) -> tuple[dict[int, None], float]:
    """Take candidates by worth per token while tokens are left; return their numbers and the tokens left.

    A rank in the heap may be out of date, since names lose their worth when they are shown: a candidate whose rank has
    dropped by a fifth or more goes back, unless it is still the best.
    """
    heap = [(-value / c.cost, n) for n, c in enumerate(candidates) if (value := _worth_of(c, worth))]
    heapify(heap)
    left = tokens
    chosen: dict[int, None] = {}
    titled_sources: set[int] = set()
    titled_groups: set[int] = set()
    while heap and left > 0:
        rank, number = heappop(heap)
        candidate = candidates[number]
        source = sources[candidate.source]
        titled = candidate.source in titled_sources or source.group in titled_groups
        title = 0 if titled else source.title_tokens
        now = -_worth_of(candidate, worth) / (candidate.cost + title * 0.5)  # others may share the title
        if now == 0:
            continue
        if heap and now > rank * 0.8 and (now, number) > heap[0]:
            heappush(heap, (now, number))
            continue
        if candidate.cost + title <= left:
            left -= candidate.cost + title
            chosen[number] = None
            titled_sources.add(candidate.source)
            if source.group >= 0:
                titled_groups.add(source.group)
            for name in candidate.names:
                worth.pop(name, None)
    return chosen, left


# The worth of names

OWN_WORTH = 7.0
"""How much likelier the model needs a name that it wrote itself than one that it was only shown."""
REPEAT_POWER = 0.8
"""The worth of an own name grows with the number of sources that hold it, by this power."""
OWN_AGE_POWER, AGE_POWER = 0.35, 0.15
"""The worth falls with the age in steps, by these powers, for own and for other names."""
CROWD_POWER = 0.25
"""The worth of other names falls with the number of lines they were shown among, by this power."""
TOPIC_WORTH = 4.5
"""Factor for a name that was only shown, if the topic holds all its words. Own names need no topic."""
PASSING_WORTH = 0.1
"""Factor for a size, time or hash that was only shown."""
_PASSING = re.compile(r"\d+(?:\.\d+)*[A-Za-z]{1,2}|\d{5,}|[0-9a-f]{7,}")
HYPHENATED_WORTH = 0.3
"""Factor for words joined by hyphens, if nothing else makes them a name."""
TROUBLE_WORTH = 3.0
"""Factor for an error or a warning."""


def _worth_of(candidate: _Candidate, worth: dict[str, float]) -> float:
    values = [worth[name] for name in candidate.names if name in worth]
    return candidate.factor * (math.fsum(values) if len(values) > 1 else values[0] if values else 0.0)


def _kind_factor(name: str, own: bool) -> float:
    if name[0] == TROUBLE_MARK:
        return TROUBLE_WORTH
    if is_hyphenated(name):
        return HYPHENATED_WORTH
    return 1.0 if own or not _PASSING.fullmatch(name) else PASSING_WORTH


@dataclass(slots=True)
class _Worths:
    """Worth of each name, while sources are scanned."""

    by_name: dict[str, float] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    """Number of own sources that hold a name."""

    def add(self, source: Source, names: frozenset[str], lines: int) -> None:
        if source.own:
            self.uses.update(names)
        shown = math.pow(source.age, -AGE_POWER) * math.pow(max(1, lines), -CROWD_POWER)
        likely = OWN_WORTH * math.pow(source.age, -OWN_AGE_POWER) if source.own else shown
        for name in names:
            if likely > self.by_name.get(name, 0.0):
                self.by_name[name] = likely * _kind_factor(name, source.own)

    def finish(self, covered: frozenset[str], topic: frozenset[str], wished: frozenset[str]) -> dict[str, float]:
        worth = self.by_name
        for name, times in self.uses.items():
            worth[name] *= times**REPEAT_POWER
        for name in covered:
            worth.pop(name, None)
        about = topic | wished
        for name in worth if about else ():
            words = words_in_name(name)
            if words and words <= about and (name not in self.uses or not words.isdisjoint(wished)):
                worth[name] *= TOPIC_WORTH
        return worth


# Candidates

NUMBER_TOKENS = 2.5
"""Tokens of a line's number."""


def _find_candidates(
    sources: Sequence[Source],
    covered: frozenset[str],
    topic: frozenset[str],
    wished: frozenset[str],
    cache: SpanCache,
) -> tuple[list[_Candidate], dict[str, float]]:
    """Return the lines that name something not covered, and the worth of each name."""
    max_chars = MAX_SCANNED_CHARS if wished else MAX_SOURCE_CHARS  # a name wished for may stand anywhere
    found: list[_Candidate] = []
    worths = _Worths()
    for number in _order_sources(sources, max_chars):
        source = sources[number]
        key = source.text, source.own, source.quotes
        if key not in cache:
            cache[key] = _scan(source, max_chars)
        spans, lines = cache[key]
        worths.add(source, _NO_NAMES.union(*[named.names for named in spans]), lines)
        number_tokens = NUMBER_TOKENS if source.numbered and not has_line_numbers(source.text) else 1
        for span, names in spans:
            if not names <= covered and not source.shows(span):
                cost = source.rate * (span.end - span.start + 1) + number_tokens
                line = source.text[span.start : span.end]
                found.append(_Candidate(number, span, names, cost, rate_line(line)))
    return found, worths.finish(covered, topic, wished)


def _order_sources(sources: Sequence[Source], max_chars: int) -> Iterator[int]:
    """Yield the sources to scan: own, newer and smaller ones first, since they name more per character."""
    left = MAX_SCANNED_CHARS
    for number in sorted(range(len(sources)), key=lambda n: (_scan_rank(sources[n]), n)):
        size = min(len(sources[number].text), max_chars) // (LOG_DISCOUNT if _is_log(sources[number]) else 1)
        if size <= left:
            left -= size
            yield number


def _scan_rank(source: Source) -> float:
    return source.age * math.sqrt(len(source.text) + 500) / (OWN_WORTH if source.own else 1.0)


# Names of a line

_NO_NAMES = frozenset[str]()
_QUOTE = re.compile(r"[`\"'「『]")
_QUOTED = re.compile(
    r"`([^`\n]{4,60})`|\"([^\s,;:)\]}\"][^\"\n]{3,59})\"|(?<!\w)'([^\s,;:)\]}'][^'\n]{3,59})'(?!\w)|"
    r"[「『]([^「」『』\n]{3,60})[」』]"
)
"""Text between quotation marks, but not between two quotations."""
_LINE_PLACE = re.compile(r"\s*\d+[→|:\t]|([^\s:]+):\d+:|([^\s:]*\.[A-Za-z]\w{0,5})-\d+-")
"""The number at the beginning of a line, with the file in which a search found it."""


TROUBLE_MARK = "!"
"""Before what stands for an error or a warning among the names of its line."""


def _scan(source: Source, max_chars: int) -> _Scan:
    """Return the spans that name something, and the number of all spans; of a log only those that tell of trouble."""
    spans = list(split_ends(source.text, max_chars))
    spans = list((join_changes if is_diff(source.text) else join_continued)(source.text, spans))
    telling = (
        [span for span in spans if names_trouble(source.text[span.start : span.end])] if _is_log(source) else spans
    )
    named = [_NamedSpan(span, _find_names(source, span)) for span in telling]
    return [span for span in named if span.names], len(spans)


def _is_log(source: Source) -> bool:
    """Test by the beginning of a text."""
    return not source.own and begins_like_log(source.text[:MAX_LOG_SAMPLE_CHARS])


def _find_names(source: Source, span: Span) -> frozenset[str]:
    """Return the names of a line; a quotation by the model, and an argument that is one line, are names too."""
    line = source.text[span.start : span.end]
    more: list[str] = []
    if source.own:
        more = [text for groups in _QUOTED.findall(line) for text in groups if text] if _QUOTE.search(line) else []
        more += [line] if line in source.quotes else []
    elif names_trouble(line):
        more = [TROUBLE_MARK + reduce_to_form(line)]
    if placed := _LINE_PLACE.match(line):  # a line number is not a name
        line = f"{placed[1] or placed[2] or ''} {line[placed.end() :]}"
    return extract_names(line).union(more) if more else extract_names(line)
