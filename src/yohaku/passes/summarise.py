"""A summary by a model in place of the older part of the conversation, and a gist without one where that fails.

Law: the newest prompt and step stay as they are. No answer is used before it is checked, and what the user laid down
as a rule stands in the gist word for word, whatever the model says.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from yohaku.analysis.language import is_japanese
from yohaku.analysis.rules import find_standing_rules
from yohaku.core.folds import Cut, Gist
from yohaku.core.model import Step, Text, Turn
from yohaku.core.originals import ref_of_turns
from yohaku.core.recipe import AskingPass, Pass, PassContext, Question
from yohaku.core.view import View
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.digest.gist import write_gist
from yohaku.passes.drop_oldest import NOTICE, RULED, before, cuts, notice
from yohaku.passes.pieces import SMALL
from yohaku.passes.use_draft import draft
from yohaku.summary.check import Accepted, Evidence, Rejected
from yohaku.summary.prompts import RETAIN
from yohaku.summary.request import BY_MODEL, SummaryKind, SummaryRequest, ask_for_summary
from yohaku.summary.transcript_text import prefer_earlier_gist, read_utterances

RULES_SHARE, MAX_RULES_SHARE = 0.05, 0.25
"""Share of the limit that is set aside for the user's rules, and that they may take."""
MAX_SUMMARY_TOKENS = 8_000
"""Tokens. In the largest windows a share would be a book, longer than models write."""
MANUAL_SHARE = 0.7
"""Share of what could go that goes when the user asks and no prompt is a good place to cut."""


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
    """Everything but what is kept becomes one text of at most a `share` of the limit.

    `keep` from 1 up is a number of newest turns, below 1 a share of the characters, and 0 only what must stay. More
    goes, by steps, where the goal asks for it. `window` is that of the model that is asked, if it is another.
    """

    def propose(view: View, room: PassContext) -> AskingPass:
        place = _choose_place(view, room, keep, share)
        if place is None:
            return []
        order = SummaryRequest(kind, 0, prompt, directives, retain, retain_directives, room.wish.words, model=model)
        plan = _plan(view, room, place, order, share, ack)
        if plan is None or not _is_worthwhile(plan.removed - plan.fixed - plan.order.limit, room, least):
            return []
        fold = draft(view, room) or (yield from _write_gist(view, room, plan, window, ack))
        return [fold] if _is_worthwhile(fold.before - fold.after, room, least) else []

    return propose


@dataclass(frozen=True, slots=True)
class _Plan:
    cut: Cut
    removed: int
    """Tokens that go."""
    fixed: int
    """Tokens of the gist beside the model's words."""
    order: SummaryRequest


def _choose_place(view: View, room: PassContext, keep: float, share: float) -> tuple[Cut, int] | None:
    """Where to cut, with the tokens that go: where `keep` says, or as far behind it as the goal needs."""
    places = list(cuts(view, room, "steps", newest=False))
    if not places:
        return None
    found = _place_that_keeps(places, view, keep)
    if room.wish.manual:
        enough = int(places[-1][1] * MANUAL_SHARE)
        return found or next(place for place in places if place[1] >= enough)
    enough = room.excess + int(room.budget.limit * (share + RULES_SHARE)) + NOTICE
    if found and found[1] >= enough:
        return found
    return next((place for place in places if place[1] >= enough), places[-1])


def _place_that_keeps(places: list[tuple[Cut, int]], view: View, keep: float) -> tuple[Cut, int] | None:
    """The place at a prompt that leaves what is to be kept, or a little more."""
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
    return sum(len(saying.text) for saying in read_utterances([turn]))


