"""Summary by a model in place of the older part of the conversation; a gist without a model if that fails.

Law: the newest prompt and step stay as they are. No answer is used before it is checked, and the user's rules stand in
the gist word for word, whatever the model answers.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from yohaku.analysis.language import is_japanese
from yohaku.analysis.standing_rules import choose_rules, read_standing_rules
from yohaku.core.folds import Cut, Gist
from yohaku.core.model import Step, Text, Turn
from yohaku.core.originals import ref_of_turns
from yohaku.core.recipe import AskingPass, Pass, PassContext, Question
from yohaku.core.view import View
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.digest.excerpts import collect_excerpts, render_excerpts
from yohaku.digest.gist import write_gist
from yohaku.digest.wished_lines import choose_wished, shorten_words
from yohaku.passes.drop_oldest import NOTICE, RULED, before, cuts, notice, rules_tokens
from yohaku.passes.pieces import SMALL
from yohaku.passes.use_draft import find_draft
from yohaku.summary.check import RETAINED, RETAINED_JA, Accepted, Evidence, Rejected
from yohaku.summary.prompts import RETAIN
from yohaku.summary.request import (
    BY_MODEL,
    WITHOUT_MODEL,
    SummaryKind,
    SummaryRequest,
    ask_for_summary,
    measure_japanese,
)
from yohaku.summary.transcript_text import prefer_earlier_gist, read_utterances

RULES_SHARE = 0.05
"""Share of the limit set aside for the user's rules when a cut is chosen."""
MAX_SUMMARY_TOKENS = 8_000
"""In the largest windows a share of the limit would be longer than models write."""
WISHED_SHARE = 0.4
"""Share of a gist without a model for lines that the user's words ask for."""
MANUAL_SHARE = 0.7
"""Share of what could be hidden that a manual folding hides, if no prompt is a good place to cut."""


def summarise(
    kind: SummaryKind = "summary",
    keep: float = 1,
    share: float = 0.1,
    least: float = 0.1,
    *,
    prompt: str = "",
    directives: tuple[str, ...] = (),
    retain: str | None = RETAIN,
    retain_directives: tuple[str, ...] = (),
    model: str = "",
    window: int = 0,
    ack: str = "",
) -> Pass:
    """Make a pass that replaces everything but what is kept by one text of at most `share` of the limit.

    `keep` from 1 up is a number of newest turns, below 1 a share of the characters, and 0 the least possible. Fewer
    steps are kept if the goal needs it. `window` is that of the summarising model, if it is another. Nothing is done
    that saves less than `least` of the limit, unless the view is over it or the folding is manual.
    """

    def propose(view: View, context: PassContext) -> AskingPass:
        place = _choose_place(view, context, keep, share)
        if place is None:
            return []
        words = context.options.words
        writer = model or context.options.summary_model
        request = SummaryRequest(kind, 0, prompt, directives, retain, retain_directives, words, model=writer)
        plan = _plan(view, context, place, request, share, ack)
        if plan is None:
            return []
        expected = plan.removed - plan.fixed - plan.request.limit
        if not (context.options.manual or _is_worthwhile(expected, context, least)):
            return []
        fold = find_draft(view, context) or (yield from _fold(view, context, plan, window, ack))
        bigger = fold.after >= fold.before  # the engine refuses it, and the verdict says so
        return [fold] if bigger or _is_worthwhile(fold.before - fold.after, context, least) else []

    return propose


def _is_worthwhile(saved: int, context: PassContext, least: float) -> bool:
    total, limit = context.ledger.total, context.budget.limit
    if total > limit:
        return total - saved <= limit
    return saved > 0 and (context.options.manual or saved >= limit * least)


# Where to cut


def _choose_place(view: View, context: PassContext, keep: float, share: float) -> tuple[Cut, int] | None:
    """Return the cut that `keep` asks for, or a later one if the goal needs it, with the tokens it hides."""
    places = list(cuts(view, context, "steps", newest=False))
    if not places:
        return None
    found = _place_that_keeps(places, view, keep)
    if context.options.manual:
        enough = int(places[-1][1] * MANUAL_SHARE)
        return found or next(place for place in places if place[1] >= enough)
    enough = context.excess + int(context.budget.limit * (share + RULES_SHARE)) + NOTICE
    if found and found[1] >= enough:
        return found
    return next((place for place in places if place[1] >= enough), places[-1])


def _place_that_keeps(places: list[tuple[Cut, int]], view: View, keep: float) -> tuple[Cut, int] | None:
    """Return the last cut at a prompt that keeps enough."""
    if keep == 0:
        return places[-1]
    prompts = [place for place in places if place[0].steps == 0]
    if keep >= 1:
        newest = len(view.history.turns) - int(keep)
        return next((place for place in reversed(prompts) if place[0].turn <= newest), None)
    before = [0]
    for turn in view.visible():
        before.append(before[-1] + _count_chars(turn))
    old = (1 - keep) * before[-1]
    behind = (place for place in prompts if before[place[0].turn - view.cut.turn] >= old)
    return next(behind, prompts[-1] if prompts else None)


def _count_chars(turn: Turn) -> int:
    return sum(len(utterance.text) for utterance in read_utterances([turn]))


# How long the answer may be


@dataclass(frozen=True, slots=True)
class _Plan:
    cut: Cut
    removed: int
    """Tokens that are hidden."""
    fixed: int
    """Tokens of the gist beside the model's answer."""
    request: SummaryRequest


