"""The digest: the newest steps stay whole, what is older is told, with some of its lines.

Lines are shown as they were, with their numbers and under their call: a few that name things tell more than the ends
of everything. All that is hidden is chosen from at once, for one budget, so that the next folding is many steps away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property

from yohaku.analysis.entities import split_words
from yohaku.analysis.language import is_japanese
from yohaku.analysis.rules import find_standing_rules
from yohaku.core.engine import AskingPass, Effect, Pass, PassContext
from yohaku.core.folds import Cut, Gist, View, ref_told
from yohaku.core.model import Text, Turn
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.digest.excerpts import (
    Excerpt,
    collect_excerpts,
    find_topic_words,
    find_visible_names,
    render_excerpts,
    title_says_all,
)
from yohaku.digest.gist import write_gist as tell
from yohaku.digest.gist import write_opening
from yohaku.digest.select_lines import Source, Span, SpanCache, choose_spans
from yohaku.passes.drop_oldest import before, cuts
from yohaku.passes.pieces import SMALL
from yohaku.summary.check import Accepted, Evidence
from yohaku.summary.request import BY_MODEL, SummaryRequest, ask_for_summary
from yohaku.summary.transcript_text import prefer_earlier_gist, read_utterances

MAX_GIST_TOKENS = 2_000
"""Tokens that are told at most."""
TITLE_TOKENS = 10
"""Tokens of a title in the gist."""
MIN_CONVERSATION_SHARE = 0.3
SCARCE_LINES_SHARE = 0.5
LINES_SHARE = 0.45
NARROW_LINES_SHARE = 0.2
"""Shares of the limit that the conversation, and the lines in it, have at least, however long the prompt is; not where
the user wants it folded now. Lines have `FEW` of it where that is enough, and the `FEWEST` where that is dear."""
NARROW_WINDOW = 6_000
"""Tokens. Below, most of the room is new at every folding, and has to be paid for."""
SCARCE_WINDOW = 12_000
"""Tokens. Below, every line counts."""
MAX_LINES_TOKENS = 20_000
"""Tokens of lines at most: what is looked into for them has hardly more that name anything."""
MAX_SPARE_SHARE = 0.05
"""Share of the limit. If lines leave more than that, few name anything, and more steps stay whole instead, or names get
their lines."""


def digest(recent: float = 0.1, gist: float = 0.08, least: float = 0.1) -> Pass:
    """Of what the goal leaves for the conversation, the newest steps take `recent` whole, and what is told of the rest
    `gist`; the lines chosen, or names without theirs, take what is left.

    Nothing is done for less than `least` of the limit, unless the conversation is over it or the user wants it folded.
    """

    def propose(view: View, room: PassContext) -> AskingPass:
        if not view.history.steps or room.newest_is_too_big(view):
            return []  # what is old would go for nothing
        if room.wish.manual and view.gist and view.gist.key in room.wish.drafts:
            return []  # a draft has just taken its place
        share = max(1, _conversation_tokens(view, room))
        whole = max(recent, 1 - gist - MAX_LINES_TOKENS / share)
        layout = _lay_out(view, room, whole)
        looked: SpanCache = {}
        told = _Draft(view, room, layout.cut, _gist_tokens(view, room, gist))
        hidden, chosen, spare = _choose_lines(told, layout, looked)
        if spare > room.budget.limit * MAX_SPARE_SHARE:
            layout = _lay_out(view, room, max(whole, (layout.used + spare) / share))
            roomy = layout.cut == told.cut  # no more steps fit in
            told = told if roomy else replace(told, cut=layout.cut)
            hidden, chosen, _ = _choose_lines(told, layout, looked, roomy=roomy)
        if not layout.cut:
            return []
        folded = yield from _write(told, layout.cut, layout.removed, render_excerpts(hidden, chosen))
        enough = 1 if room.wish.manual else room.budget.limit * least
        return [folded] if folded.before - folded.after >= enough or room.ledger.total > room.budget.limit else []

    return propose


@dataclass(frozen=True, slots=True)
class _Layout:
    cut: Cut | None
    """From where on all stays whole."""
    removed: int
    """Tokens of what is hidden."""
    used: int
    """Tokens of what stays, the newest prompt aside."""
    left: int
    """Tokens for lines."""


def _lay_out(view: View, room: PassContext, recent: float) -> _Layout:
    """What stays whole, and from where on all before it is hidden."""
    share = _conversation_tokens(view, room)
    weights = [room.weigher.step(step) for turn in view.stubbed for step in turn.steps]
    prompts = _weigh_earlier_prompts(view, room)
    whole = share * recent
    used, hidden = 0, 0
    for age, weight in enumerate(reversed(weights)):
        if age and weight + prompts.get(age, 0) > whole:
            hidden = len(weights) - age
            break
        whole -= weight + prompts.get(age, 0)
        used += weight
    cut, removed = _find_cut(view, room, hidden) if hidden else (None, 0)
    stay = view.stubbed[cut.turn - view.cut.turn : -1] if cut else view.stubbed[:-1]
    used += sum(room.weigher.entries(turn.prompt) for turn in stay)
    lines = int(room.budget.limit * _min_lines_share(room.budget.window))
    spare = min(lines, MAX_LINES_TOKENS, room.budget.at("full") - _fixed_tokens(view, room) - used)
    return _Layout(cut, removed, used, max(share - used, 0 if room.wish.manual else spare))


def _min_lines_share(window: int) -> float:
    return (
        NARROW_LINES_SHARE if window < NARROW_WINDOW else SCARCE_LINES_SHARE if window < SCARCE_WINDOW else LINES_SHARE
    )


def _weigh_earlier_prompts(view: View, room: PassContext) -> dict[int, int]:
    """What the prompts of earlier turns weigh, by the age of the newest step of each: with it they stay."""
    age, found = 0, dict[int, int]()
    for turn in reversed(view.stubbed):
        if age:
            found[age] = found.get(age, 0) + room.weigher.entries(turn.prompt)
        age += len(turn.steps)
    return found


def _choose_lines(
    told: _Draft, layout: _Layout, looked: SpanCache, *, roomy: bool = False
) -> tuple[list[Excerpt], list[list[Span]], float]:
    """What is hidden, the lines chosen of it, and the tokens left over."""
    view, room = told.view, told.room
    hidden = collect_excerpts(view, layout.cut) if layout.cut else []
    seen = find_visible_names(view, layout.cut)
    allowed = max(layout.left, told.share) - told.takes if told.cut else layout.left
    wished = split_words(room.wish.words)
    sources = _to_sources(hidden, room)
    chosen, spare = choose_spans(
        sources, seen, max(0, allowed), find_topic_words(view), wished, looked, brief=True, roomy=roomy
    )
    return hidden, chosen, spare


def _conversation_tokens(view: View, room: PassContext) -> int:
    """Tokens for the conversation beside the prompt that is being answered."""
    sticky = _fixed_tokens(view, room)
    least = min(int(room.budget.limit * MIN_CONVERSATION_SHARE), room.budget.at("full") - sticky)
    return max(0, room.goal - sticky, 0 if room.wish.manual else least)


def _gist_tokens(view: View, room: PassContext, gist: float) -> int:
    """Tokens for what is told; in a large window lines say more than a longer telling would."""
    return min(int(_conversation_tokens(view, room) * gist), MAX_GIST_TOKENS)


def _fixed_tokens(view: View, room: PassContext) -> int:
    return room.ledger.fixed + room.weigher.entries(view.stubbed[-1].prompt)


def _find_cut(view: View, room: PassContext, steps: int) -> tuple[Cut | None, int]:
    """The first place that hides so many of the oldest visible steps, or the last there is."""
    before = [0]
    for turn in view.history.turns:
        before.append(before[-1] + len(turn.steps))
    steps += before[view.cut.turn] + view.cut.steps
    last: tuple[Cut | None, int] = None, 0
    for cut, removed in cuts(view, room, "steps", newest=False):
        last = cut, removed
        if before[cut.turn] + cut.steps >= steps:
            break
    return last


def _to_sources(hidden: list[Excerpt], room: PassContext) -> list[Source]:
    found: list[Source] = []
    under, last = 0, None
    for scrap in hidden:
        under += scrap.by is not last or scrap.by is None
        last = scrap.by
        weighed = scrap.by.call.arguments if scrap.by and scrap.own else scrap.text  # as they were weighed before
        rate = 0.0 if title_says_all(scrap) else _tokens_per_char(weighed, room)
        numbered = not (scrap.own or scrap.asked)
        found.append(Source(scrap.text, scrap.age, rate, scrap.own, scrap.quotes, TITLE_TOKENS, under, numbered))
    return found


def _tokens_per_char(text: str, room: PassContext) -> float:
    return room.meter.count(text) / max(1, len(text))


@dataclass(frozen=True)
class _Draft:
    """What is told of all that is hidden at a cut."""

    view: View
    room: PassContext
    cut: Cut | None
    share: int
    """Tokens it may take, beside the rules."""

    @cached_property
    def hidden(self) -> tuple[Turn, ...]:
        return self.view.hidden(self.cut) if self.cut else ()

    @cached_property
    def ref(self) -> str:
        return ref_told(self.hidden)

    @cached_property
    def rules(self) -> tuple[str, ...]:
        return find_standing_rules(self.hidden, then=self.view.history.turns[self.cut.turn :]) if self.cut else ()

    @cached_property
    def text(self) -> str:
        return tell(self.hidden, ref=self.ref, tokens=self._most, count=self._count, rules=self.rules, index=False)

    @property
    def takes(self) -> int:
        """Tokens that lines cannot have. What a model will make of its share is not known before."""
        if self.room.wish.model or not self.text:
            return self.share
        return max(0, self.share - (self._most - self._count(self.text)))

    @property
    def _most(self) -> int:
        ruled = sum(self._count(f"- {rule}\n") for rule in self.rules) + SMALL // 2 if self.rules else 0
        return self.share + ruled

    @property
    def _count(self) -> Callable[[str], int]:
        return self.room.meter.count


def _write(told: _Draft, cut: Cut, removed: int, lines: list[str]) -> Generator[Effect, str, Gist]:
    view, room, hidden, ref, rules, share = told.view, told.room, told.hidden, told.ref, told.rules, told.share
    count = room.meter.count
    text, why, detail = told.text, "window_full", ""
    if room.wish.model and share >= 2 * SMALL:
        said = list(read_utterances(hidden))
        order = SummaryRequest("summary", share, words=room.wish.words, rules=rules, japanese=_is_japanese(view))
        window = int(room.budget.window * 0.95) - share
        record = prefer_earlier_gist(said, view, cut, window, count)
        found = yield from ask_for_summary(order, record, Evidence.of(said, room.wish.words), window, count)
        if isinstance(found, Accepted):
            text, why = "\n".join([write_opening(hidden, ref, rules), found.whole]), BY_MODEL
            dropped = write_appendix(hidden, "\n".join([text, *lines]), appendix_tokens(room.budget.limit), count)
            text = "\n".join([text, *dropped])
        else:
            why, detail = f"without_model.{found.code}", found.detail
    text = "\n".join([text or write_opening(hidden, ref, rules), *lines])
    gist = Gist(view.key_at(cut), text, ref, before(cut, hidden), why, removed, 0, detail=detail)
    return replace(gist, after=room.weigher.turn(gist.turn))


def _is_japanese(view: View) -> bool:
    return is_japanese([part.text for turn in view.history.turns for part in turn.prompt if isinstance(part, Text)])