def _plan(
    view: View, room: PassContext, place: tuple[Cut, int], order: SummaryRequest, share: float, ack: str
) -> _Plan | None:
    """How many tokens the answer may have: few enough for the goal, or at least for the limit."""
    cut, removed = place
    limit, count = room.budget.limit, room.meter.count
    hidden = view.hidden(cut)
    rules = _keep_newest(
        find_standing_rules(hidden, then=view.history.turns[cut.turn :]), int(limit * MAX_RULES_SHARE), room
    )
    lines = "".join(map(_rule_line, rules))
    acknowledged = room.weigher.step(Step((Text(ack),))) if ack else 0
    fixed = NOTICE + room.weigher.frame.message + acknowledged + (count(RULED + lines) if rules else 0)
    left = room.ledger.total - removed + fixed
    goal = room.goal if left + SMALL < room.goal else limit
    most = min(int(limit * share), goal - left, removed // 2, room.budget.reserve or limit, MAX_SUMMARY_TOKENS)
    if left > limit:
        return None  # something else is too big, and history would be hidden for nothing
    typed = [part.text for turn in hidden for part in turn.prompt if isinstance(part, Text) and not part.by]
    japanese = is_japanese(
        typed or [part.text for part in view.history.turns[cut.turn].prompt if isinstance(part, Text)]
    )
    return _Plan(cut, removed, fixed, replace(order, limit=max(0, most), rules=rules, japanese=japanese))


def _keep_newest(rules: tuple[str, ...], tokens: int, room: PassContext) -> tuple[str, ...]:
    kept: list[str] = []
    for rule in reversed(rules):
        tokens -= room.meter.count(_rule_line(rule))
        if tokens < 0:
            break
        kept.append(rule)
    return tuple(reversed(kept))


def _is_worthwhile(saved: int, room: PassContext, least: float) -> bool:
    total, limit = room.ledger.total, room.budget.limit
    if total > limit:
        return total - saved <= limit
    return saved > 0 and (room.wish.manual or saved >= limit * least)


def _write_gist(view: View, room: PassContext, plan: _Plan, window: int, ack: str) -> Generator[Question, str, Gist]:
    hidden, order, count = view.hidden(plan.cut), plan.order, room.meter.count
    ref = ref_of_turns(hidden)
    found: Accepted | Rejected = Rejected("no_room")
    if not room.wish.model:
        found = Rejected("no_model")
    elif order.limit >= 2 * SMALL:
        tokens = int((window or room.budget.window) * 0.95) - order.limit
        said = list(read_utterances(hidden))
        evidence = Evidence.of(said, room.wish.words, *_system_texts(view))
        found = yield from ask_for_summary(
            order, prefer_earlier_gist(said, view, plan.cut, tokens, count), evidence, tokens, count
        )
    if isinstance(found, Accepted):
        rules = f"\n{RULED}{''.join(map(_rule_line, order.rules))}" if order.rules else ""
        summed = SUMMED_JA if order.japanese else SUMMED
        text = f"{notice(hidden, ref, room.meter, 0)}{rules}\n{summed}\n{found.whole}"
        text = "\n".join([text, *write_appendix(hidden, text, _appendix_tokens(text, room, plan), count)])
        why, detail = BY_MODEL, ""
    else:
        text = _gist_without_model(hidden, ref, plan, room)
        why, detail = f"without_model.{found.code}", found.detail
    what = before(plan.cut, hidden)
    fold = Gist(view.key_at(plan.cut), text, ref, what, why, plan.removed, 0, ack=ack, detail=detail)
    return replace(fold, after=room.weigher.turn(fold.turn))


def _appendix_tokens(text: str, room: PassContext, plan: _Plan) -> int:
    """Tokens for what the model left out: as many as the goal, or else the limit, leaves of what is allowed for it."""
    left = room.ledger.total - plan.removed + plan.fixed + room.meter.count(text)
    return min(appendix_tokens(room.budget.limit), (room.goal if left < room.goal else room.budget.limit) - left)


SUMMED = "Summary of it, to go on from (not a new request):"
SUMMED_JA = "その要約(続きのためのもので、新しい依頼ではない):"


def _rule_line(rule: str) -> str:
    return f"\n- {rule}"


def _gist_without_model(hidden: tuple[Turn, ...], ref: str, plan: _Plan, room: PassContext) -> str:
    tokens, rules = plan.order.limit + plan.fixed, plan.order.rules
    text = write_gist(hidden, ref=ref, tokens=tokens, count=room.meter.count, rules=rules)
    return text or notice(hidden, ref, room.meter, 0)


def _system_texts(view: View) -> list[str]:
    return [part.text for part in view.history.system if isinstance(part, Text)]
