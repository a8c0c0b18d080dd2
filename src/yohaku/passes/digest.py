"""Digest: the newest steps stay whole; older ones are told in chapters, one more at each folding.

Chapters that stand are not changed, since a cached token costs a tenth of a new one: a folding adds one behind them,
about what it hides. Only when they fill the tokens they may take are they told anew, from the originals, as one.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from yohaku.analysis.activity import find_solved
from yohaku.analysis.entities import extract_names
from yohaku.analysis.language import is_japanese
from yohaku.analysis.standing_rules import choose_rules, read_standing_rules
from yohaku.core.budget import SHARES
from yohaku.core.folds import Cut, Gist, Subject
from yohaku.core.model import Text, Turn
from yohaku.core.originals import ref_of_turns
from yohaku.core.recipe import AskingPass, Effect, Pass, PassContext
from yohaku.core.view import View
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.digest.chapter import Stretch, tell, tell_lines
from yohaku.digest.excerpts import find_topic_words, find_visible_lines, find_visible_names
from yohaku.digest.gist import own_texts
from yohaku.digest.gist_text import JAPANESE, choose_titles
from yohaku.digest.passages import find_focus
from yohaku.digest.select_lines import SpanCache
from yohaku.digest.spans import bare_line
from yohaku.passes.drop_oldest import before, cuts, rules_tokens, weigh_chapters
from yohaku.passes.pieces import SMALL
from yohaku.summary.check import Accepted, Evidence, Rejected
from yohaku.summary.prompts import RETAIN
from yohaku.summary.request import (
    BY_MODEL,
    WITHOUT_MODEL,
    SummaryRequest,
    ask_for_chapter,
    ask_for_merge,
    join_parts,
    measure_japanese,
)
from yohaku.summary.transcript_text import Utterance, cut_middle, read_utterances

MIN_CONVERSATION_SHARE = 0.3
"""Share of the free tokens that the conversation has at least beside the newest prompt; not in a manual folding."""
NARROW_WINDOW = 6_000
"""Tokens. In a smaller window chapters are told anew so soon that they should be short."""
GISTS_SHARE, NARROW_GISTS_SHARE = 0.8, 0.75
"""Share of the free tokens beside the newest prompt that chapters may take together; below NARROW_WINDOW."""
MAX_GISTS_TOKENS = 22_000
"""Tokens of all chapters: the part of a conversation that is scanned has hardly more lines that name anything."""
MODEL_GISTS_TOKENS = 4_100
"""Tokens of all chapters that a model writes, with their lines, in a window of MODEL_WINDOW tokens; the fourfold window
has twice as many."""
MODEL_WINDOW = 8_192
MODEL_FIRST_SHARE, MODEL_CHAPTER_SHARE = 0.2, 0.14
"""Shares of the tokens of its stretch that a chapter by a model takes with its lines: the first one, and others."""
FULL_SHARE = 0.9
"""Share of the tokens for chapters at which they are told anew."""
ANEW_SHARE, NARROW_ANEW_SHARE = 0.7, 0.6
"""Share of the tokens for chapters that the first one takes, and one that takes the place of others."""
CHAPTER_SHARE, NARROW_CHAPTER_SHARE = 0.35, 0.2
"""Share of the tokens of its stretch that a chapter behind others takes."""
CRAMPED_SHARE, MODEL_CRAMPED_SHARE = 0.5, 0.2
"""Chapters that have less than this of the tokens they would get now, since a long prompt stood beside them, are told
anew; a model often writes less than it may."""
MIN_CHAPTER_TOKENS = 40
"""A chapter behind others gets so many at least: with fewer it would be no more than a header."""
NEAR_LIMIT_SHARE = 0.95
"""Share of the free tokens that a folding leaves shown at most."""
CAPABLE_SHARE = 0.5
"""A model that may write this share of a chapter is shown more of the record, and trusted more; beside what it writes
stand passages, and no single lines."""
MAX_VISIBLE_PROMPT_CHARS, CAPABLE_PROMPT_CHARS = 1_500, 4_000
"""Characters of a prompt that stays visible, in the question about the steps that answer it; for a capable model."""
MIN_ASKED_TOKENS = 2 * SMALL
"""A model that may write less is not asked."""
MAX_SPARE_SHARE = 0.05
"""Share of the free tokens. If a chapter leaves more than this of its own, more steps stay whole instead."""


def digest(
    recent: float = 0.1,
    least: float = 0.1,
    *,
    keep_turns: int = 0,
    prompt: str = "",
    directives: tuple[str, ...] = (),
    retain: str | None = RETAIN,
    retain_directives: tuple[str, ...] = (),
    model: str = "",
) -> Pass:
    """Make a pass that hides all but the newest steps behind chapters.

    The newest steps take the share `recent` of what the goal leaves for the conversation, and the newest `keep_turns`
    stay whole where they fit. Nothing is done that saves less than `least` of the free tokens, unless the view is over
    the limit or the folding is manual. The other options are for the model that writes chapters, if there is one.
    """
    request = SummaryRequest("summary", 0, prompt, directives, retain, retain_directives, model=model)

    def propose(view: View, context: PassContext) -> AskingPass:
        if not view.history.steps or context.newest_is_too_big(view):
            return []  # hiding what is old would not help
        drafted = view.gist is not None and view.gist.key in context.options.drafts
        if drafted and (context.options.manual or context.ledger.total <= context.budget.limit):
            return []  # a draft has just taken its place
        found: Accepted | Rejected | None = None
        if context.options.model:
            teller, chapter = _plan(view, context, request, recent, keep_turns)
            if chapter and (limit := teller.find_limit(chapter)) >= MIN_ASKED_TOKENS:
                found = yield from teller.ask(chapter, limit)
        if not isinstance(found, Accepted):
            plain = replace(context, options=replace(context.options, model=False))
            teller, chapter = _plan(view, plain, request, recent, keep_turns)
        if chapter is None:
            return []
        fold, whole = teller.write(chapter, found), context.budget.limit - context.ledger.fixed
        saved, enough = fold.before - fold.after, 1 if context.options.manual else whole * least
        bigger = saved <= 0  # the engine refuses it, and the verdict says so
        return [fold] if bigger or saved >= enough or context.ledger.total > context.budget.limit else []

    return propose


def _plan(
    view: View, context: PassContext, request: SummaryRequest, recent: float, keep_turns: int
) -> tuple[_ChapterTeller, _Chapter | None]:
    """Choose what stays whole, and the chapter about what does not; None if nothing is hidden."""
    room = _measure_room(view, context)
    layout = _lay_out(view, context, room.recent(recent), keep_turns)
    teller = _ChapterTeller(view, context, room, request)
    chapter = teller.lay_out(layout)
    if chapter is None or context.options.model:
        return teller, chapter
    spare = teller.find_spare(chapter)
    if spare > room.whole * MAX_SPARE_SHARE:
        more = _lay_out(view, context, teller.find_whole(chapter, layout.used, spare), keep_turns)
        if more.cut not in (None, chapter.cut):
            chapter = teller.lay_out(more)
    return teller, chapter


# Room


@dataclass(frozen=True, slots=True)
class _Room:
    """Tokens of the conversation, beside all that cannot be folded."""

    whole: int
    """Tokens for everything that can be folded."""
    free: int
    """Tokens for chapters and steps, beside the newest prompt."""
    goal: int
    """As many of them as are to be in use after a folding."""
    gists: int
    """Tokens that chapters may take together."""
    anew: int
    """Tokens of a chapter that takes the place of all others."""

    def recent(self, share: float) -> int:
        """Return the tokens of steps that stay whole: a share, and what chapters cannot use."""
        return max(int(self.goal * share), self.goal - self.gists)


def _measure_room(view: View, context: PassContext) -> _Room:
    whole = context.budget.limit - context.ledger.fixed
    prompt = context.weigher.entries(view.stubbed[-1].prompt)
    least = min(int(whole * MIN_CONVERSATION_SHARE), int(whole * SHARES["full"]) - prompt)
    goal = max(0, context.goal - context.ledger.fixed - prompt, 0 if context.options.manual else least)
    free = max(0, whole - prompt)
    narrow = _is_narrow(context)
    gists = min(int(free * (NARROW_GISTS_SHARE if narrow else GISTS_SHARE)), MAX_GISTS_TOKENS)
    if context.options.model:
        gists = min(gists, int(MODEL_GISTS_TOKENS * math.sqrt(max(0, _free_window(context)) / MODEL_WINDOW)))
    return _Room(whole, free, goal, gists, int(gists * (NARROW_ANEW_SHARE if narrow else ANEW_SHARE)))


def chapter_tokens(stretch: int, context: PassContext) -> int:
    """Return the tokens for a chapter about so many, behind others."""
    if context.options.model:
        return int(stretch * MODEL_CHAPTER_SHARE)
    return int(stretch * (NARROW_CHAPTER_SHARE if _is_narrow(context) else CHAPTER_SHARE))


def _is_narrow(context: PassContext) -> bool:
    return _free_window(context) < NARROW_WINDOW


def _free_window(context: PassContext) -> int:
    return context.budget.window - context.ledger.fixed


# What stays whole


@dataclass(frozen=True, slots=True)
class _Layout:
    cut: Cut | None
    """Everything behind it stays whole; None if nothing is hidden."""
    removed: int
    """Tokens of what is hidden, with all chapters."""
    used: int
    """Tokens of what stays, without the newest prompt."""


def _lay_out(view: View, context: PassContext, whole: float, keep_turns: int = 0) -> _Layout:
    """Choose the cut so that the newest steps take `whole` tokens, and the newest turns stay."""
    weights = [context.weigher.step(step) for turn in view.stubbed for step in turn.steps]
    prompts = _weigh_earlier_prompts(view, context)
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
    return _Layout(cut, removed, used)


def _count_older_steps(view: View, context: PassContext, keep_turns: int) -> int:
    """Return the visible steps before as many of the newest turns as fit beside the newest prompt and a gist."""
    turns = view.stubbed
    room = context.budget.at("hot") - context.ledger.fixed - context.weigher.entries(turns[-1].prompt)
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


# Chapters


@dataclass(frozen=True, slots=True)
class _Chapter:
    """A chapter to write: its stretch, and its size."""

    cut: Cut
    start: str
    """Key of the gist before it; empty if it takes the place of all."""
    removed: int
    """Tokens of what it hides."""
    tokens: int
    """Tokens it may take, beside the rules."""
    stretch: Stretch
    cramped: bool = False
    """It takes the place of chapters that had little room: what they left out stands in the originals alone."""


def _find_told_lines(view: View) -> Iterator[str]:
    """Yield the lines of the chapters there are, without their numbers."""
    for gist in view.chapters:
        yield from (bare_line(line.lstrip(" |")) for line in gist.text.split("\n"))


class _ChapterTeller:
    """Decides between one more chapter and one for all, and writes it."""

    def __init__(self, view: View, context: PassContext, room: _Room, request: SummaryRequest) -> None:
        self._view, self._context, self._room, self._request = view, context, room, request
        self._count = context.meter.count
        self._told = weigh_chapters(view, context)
        self._cache: SpanCache = {}
        self._texts: dict[tuple[Cut, str, int], str] = {}

    def lay_out(self, layout: _Layout) -> _Chapter | None:
        if layout.cut is None:
            return None
        room, told = self._room, self._told
        tokens = max(MIN_CHAPTER_TOKENS, chapter_tokens(layout.removed - told, self._context))
        near = int(room.free * NEAR_LIMIT_SHARE) - layout.used
        share = MODEL_CRAMPED_SHARE if self._context.options.model else CRAMPED_SHARE
        cramped = told < share * min(room.anew, near, self._fair_tokens())
        if told and not cramped and told + tokens <= min(room.gists * FULL_SHARE, near):
            return self._chapter(layout.cut, self._view.key_at(self._view.cut), layout.removed - told, tokens)
        tokens = min(room.anew, near)
        if self._context.options.model and not told:
            tokens = min(tokens, int(layout.removed * MODEL_FIRST_SHARE))
        if self._context.options.manual:
            tokens = min(tokens, max(room.goal - layout.used, 0))
        return replace(self._chapter(layout.cut, "", layout.removed, max(0, tokens)), cramped=cramped)

    def _fair_tokens(self) -> int:
        """Return the tokens that the chapters there are would get if there had been room."""
        hidden = self._context.weigher.turns(self._view.hidden(self._view.cut))
        return int(hidden * MODEL_FIRST_SHARE) if self._context.options.model else chapter_tokens(hidden, self._context)

    def _chapter(self, cut: Cut, start: str, removed: int, tokens: int) -> _Chapter:
        view = self._view
        begin = view.cut if start else Cut(0, 0)
        turns, earlier = view.between(begin, cut), view.hidden(begin)
        ref = ref_of_turns(turns)
        titles = choose_titles(view.history.turns)
        rules, withdrawn = self._find_rules(begin, cut, ref, japanese=titles is JAPANESE)
        visible = find_visible_names(view, cut)
        for gist in view.chapters if start else ():
            visible |= extract_names(gist.text)
        age = len(view.history.steps) - sum(len(turn.steps) for turn in (*earlier, *turns))
        names, topic, words = frozenset(visible), find_topic_words(view), self._context.options.words
        focus = find_focus(own_texts(view.history.turns))
        solved = find_solved(view.history.steps[len(view.history.steps) - age :])
        stretch = Stretch(
            turns,
            ref,
            age,
            titles,
            rules,
            withdrawn,
            earlier=earlier,
            visible=names,
            visible_lines=find_visible_lines(view, cut).union(_find_told_lines(view) if start else ()),
            topic=topic,
            solved=solved,
            words=words,
            answered=self._visible_prompt(cut),
            focus=focus,
            cache=self._cache,
        )
        return _Chapter(cut, start, removed, tokens, stretch)

    def _find_rules(self, begin: Cut, cut: Cut, ref: str, *, japanese: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the rules to state, with a line for those that do not fit, and those that no longer hold."""
        view = self._view
        hidden, limit = view.hidden(cut), rules_tokens(self._room.whole)
        standing = read_standing_rules(hidden, then=view.history.turns[cut.turn :])
        if begin == Cut(0, 0):
            return choose_rules(standing, limit, self._count).lines(ref, japanese), ()
        lines = {line for gist in view.chapters for line in gist.text.split("\n")}
        stated = [rule for rule in read_standing_rules(view.hidden(begin)) if f"- {rule.text}" in lines]
        left = limit - sum(self._count(f"- {rule.text}\n") for rule in stated)
        new = [rule for rule in standing if f"- {rule.text}" not in lines]
        held = {rule.text for rule in read_standing_rules(hidden)}
        withdrawn = tuple(rule.text for rule in stated if rule.text not in held)
        return choose_rules(new, max(left, limit // 4), self._count).lines(ref, japanese), withdrawn

    def find_spare(self, chapter: _Chapter) -> int:
        """Return the tokens that a chapter without a model leaves of those it may take."""
        text = self._tell(chapter)
        return chapter.tokens - (self._count(text) - self._count(chapter.stretch.header))

    def _tell(self, chapter: _Chapter) -> str:
        """Return the chapter without a model; it is told once, however often it is asked for."""
        key = chapter.cut, chapter.start, chapter.tokens
        if key not in self._texts:
            self._texts[key] = tell(chapter.stretch, chapter.tokens, self._count)
        return self._texts[key]

    def find_whole(self, chapter: _Chapter, used: int, spare: int) -> int:
        """Return the tokens of steps that can stay whole beside a chapter that leaves `spare` of its own."""
        told = chapter.tokens - spare + (self._told if chapter.start else 0)
        return min(max(used + spare, self._room.goal - told), int(self._room.free * NEAR_LIMIT_SHARE) - told - spare)

    def write(self, chapter: _Chapter, found: Accepted | Rejected | None) -> Gist:
        """Write the chapter; `found`: what a model answered, if one was asked."""
        context, stretch = self._context, chapter.stretch
        text, why, detail = "", context.why_now, ""
        if isinstance(found, Accepted):
            text, why, detail = self._with_lines(chapter, found), BY_MODEL, str(found.dropped or "")
        elif found is not None:
            why, detail = f"{WITHOUT_MODEL}{found.code}", found.detail
        text = text or self._tell(chapter)
        key, steps = self._view.key_at(chapter.cut), sum(len(turn.steps) for turn in stretch.turns)
        what = Subject("stretch", steps=steps) if chapter.start else before(chapter.cut, stretch.turns)
        gist = Gist(key, text, stretch.ref, what, why, chapter.removed, 0, detail=detail, start=chapter.start)
        if not chapter.start:
            return replace(gist, after=context.weigher.turn(gist.turn))
        return replace(gist, after=weigh_chapters(self._view, context, gist) - self._told)

    def _with_lines(self, chapter: _Chapter, found: Accepted) -> str:
        """Return a summary by a model with the lines behind it."""
        stretch = chapter.stretch
        text = f"{stretch.header}\n{found.headed(stretch.titles is JAPANESE)}"
        left = chapter.tokens - self._count(found.whole)
        capable = self._context.options.summary_share >= CAPABLE_SHARE
        lines = tell_lines(stretch, text, left, self._count, *((0.0,) if capable else ()))
        tokens, told = appendix_tokens(self._room.whole), "\n".join([text, *lines])
        titles, solved = stretch.titles, stretch.solved
        appendix = write_appendix(stretch.turns, told, tokens, self._count, index=False, solved=solved, titles=titles)
        return "\n".join([text, *appendix, *lines])

    def find_limit(self, chapter: _Chapter) -> int:
        """Return the tokens that a model may write of a chapter."""
        options = self._context.options
        return min(int(chapter.tokens * options.summary_share), self._context.question_tokens() // 3)

    def _read_record(self, turns: tuple[Turn, ...], cut: Cut) -> Iterator[Utterance]:
        """Yield the record of a stretch; before the steps of a turn whose prompt stays, the beginning of that."""
        text = self._visible_prompt(cut)
        if not text:
            yield from read_utterances(turns)
            return
        yield from read_utterances(turns[:-1])
        capable = self._context.options.summary_share >= CAPABLE_SHARE
        chars = CAPABLE_PROMPT_CHARS if capable else MAX_VISIBLE_PROMPT_CHARS
        yield Utterance("USER (still visible)", cut_middle(text, chars))
        yield from read_utterances(turns[-1:])

    def _visible_prompt(self, cut: Cut) -> str:
        """Return the prompt that the last hidden steps answer; empty if it is hidden with them."""
        prompt = self._view.history.turns[cut.turn].prompt if cut.steps else ()
        return "\n".join(part.text for part in prompt if isinstance(part, Text) and not part.by)

    def ask(self, chapter: _Chapter, limit: int) -> Generator[Effect, str, Accepted | Rejected]:
        """Ask for the chapter; its question has the chapters before it as they stand.

        Where it takes their place, they are merged first. If a model wrote them not, or they had little room, all is
        told from the originals.
        """
        view, context, stretch = self._view, self._context, chapter.stretch
        prompts = [part.text for turn in view.history.turns for part in turn.prompt if isinstance(part, Text)]
        earlier = tuple(gist.text for gist in view.chapters)
        request = replace(
            self._request,
            limit=limit,
            words=context.options.words,
            rules=stretch.rules,
            model=self._request.model or context.options.summary_model,
            japanese=is_japanese(prompts),
            characters_per_token=measure_japanese(self._count),
            chapter=True,
            earlier=earlier if chapter.start else (),
            capable=context.options.summary_share >= CAPABLE_SHARE,
        )
        tokens, words = context.question_tokens() - limit, context.options.words
        utterances = list(self._read_record(stretch.turns, chapter.cut))
        system = [part.text for part in view.history.system if isinstance(part, Text)]
        evidence = Evidence.of(utterances, words, *system, *earlier, *stretch.rules)
        merged: list[Accepted] = []
        new = self._find_limit_of_new(chapter, limit)
        by_model = all(gist.why == BY_MODEL for gist in view.chapters)
        if not chapter.start and new and by_model and not chapter.cramped:
            short = replace(request, limit=limit - new)
            found = yield from ask_for_merge(short, earlier, evidence, tokens, self._count)
            if isinstance(found, Rejected) and found.code == "unanswered":
                return found  # nobody is there to ask more
            if isinstance(found, Accepted):
                merged = [found]
                request = replace(request, limit=new, earlier=(found.whole,))
                utterances = list(self._read_record(view.between(view.cut, chapter.cut), chapter.cut))
        told = yield from ask_for_chapter(request, utterances, evidence, tokens, self._count)
        return join_parts([*merged, told]) if isinstance(told, Accepted) else told

    def _find_limit_of_new(self, chapter: _Chapter, limit: int) -> int:
        """Return the tokens for what no chapter tells yet, where one takes the place of others; 0 if there are none."""
        if not self._view.chapters:
            return 0
        new = chapter_tokens(chapter.removed - self._told, self._context) * self._context.options.summary_share
        return min(limit // 2, max(SMALL, int(new)))
