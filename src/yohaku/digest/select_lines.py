"""Which lines of old results to go on showing: those likely to be needed again, by what they name.

Law: lines are shown as they were, with their numbers, never reworded; the same sources give the same choice.
The weights were fitted on recorded sessions: how often a name was used in the twelve replies that followed. A line is
worth what its names are; where it stands and what it looks like added nothing to that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import NamedTuple, TypeAlias

from yohaku.analysis.entities import extract_names, find_candidates, is_hyphenated, names_in_word, words_in_name

MAX_SPAN_CHARS = 140
"""Characters. A longer line is looked at in pieces of about half of that."""

MAX_SCANNED_CHARS = 240_000
"""Characters of sources that are looked into, the most promising first."""

MAX_SOURCE_CHARS = 24_000
"""Characters of one source that are looked into: what is needed again stands at its beginning, or at its end."""


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    age: int
    """Steps since it was said."""
    tokens: float
    """A character's, on average."""
    own: bool = False
    """Said by the model itself."""
    quotes: frozenset[str] = frozenset()
    """Lines that are needed again, if at all, as they are: a command, a pattern."""
    title: int = 24
    """Tokens. What it costs to show anything of it beyond what is shown in any case."""
    under: int = -1
    """Those with the same number, unless it is negative, stand under one title."""
    numbered: bool = True
    """Whether its lines are shown with their numbers."""


class Span(NamedTuple):
    """A line, a piece of a long one, or a name in it."""

    line: int
    start: int
    end: int
    alone: bool = False
    """A name without its line."""


_NamesByWord: TypeAlias = dict[str, tuple[str, ...]]
"""What is named, by how it is said."""

_NamedSpans: TypeAlias = tuple[list[tuple[Span, frozenset[str], _NamesByWord]], int]
SpanCache: TypeAlias = dict[tuple[str, bool, frozenset[str], bool], _NamedSpans]
"""The lines of a text that name something, what each names, and how many lines were looked at."""


@dataclass(slots=True)
class _Candidate:
    source: int
    span: Span
    names: Collection[str]
    cost: float
    line: int = -1
    """The candidate that a name alone is a part of."""


def choose_spans(
    sources: Sequence[Source],
    covered: Iterable[str],
    tokens: float,
    topic: frozenset[str] = frozenset(),
    wished: frozenset[str] = frozenset(),
    looked: SpanCache | None = None,
    *,
    brief: bool = False,
    roomy: bool = False,
) -> tuple[list[list[Span]], float]:
    """For each source the spans to show, in order, together within about `tokens`, and how many of those are left.

    A name needs to be shown once: what is `covered` already, or by a better line, is worth nothing more. One that is
    made of the words of the `topic` is likelier to be needed, and so is one of those `wished` for, wherever it stands.
    To be `brief`, names stand alone where a line is long beside what it names; where it is `roomy` they get their lines
    in the end, as far as the tokens go. Who chooses twice gives what was `looked` into, so that it is not done again.
    """
    seen = frozenset(covered)
    candidates, value = _find_candidates(sources, seen, topic, wished, {} if looked is None else looked, brief)
    heap = [(-worth / c.cost, n) for n, c in enumerate(candidates) if (worth := _worth(c, value))]
    heapify(heap)
    left = tokens
    chosen: dict[int, None] = {}
    begun: set[int] = set()
    titled: set[int] = set()
    while heap and left > 0:
        rank, number = heappop(heap)
        found = candidates[number]
        source = sources[found.source]
        opening = 0 if found.source in begun or source.under in titled else source.title
        now = -_worth(found, value) / (found.cost + opening * 0.5)
        if now == 0:
            continue
        if heap and now > rank * 0.8 and (now, number) > heap[0]:
            heappush(heap, (now, number))
            continue
        cost = found.cost + opening
        if cost <= left:
            left -= cost
            chosen[number] = None
            begun.add(found.source)
            if source.under >= 0:
                titled.add(source.under)
            for name in found.names:
                value.pop(name, None)
    left = _settle_names(candidates, chosen, max(0.0, left), roomy)
    spans: list[list[Span]] = [[] for _ in sources]
    for number in chosen:
        spans[candidates[number].source].append(candidates[number].span)
    return [sorted(some) for some in spans], left


def _settle_names(candidates: list[_Candidate], chosen: dict[int, None], left: float, roomy: bool) -> float:
    """Names get their lines, the best first, while there is room for it; none stays alone beside its line."""
    alone = [number for number in chosen if candidates[number].line >= 0]
    for number in alone if roomy else ():
        line = candidates[number].line
        if line not in chosen and (more := candidates[line].cost - candidates[number].cost) <= left:
            left -= more
            chosen[line] = None
            del chosen[number]
    for number in alone:
        if number in chosen and candidates[number].line in chosen:
            left += candidates[number].cost
            del chosen[number]
    return left


