"""Digest: the newest steps stay whole; all older ones become one gist and a selection of their lines.

Lines stay as they were, with their numbers, under the call they come from: a few lines that name things keep more than
the ends of everything. They are chosen from all that is hidden at once, for one budget, so that the next folding is
many steps away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property

from yohaku.analysis.entities import split_words
from yohaku.analysis.language import is_japanese
from yohaku.analysis.standing_rules import choose_rules, read_standing_rules
from yohaku.core.folds import Cut, Gist
from yohaku.core.model import Text, Turn
from yohaku.core.originals import ref_of_turns
from yohaku.core.recipe import AskingPass, Effect, Pass, PassContext
from yohaku.core.view import View
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.digest.excerpts import (
    Excerpt,
    collect_excerpts,
    find_topic_words,
    find_visible_names,
    render_excerpts,
    title_says_all,
)
from yohaku.digest.gist import write_gist, write_opening
from yohaku.digest.gist_text import JAPANESE, choose_titles
from yohaku.digest.select_lines import Source, SpanCache, choose_spans
from yohaku.digest.spans import Span
from yohaku.digest.wished_lines import choose_wished, merge_spans, shorten_words
from yohaku.passes.drop_oldest import before, cuts, rules_tokens
from yohaku.passes.pieces import SMALL
from yohaku.summary.check import Accepted, Evidence, Rejected
from yohaku.summary.prompts import RETAIN
from yohaku.summary.request import BY_MODEL, WITHOUT_MODEL, SummaryRequest, ask_for_summary
from yohaku.summary.transcript_text import prefer_earlier_gist, read_utterances

MAX_GIST_TOKENS = 2_000
"""Tokens of the gist without its lines: in a large window lines keep more than a longer gist would."""
TITLE_TOKENS = 10
"""Tokens of the title over the lines of one call."""
MIN_CONVERSATION_SHARE = 0.3
"""Share of the limit that the conversation has at least, however long the newest prompt is; not in a manual folding."""
NARROW_WINDOW = 6_000
"""Tokens. In a smaller window most lines are new after every folding, and have to be paid for."""
SCARCE_WINDOW = 12_000
"""Tokens. In a smaller window every line counts."""
NARROW_LINES_SHARE, SCARCE_LINES_SHARE, LINES_SHARE = 0.2, 0.5, 0.45
"""Shares of the limit that lines have at least: below NARROW_WINDOW, below SCARCE_WINDOW, and from there on."""
MAX_LINES_TOKENS = 20_000
"""Tokens of lines: the part of a conversation that is scanned has hardly more lines that name anything."""
WISHED_SHARE = 0.4
"""Share of the tokens for lines that goes to lines with the user's words about what to keep."""
MAX_SPARE_SHARE = 0.05
"""Share of the limit. If lines leave more than this, few of them name anything: more steps stay whole instead, or names
that would stand alone get their lines."""


def digest(
    recent: float = 0.1,
    gist: float = 0.08,
    least: float = 0.1,
    *,
    keep_turns: int = 0,
    prompt: str = "",
    directives: tuple[str, ...] = (),
    retain: str | None = RETAIN,
    retain_directives: tuple[str, ...] = (),
    model: str = "",
) -> Pass:
    """Make a pass that splits what the goal leaves for the conversation.

    The newest steps take the share `recent`, the gist of all others the share `gist`, and lines of them the rest. The
    newest `keep_turns` stay whole where they fit. Nothing is done that saves less than `least` of the limit, unless the
    view is over it or the folding is manual. The other options are for the model that writes the gist, if there is one.
    """
    request = SummaryRequest("summary", 0, prompt, directives, retain, retain_directives, model=model)

    def propose(view: View, context: PassContext) -> AskingPass:
        if not view.history.steps or context.newest_is_too_big(view):
            return []  # hiding what is old would not help
        if context.options.manual and view.gist and view.gist.key in context.options.drafts:
            return []  # a draft has just taken its place
        tokens = max(1, _conversation_tokens(view, context))
        recent_share = max(recent, 1 - gist - MAX_LINES_TOKENS / tokens)
        layout = _lay_out(view, context, recent_share, keep_turns)
        cache: SpanCache = {}
        draft = _Draft(view, context, layout.cut, _gist_tokens(view, context, gist), request)
        excerpts, spans, spare = _choose_lines(draft, layout, cache)
        if spare > context.budget.limit * MAX_SPARE_SHARE:
            layout = _lay_out(view, context, max(recent_share, (layout.used + spare) / tokens), keep_turns)
            same = layout.cut == draft.cut  # no other step fits whole: names get their lines
            draft = draft if same else replace(draft, cut=layout.cut)
            excerpts, spans, _ = _choose_lines(draft, layout, cache, fill=same)
        if not layout.cut:
            return []
        fold = yield from _fold(draft, layout.cut, layout.removed, render_excerpts(excerpts, spans))
        enough = 1 if context.options.manual else context.budget.limit * least
        saved = fold.before - fold.after
        bigger = saved <= 0  # the engine refuses it, and the verdict says so
        return [fold] if bigger or saved >= enough or context.ledger.total > context.budget.limit else []

    return propose


