"""Sliding window: replace the oldest turns, or the oldest steps inside a turn, by one text with a ref.

The cut is made at steps, never inside one, and the prompt that is still being answered stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from yohaku.analysis.standing_rules import choose_rules, read_standing_rules
from yohaku.core.folds import Cut, Fold, Gist, Subject
from yohaku.core.meter import Meter
from yohaku.core.model import Opaque, Text, Turn, newest_step
from yohaku.core.originals import ref_of_turns, render_turns
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View, join_chapters
from yohaku.passes.pieces import SMALL, clip, many


def drop_oldest(
    by: Literal["steps", "turns"] = "steps", newest: bool = False, least: float = 0.1, asked: float = 0.03
) -> Pass:
    """Make a pass that hides as few of the oldest as the goal needs; `newest` allows to hide the newest step too.

    `asked` is the share of the limit for the hidden prompts of the user. Nothing is done that saves less than `least`
    of the limit, unless the view is over it.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        found = list(cuts(view, context, by, newest))
        if not found:
            return []
        share = int(context.budget.limit * asked)
        standing, most = read_standing_rules(view.history.turns[:-1]), rules_tokens(context.budget.limit)
        rule_tokens = context.meter.count(_list_rules(choose_rules(standing, most, context.meter.count).shown))
        enough = context.excess + context.weigher.frame.message + NOTICE
        cut, removed = next(
            (cut for cut in found if cut[1] >= enough + (share + rule_tokens) * bool(cut[0].turn)), found[-1]
        )
        gist = _add_last_step(_write_gist(view, context, cut, removed, share), view, context, cut)
        saved, limit = gist.before - gist.after, context.budget.limit
        if context.ledger.total > limit:
            # If this is not enough, something else is too big, and hiding history would not help.
            return [gist] if newest or context.ledger.total - saved <= limit else []
        if context.options.manual or saved <= 0:  # the engine refuses what would be bigger, and the verdict says so
            return [gist]
        return [gist] if saved >= limit * least else []

    return propose


def cuts(view: View, context: PassContext, by: str, newest: bool) -> Iterator[tuple[Cut, int]]:
    """Yield each place to cut, oldest first, with the tokens that a gist of all before it hides: also other gists."""
    shown = view.stubbed
    if not shown:
        return
    gone = weigh_chapters(view, context)
    left = sum(len(turn.steps) for turn in shown)
    for index, turn in enumerate(shown):
        number = view.cut.turn + index
        before = view.cut.steps if index == 0 else 0
        if index and (left or newest):
            yield Cut(number, before), gone
        inside = gone
        starts = _allowed_starts(turn, index == len(shown) - 1)
        for count, step in enumerate(turn.steps, 1):
            left -= 1
            inside += context.weigher.step(step)
            if by == "steps" and (left or newest) and count in starts:
                yield Cut(number, before + count), inside
        gone += context.weigher.turn(turn)


def weigh_chapters(view: View, context: PassContext, *more: Gist) -> int:
    """Return the tokens of the chapters as they stand in one text, with `more` behind them."""
    row = (*view.chapters, *more)
    return context.weigher.turn(replace(row[-1], text=join_chapters(row)).turn) if row else 0


def _allowed_starts(turn: Turn, newest: bool) -> set[int]:
    """Return the numbers of steps after which a turn may be cut.

    A cut after a whole turn belongs to the next one. In the newest turn, providers want a loop with thoughts to begin
    with a thought.
    """
    if not newest:
        return set(range(1, len(turn.steps)))
    thinks = {n for n, step in enumerate(turn.steps) if _is_thought(step.items[0])}
    return (thinks or set(range(1, len(turn.steps)))) | {len(turn.steps)}


def _is_thought(item: object) -> bool:
    return isinstance(item, Opaque) and item.kind == "thought"