def _worth(candidate: _Candidate, value: dict[str, float]) -> float:
    valued = [value[name] for name in candidate.names if name in value]
    worth = math.fsum(valued) if len(valued) > 1 else valued[0] if valued else 0.0
    return worth if candidate.line < 0 else worth * ALONE_WORTH


def _find_candidates(
    sources: Sequence[Source],
    covered: frozenset[str],
    topic: frozenset[str],
    wished: frozenset[str],
    looked: SpanCache,
    brief: bool,
) -> tuple[list[_Candidate], dict[str, float]]:
    """The lines that name something new, to be `brief` each name by itself, too, and what it is worth to show each."""
    deep = MAX_SCANNED_CHARS if wished else MAX_SOURCE_CHARS
    found: list[_Candidate] = []
    value: dict[str, float] = {}
    uses: Counter[str] = Counter()
    met: set[str] = set()
    for number in _order_sources(sources, deep):
        source = sources[number]
        known = source.text, source.own, source.quotes, brief
        if known not in looked:
            looked[known] = _find_named_spans(source, deep, brief)
        spans, among = looked[known]
        every = _NO_NAMES.union(*[named for _, named, _ in spans])
        if source.own:
            uses.update(every)
        shown_among = math.pow(source.age, -AGE_POWER) * math.pow(max(1, among), -CROWD_POWER)
        likely = OWN_WORTH * math.pow(source.age, -OWN_AGE_POWER) if source.own else shown_among
        for name in every:
            if likely > value.get(name, 0.0):
                value[name] = likely * _worth_of_kind(name, source.own)
        number_cost = NUMBER_TOKENS if source.numbered and not has_line_numbers(source.text) else 1
        for span, named, by_word in spans:
            if named <= covered:
                continue
            line = len(found)
            cost = source.tokens * (span.end - span.start + 1) + number_cost
            found.append(_Candidate(number, span, named, cost))
            for said, called in by_word.items():
                if said in met or covered.issuperset(called) or said[-1] >= "\u3000":
                    continue  # a word of Japanese says little without its sentence
                met.add(said)
                alone = _span_of_name(said, span, source.text)
                cost = source.tokens * (alone.end - alone.start) + COMMA_TOKENS
                found.append(_Candidate(number, alone, called, cost, line))
    for name, times in uses.items():
        value[name] *= times**REPEAT_POWER
    for name in covered:
        value.pop(name, None)
    about = topic | wished
    for name in value if about else ():
        words = words_in_name(name)
        if words and words <= about and (name not in uses or not words.isdisjoint(wished)):
            value[name] *= TOPIC_WORTH
    return found, value


def _worth_of_kind(name: str, own: bool) -> float:
    """What a name of its kind is worth, beside a path or a code name."""
    if is_hyphenated(name):
        return HYPHENATED_WORTH
    return 1.0 if own or not _PASSING.fullmatch(name) else PASSING_WORTH


def _span_of_name(said: str, line: Span, text: str) -> Span:
    """Where a name is said, a path from its beginning."""
    at = start = text.find(said, line.start)
    if at > line.start and text[at - 1] in "/.":
        root = _ROOT.search(text[max(line.start, at - 5) : at])
        start -= len(root[0]) if root and "/" in root[0] + said else 0
    return Span(line.line, start, at + len(said), alone=True)


_ROOT = re.compile(r"(?<![\w/:.~-])(?:(?:~|\.{1,2})?/\.?|\.)$")
"""What a path begins with before its first word; an address, behind a colon, does not."""


def _find_named_spans(source: Source, deep: int, brief: bool) -> _NamedSpans:
    """The lines that name something, and how many were looked at."""
    lines = [(span, *_find_names(source, span, brief)) for span in _spans_of_ends(source.text, deep)]
    return [line for line in lines if line[1]], len(lines)


def _find_names(source: Source, span: Span, brief: bool) -> tuple[frozenset[str], _NamesByWord]:
    """What a line names, to be `brief` by how it says it, too.

    What the model itself put in quotes, or gave a tool as a whole, is a name too.
    """
    line = source.text[span.start : span.end]
    quoted: list[str] = []
    if source.own:
        quoted = [text for groups in _QUOTED.findall(line) for text in groups if text] if _QUOTE.search(line) else []
        quoted += [line] if line in source.quotes else []
    if placed := _LINE_PLACE.match(line):  # where it stands is not what it names
        line = f"{placed[1] or placed[2] or ''} {line[placed.end() :]}"
    if not brief:
        return extract_names(line).union(quoted) if quoted else extract_names(line), {}
    said = {word: called for word in find_candidates(line) if (called := names_in_word(word))}
    for text in quoted:
        said.setdefault(text, (text,))
    return frozenset(chain.from_iterable(said.values())) if said else _NO_NAMES, said


_NO_NAMES = frozenset[str]()
_QUOTE = re.compile(r"[`\"'「『]")
_QUOTED = re.compile(
    r"`([^`\n]{4,60})`|\"([^\s,;:)\]}\"][^\"\n]{3,59})\"|(?<!\w)'([^\s,;:)\]}'][^'\n]{3,59})'(?!\w)|"
    r"[「『]([^「」『』\n]{3,60})[」』]"
)
"""What stands between quotes, not between two quotations."""