# What stays whole


@dataclass(frozen=True, slots=True)
class _Layout:
    cut: Cut | None
    """Everything behind it stays whole; None if nothing is hidden."""
    removed: int
    """Tokens of what is hidden."""
    used: int
    """Tokens of what stays, without the newest prompt."""
    left: int
    """Tokens for lines."""


def _lay_out(view: View, context: PassContext, recent: float, keep_turns: int = 0) -> _Layout:
    """Choose the cut so that the newest steps take the share `recent`, and the newest turns stay."""
    tokens = _conversation_tokens(view, context)
    weights = [context.weigher.step(step) for turn in view.stubbed for step in turn.steps]
    prompts = _weigh_earlier_prompts(view, context)
    whole = tokens * recent
    used, hidden = 0, 0
    for age, weight in enumerate(reversed(weights)):
        if age and weight + prompts.get(age, 0) > whole:
            hidden = len(weights) - age
            break
        whole -= weight + prompts.get(age, 0)
        used += weight
    hidden = min(hidden, _count_older_steps(view, context, keep_turns)) if keep_turns else hidden
    cut, removed = _find_cut(view, context, hidden) if hidden else (None, 0)
    stay = view.stubbed[cut.turn - view.cut.turn : -1] if cut else view.stubbed[:-1]
    used += sum(context.weigher.entries(turn.prompt) for turn in stay)
    return _Layout(cut, removed, used, max(tokens - used, _min_lines_tokens(view, context, used)))


def _count_older_steps(view: View, context: PassContext, keep_turns: int) -> int:
    """Return the visible steps before as many of the newest turns as fit beside the newest prompt and a gist."""
    turns, room = view.stubbed, context.budget.at("hot") - _fixed_tokens(view, context)
    kept = 0
    for turn in reversed(turns):
        weight = sum(map(context.weigher.step, turn.steps)) + (context.weigher.entries(turn.prompt) if kept else 0)
        if kept == keep_turns or weight > room:
            break
        room -= weight
        kept += 1
    if not kept:  # not even the newest turn fits: its older steps are hidden as usual
        return sum(len(turn.steps) for turn in turns)
    return sum(len(turn.steps) for turn in turns[: len(turns) - kept])


def _min_lines_tokens(view: View, context: PassContext, used: int) -> int:
    if context.options.manual:
        return 0
    window = context.budget.window
    wide = SCARCE_LINES_SHARE if window < SCARCE_WINDOW else LINES_SHARE
    lines = int(context.budget.limit * (NARROW_LINES_SHARE if window < NARROW_WINDOW else wide))
    return min(lines, MAX_LINES_TOKENS, context.budget.at("full") - _fixed_tokens(view, context) - used)


def _weigh_earlier_prompts(view: View, context: PassContext) -> dict[int, int]:
    """Return the weight of each earlier turn's prompt by the age of its newest step, with which it stays."""
    age, found = 0, dict[int, int]()
    for turn in reversed(view.stubbed):
        if age:
            found[age] = found.get(age, 0) + context.weigher.entries(turn.prompt)
        age += len(turn.steps)
    return found


def _find_cut(view: View, context: PassContext, steps: int) -> tuple[Cut | None, int]:
    """Return the first cut that hides this many of the oldest visible steps, or the last cut there is."""
    before = [0]
    for turn in view.history.turns:
        before.append(before[-1] + len(turn.steps))
    steps += before[view.cut.turn] + view.cut.steps
    last: tuple[Cut | None, int] = None, 0
    for cut, removed in cuts(view, context, "steps", newest=False):
        last = cut, removed
        if before[cut.turn] + cut.steps >= steps:
            break
    return last


def _conversation_tokens(view: View, context: PassContext) -> int:
    """Return the tokens for the conversation beside the newest prompt."""
    fixed = _fixed_tokens(view, context)
    least = min(int(context.budget.limit * MIN_CONVERSATION_SHARE), context.budget.at("full") - fixed)
    return max(0, context.goal - fixed, 0 if context.options.manual else least)


def _gist_tokens(view: View, context: PassContext, gist: float) -> int:
    return min(int(_conversation_tokens(view, context) * gist), MAX_GIST_TOKENS)


def _fixed_tokens(view: View, context: PassContext) -> int:
    return context.ledger.fixed + context.weigher.entries(view.stubbed[-1].prompt)


# Lines of what is hidden


def _choose_lines(
    draft: _Draft, layout: _Layout, cache: SpanCache, *, fill: bool = False
) -> tuple[list[Excerpt], list[list[Span]], float]:
    """Return the hidden texts, the spans chosen of each, and the tokens left over."""
    view, context = draft.view, draft.context
    excerpts = collect_excerpts(view, layout.cut) if layout.cut else []
    tokens = max(layout.left, draft.tokens) - draft.taken if draft.cut else layout.left
    words, count = context.options.words, context.meter.count
    wished, taken = choose_wished(excerpts, words, tokens * WISHED_SHARE, count) if words else (None, 0)
    spans, spare = choose_spans(
        _to_sources(excerpts, context),
        find_visible_names(view, layout.cut),
        max(0, tokens - taken),
        find_topic_words(view),
        split_words(words),
        cache,
        names_alone=True,
        fill=fill,
    )
    return excerpts, merge_spans(wished, spans) if wished else spans, spare