def _add_last_step(gist: Gist, view: View, context: PassContext, cut: Cut) -> Gist:
    """Add the newest step to a gist that hides it: otherwise the model would do it again."""
    hidden = view.hidden(cut)
    newest = newest_step(view.history.turns)
    if newest is None or not hidden or hidden[-1].steps[-1:] != (newest,):
        return gist
    limit, must = context.budget.limit, context.ledger.total - gist.before + gist.after
    free = max(context.goal - must, (limit - must) // 2) - SMALL
    step, tokens = render_turns([Turn((), (newest,))]), min(free, limit // 4)
    shown = step if context.meter.count(step) <= tokens else clip(step, tokens, context.meter.count, gist.ref, head=0.6)
    if tokens < SMALL or shown is None:
        return gist
    text = f"{gist.text}\nThe last step was:\n{shown}"
    longer = replace(gist, text=text)
    return replace(longer, after=context.weigher.turn(longer.turn))


def _write_gist(view: View, context: PassContext, cut: Cut, removed: int, share: int) -> Gist:
    hidden = view.hidden(cut)
    ref = ref_of_turns(hidden)
    standing = read_standing_rules(hidden, then=view.history.turns[cut.turn :])
    choice = choose_rules(standing, _free_rules_tokens(context, removed), context.meter.count)
    text = notice(hidden, ref, context.meter, share, choice.lines(ref))
    gist = Gist(view.key_at(cut), text, ref, before(cut, hidden), context.why_now, removed, 0)
    return replace(gist, after=context.weigher.turn(gist.turn))


def before(cut: Cut, hidden: tuple[Turn, ...]) -> Subject:
    """Name what a gist stands for."""
    return Subject("before_step" if cut.steps else "before_prompt", steps=sum(len(turn.steps) for turn in hidden))


MAX_RULES_SHARE = 0.25
"""Share of the limit that the user's rules take in a gist at most."""
MAX_RULES_TOKENS = 4_000
"""Tokens of the user's rules in a gist at most, in large windows."""


def rules_tokens(limit: int) -> int:
    return min(int(limit * MAX_RULES_SHARE), MAX_RULES_TOKENS)


def _free_rules_tokens(context: PassContext, removed: int) -> int:
    """Return the tokens for hidden rules: their share, or what the limit leaves.

    If it leaves none, later rungs have to cut something else anyway, and rules get a small share.
    """
    limit = context.budget.limit
    free = limit - (context.ledger.total - removed + context.weigher.frame.message + NOTICE)
    return min(free if free >= 0 else min(limit // 10, (limit - context.ledger.fixed) // 4), rules_tokens(limit))


def _list_rules(rules: tuple[str, ...]) -> str:
    return "".join([f"\n{RULED}", *(f"\n- {rule}" for rule in rules)]) if rules else ""


RULED = "Rules the user set, which still hold:"

NOTICE = 64
"""Tokens: upper bound of a notice without the prompts of the user, with the line that parts it from a prompt."""


def notice(hidden: tuple[Turn, ...], ref: str, meter: Meter, share: int, rules: tuple[str, ...] = ()) -> str:
    """Write what was hidden, the rules, and the beginnings of the newest prompts within `share` tokens."""
    prompts = [part.text for turn in hidden for part in turn.prompt if isinstance(part, Text) and not part.by]
    steps = sum(len(turn.steps) for turn in hidden)
    asked = f"{many(len(prompts), 'prompt')}, " if prompts else ""
    text = f"[Earlier conversation folded: {asked}{many(steps, 'step')}; ref={ref}]{_list_rules(rules)}"
    lines: list[str] = []
    left = share
    for prompt in reversed(prompts):
        line = f"- {' '.join(prompt[:600].split())[:200]}"
        left -= meter.count(line)
        if left < 0:
            break
        lines.append(line)
    some = f" (the last {len(lines):,} of {len(prompts):,})" if len(lines) < len(prompts) else ""
    return "\n".join([text, f"The user had asked{some}:", *reversed(lines)]) if lines else text