OWN_WORTH = 7.0
"""How much likelier the model needs again what it has named itself than what it was only shown."""
REPEAT_POWER = 0.8
"""The more often it has named it: by this power, as with those below."""
OWN_AGE_POWER = 0.35
AGE_POWER = 0.15
CROWD_POWER = 0.25
"""The more lines it was shown among."""
TOPIC_WORTH = 4.5
"""What it was only shown, if all the words of the name are in what the model says now. Its own names need no topic."""

PASSING_WORTH = 0.1
"""What it was only shown, if it is a size, a time or a hash."""
_PASSING = re.compile(r"\d+(?:\.\d+)*[A-Za-z]{1,2}|\d{5,}|[0-9a-f]{7,}")

HYPHENATED_WORTH = 0.3
"""What hyphens join, if nothing else makes it a name."""

ALONE_WORTH = 0.5
"""What a name is worth without its line, which says more than the name."""

NUMBER_TOKENS = 2.5
"""Tokens of a line's number."""
COMMA_TOKENS = 1.5
"""Tokens between names that stand alone."""


def _order_sources(sources: Sequence[Source], deep: int) -> Iterator[int]:
    """The sources to look into: what the model said, and what is newer or smaller, tells more a character."""
    left = MAX_SCANNED_CHARS
    for number in sorted(range(len(sources)), key=lambda n: (_scan_rank(sources[n]), n)):
        size = min(len(sources[number].text), deep)
        if size <= left:
            left -= size
            yield number


def _scan_rank(source: Source) -> float:
    return source.age * math.sqrt(len(source.text) + 500) / (OWN_WORTH if source.own else 1.0)


def _spans_of_ends(text: str, deep: int) -> Iterator[Span]:
    """The lines of a text; of a long one those at its beginning and its end."""
    if len(text) <= deep:
        yield from _split_spans(text, 0, len(text))
        return
    head = deep * 3 // 4
    tail = len(text) - deep + head
    near = text.rfind("\n", head - MAX_SPAN_CHARS, head)
    yield from _split_spans(text, 0, head if near < 0 else near)
    yield from _split_spans(text, text.find("\n", tail, tail + MAX_SPAN_CHARS) + 1 or tail, len(text))


def _split_spans(text: str, start: int, end: int) -> Iterator[Span]:
    for number, line in enumerate(text[start:end].split("\n"), text.count("\n", 0, start) + 1):
        end = start + len(line)
        if not line or line.isspace():
            pass
        elif len(line) <= MAX_SPAN_CHARS:
            yield Span(number, start, end)
        else:
            at = start
            while end - at > MAX_SPAN_CHARS:
                cut = max(
                    text.rfind(mark, at + MAX_SPAN_CHARS // 4, at + MAX_SPAN_CHARS // 2)
                    for mark in (", ", ",", "; ", ". ", " ")
                )
                if cut < 0:  # a path is not broken
                    cut = text.find(" ", at + MAX_SPAN_CHARS // 2, min(end, at + 2 * MAX_SPAN_CHARS))
                cut = cut + 1 if cut > 0 else at + MAX_SPAN_CHARS // 2
                yield Span(number, at, cut)
                at = cut
            yield Span(number, at, end)
        start = end + 1


def render_spans(text: str, spans: Sequence[Span], numbered: bool = True) -> list[str]:
    """The spans as lines, with their numbers unless they have some of their own, and the names that stand alone.

    What has no number is set in by a space, so that no line of it looks like a title.
    """
    own = has_line_numbers(text)
    lines: list[str] = []
    last = Span(0, 0, 0)
    for span in spans:
        said = text[span.start : span.end]
        if span.alone:
            continue
        if span.line == last.line:
            lines[-1] += said if span.start == last.end else f" … {said}"
        elif numbered and not own:
            lines.append(f"{span.line}: {said}")
        else:
            lines.append(said if own or said[0].isspace() else f" {said}")
        last = span
    alone = ", ".join(text[span.start : span.end] for span in spans if span.alone)
    return [*lines, f"… {alone}"] if alone else lines


def has_line_numbers(text: str) -> bool:
    """Whether its lines come with their numbers, maybe behind a title."""
    found = _NUMBERED.search(text, 0, NUMBERS_WITHIN_CHARS)
    return found is not None and int(found[1]) < int(found[2])


NUMBERS_WITHIN_CHARS = 1_000
"""Characters in which numbered lines begin."""
_NUMBERED = re.compile(r"^[ \t]*(\d{1,9})[→|:\t][^\n]*\n[ \t]*(\d{1,9})[→|:\t]", re.MULTILINE)
_LINE_PLACE = re.compile(r"\s*\d+[→|:\t]|([^\s:]+):\d+:|([^\s:]*\.[A-Za-z]\w{0,5})-\d+-")
"""The number of a line at its beginning, with the file that a search found it in, or one near it."""