def _plan(
    view: View, context: PassContext, place: tuple[Cut, int], request: SummaryRequest, share: float, ack: str
) -> _Plan | None:
    """Return the request with its limit: short enough for the goal, or at least for the limit.

    None if the view would be over the limit in any case: then hiding history would not help.
    """
    cut, removed = place
    limit, count = context.budget.limit, context.meter.count
    hidden, japanese = view.hidden(cut), _is_japanese(view, cut)
    standing = read_standing_rules(hidden, then=view.history.turns[cut.turn :])
    choice = choose_rules(standing, rules_tokens(limit), count)
    rules = choice.lines(ref_of_turns(hidden), japanese) if choice.left_out else choice.shown
    rule_tokens = count(RULED + "".join(map(_rule_line, rules))) if rules else 0
    ack_tokens = context.weigher.step(Step((Text(ack),))) if ack else 0
    heading_tokens = count(RETAINED_JA if japanese else RETAINED) if request.retains else 0
    fixed = NOTICE + heading_tokens + context.weigher.frame.message + ack_tokens + rule_tokens
    left = context.ledger.total - removed + fixed
    if left > limit:
        return None
    goal = context.goal if left + SMALL < context.goal else limit
    tokens = min(int(limit * share), goal - left, removed // 2, context.budget.reserve or limit, MAX_SUMMARY_TOKENS)
    tokens = min(tokens, context.question_tokens() // 3)  # another model's window may be small
    rate = measure_japanese(count)
    request = replace(request, limit=max(0, tokens), rules=rules, japanese=japanese, characters_per_token=rate)
    return _Plan(cut, removed, fixed, request)


def _is_japanese(view: View, cut: Cut) -> bool:
    """Decide by what the user typed in the hidden part, or else by the first prompt that stays."""
    prompts = (part for turn in view.hidden(cut) for part in turn.prompt)
    typed = [part.text for part in prompts if isinstance(part, Text) and not part.by]
    return is_japanese(typed or [part.text for part in view.history.turns[cut.turn].prompt if isinstance(part, Text)])


def _rule_line(rule: str) -> str:
    return f"\n- {rule}"


# The gist


def _fold(view: View, context: PassContext, plan: _Plan, window: int, ack: str) -> Generator[Question, str, Gist]:
    """Write the gist, by a model if there is one and its answer is accepted."""
    hidden, request, count = view.hidden(plan.cut), plan.request, context.meter.count
    ref = ref_of_turns(hidden)
    found: Accepted | Rejected = Rejected("no_room")
    if not context.options.model:
        found = Rejected(context.options.unasked)
    elif request.limit >= 2 * SMALL:
        found = yield from _ask(view, context, plan, window)
    if isinstance(found, Accepted):
        rules = f"\n{RULED}{''.join(map(_rule_line, request.rules))}" if request.rules else ""
        text = f"{notice(hidden, ref, context.meter, 0)}{rules}\n{found.headed(request.japanese)}"
        text = "\n".join([text, *write_appendix(hidden, text, _appendix_tokens(text, context, plan), count)])
        why, detail = BY_MODEL, str(found.dropped or "")
    else:
        text = _write_without_model(view, ref, plan, context)
        why, detail = f"{WITHOUT_MODEL}{found.code}", found.detail
    what = before(plan.cut, hidden)
    fold = Gist(view.key_at(plan.cut), text, ref, what, why, plan.removed, 0, ack=ack, detail=detail)
    return replace(fold, after=context.weigher.turn(fold.turn))


def _ask(view: View, context: PassContext, plan: _Plan, window: int) -> Generator[Question, str, Accepted | Rejected]:
    count = context.meter.count
    tokens = context.question_tokens(window) - plan.request.limit
    utterances = list(read_utterances(view.hidden(plan.cut)))
    system = [part.text for part in view.history.system if isinstance(part, Text)]
    evidence = Evidence.of(utterances, context.options.words, *system)
    record = prefer_earlier_gist(utterances, view, plan.cut, tokens, count)
    return (yield from ask_for_summary(plan.request, record, evidence, tokens, count))


def _appendix_tokens(text: str, context: PassContext, plan: _Plan) -> int:
    """Return the tokens for what the summary left out, as far as the goal, or else the limit, allows them."""
    left = context.ledger.total - plan.removed + plan.fixed + context.meter.count(text)
    bound = context.goal if left < context.goal else context.budget.limit
    return min(appendix_tokens(context.budget.limit), bound - left)


def _write_without_model(view: View, ref: str, plan: _Plan, context: PassContext) -> str:
    request, hidden, count, lines = plan.request, view.hidden(plan.cut), context.meter.count, list[str]()
    if request.words:
        excerpts = collect_excerpts(hidden, len(view.history.steps) - sum(len(turn.steps) for turn in hidden))
        spans, _ = choose_wished(excerpts, request.words, request.limit * WISHED_SHARE, count)
        lines = render_excerpts(excerpts, spans)
    tokens = request.limit + plan.fixed - (count("\n".join(lines)) if lines else 0)
    words = shorten_words(request.words, context.budget.limit, count)
    text = write_gist(hidden, ref=ref, tokens=tokens, count=count, rules=request.rules, words=words)
    return "\n".join([text, *lines]) if text else notice(hidden, ref, context.meter, 0)