def _to_sources(excerpts: list[Excerpt], context: PassContext) -> list[Source]:
    found: list[Source] = []
    group, last = 0, None
    for excerpt in excerpts:
        group += excerpt.use is not last or excerpt.use is None
        last = excerpt.use
        text = excerpt.use.call.arguments if excerpt.use and excerpt.own else excerpt.text  # as the meter counted it
        rate = 0.0 if title_says_all(excerpt) else context.meter.count(text) / max(1, len(text))
        numbered = not (excerpt.own or excerpt.prompt)
        own, quotes = excerpt.own, excerpt.quotes
        found.append(Source(excerpt.text, excerpt.age, rate, own, quotes, TITLE_TOKENS, group, numbered))
    return found


# The gist


@dataclass(frozen=True)
class _Draft:
    """The gist of all that is hidden at a cut, before a model or lines add to it."""

    view: View
    context: PassContext
    cut: Cut | None
    tokens: int
    """Tokens it may take, without the rules and the user's words."""
    request: SummaryRequest
    """For a model that writes it; its limit and the rules are filled in."""

    @cached_property
    def hidden(self) -> tuple[Turn, ...]:
        return self.view.hidden(self.cut) if self.cut else ()

    @cached_property
    def ref(self) -> str:
        return ref_of_turns(self.hidden)

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Rules to show; the last line says how many more there are and where."""
        if not self.cut:
            return ()
        standing = read_standing_rules(self.hidden, then=self.view.history.turns[self.cut.turn :])
        choice = choose_rules(standing, rules_tokens(self.context.budget.limit), self._count)
        return choice.lines(self.ref, japanese=choose_titles(self.hidden) is JAPANESE)

    @cached_property
    def text(self) -> str:
        limit, count = self._tokens_with_rules, self._count
        return write_gist(
            self.hidden, ref=self.ref, tokens=limit, count=count, rules=self.rules, words=self.words, index=False
        )

    @cached_property
    def words(self) -> str:
        return shorten_words(self.context.options.words, self.context.budget.limit, self._count)

    @property
    def taken(self) -> int:
        """Tokens that lines cannot have. A model may use all of them: that is not known before."""
        if self.context.options.model or not self.text:
            return self.tokens
        return max(0, self.tokens - (self._tokens_with_rules - self._count(self.text)))

    @property
    def _tokens_with_rules(self) -> int:
        rules = sum(self._count(f"- {rule}\n") for rule in self.rules) + SMALL // 2 if self.rules else 0
        wished = [choose_titles(self.hidden).wished, *self.words.splitlines()] if self.words else []
        return self.tokens + rules + sum(self._count(f"- {line}\n") for line in wished)

    @property
    def _count(self) -> Callable[[str], int]:
        return self.context.meter.count


def _fold(draft: _Draft, cut: Cut, removed: int, lines: list[str]) -> Generator[Effect, str, Gist]:
    """Write the gist, by a model if there is one and its answer is accepted, with the lines behind it."""
    view, hidden, opening = draft.view, draft.hidden, write_opening(draft.hidden, draft.ref, draft.rules)
    text, why, detail = draft.text or opening, draft.context.why_now, ""
    if draft.context.options.model and draft.tokens >= 2 * SMALL:
        found = yield from _summarise(draft, cut)
        if isinstance(found, Accepted):
            japanese = choose_titles(draft.hidden) is JAPANESE
            text, why = f"{opening}\n{found.headed(japanese)}", BY_MODEL
            tokens, count = appendix_tokens(draft.context.budget.limit), draft.context.meter.count
            text = "\n".join([text, *write_appendix(hidden, "\n".join([text, *lines]), tokens, count)])
        else:
            why, detail = f"{WITHOUT_MODEL}{found.code}", found.detail
    text = "\n".join([text, *lines])
    gist = Gist(view.key_at(cut), text, draft.ref, before(cut, hidden), why, removed, 0, detail=detail)
    return replace(gist, after=draft.context.weigher.turn(gist.turn))


def _summarise(draft: _Draft, cut: Cut) -> Generator[Effect, str, Accepted | Rejected]:
    view, words, count = draft.view, draft.context.options.words, draft.context.meter.count
    prompts = [part.text for turn in view.history.turns for part in turn.prompt if isinstance(part, Text)]
    writer = draft.request.model or draft.context.options.summary_model
    limit = min(draft.tokens, draft.context.question_tokens() // 3)
    request = replace(draft.request, limit=limit, words=words, rules=draft.rules, model=writer)
    request = replace(request, japanese=is_japanese(prompts))
    tokens = draft.context.question_tokens() - limit
    utterances = list(read_utterances(draft.hidden))
    record = prefer_earlier_gist(utterances, view, cut, tokens, count)
    return (yield from ask_for_summary(request, record, Evidence.of(utterances, words), tokens, count))
