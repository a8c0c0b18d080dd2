"""The sliding window: the oldest turns, or inside a turn the oldest steps, give way to one text with a ref.

The cut is made at steps, never inside one, and the prompt that is still being answered stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from yohaku.analysis.rules import find_standing_rules
from yohaku.core.folds import Cut, Fold, Gist, Subject
from yohaku.core.meter import Meter
from yohaku.core.model import Opaque, Text, Turn, newest_step
from yohaku.core.originals import ref_of_turns, render_turns
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, clip, many


def drop_oldest(
    by: Literal["steps", "turns"] = "steps", newest: bool = False, least: float = 0.1, asked: float = 0.03
) -> Pass:
    """Hide as little of the oldest as brings the view down to the goal; `newest` lets go of the newest step as well.

    `asked` is the share of the limit given to what the user had asked in what is hidden.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        found = list(cuts(view, context, by, newest))
        if not found:
            return []
        share = int(context.budget.limit * asked)
        ruled = context.meter.count(_listed(find_standing_rules(view.history.turns[:-1])))
        enough = context.excess + context.weigher.frame.message + NOTICE
        cut, removed = next((cut for cut in found if cut[1] >= enough + (share + ruled) * bool(cut[0].turn)), found[-1])
        gist = _with_last_step(_gist(view, context, cut, removed, share), view, context, cut)
        saved, limit = gist.before - gist.after, context.budget.limit
        if context.ledger.total > limit:
            # Where even this would not do it, something else is too big, and history would be hidden for nothing.
            return [gist] if newest or context.ledger.total - saved <= limit else []
        return [gist] if saved >= limit * least else []

    return propose


def cuts(view: View, context: PassContext, by: str, newest: bool) -> Iterator[tuple[Cut, int]]:
    """Each place to cut, oldest first, with the tokens that go."""
    shown = view.stubbed
    if not shown:
        return
    gone = context.weigher.turn(view.gist.turn) if view.gist else 0
    left = sum(len(turn.steps) for turn in shown)
    for index, turn in enumerate(shown):
        number = view.cut.turn + index
        before = view.cut.steps if index == 0 else 0
        if index and (left or newest):
            yield Cut(number, before), gone
        inside = gone
        beginnings = _beginnings(turn, index == len(shown) - 1)
        for count, step in enumerate(turn.steps, 1):
            left -= 1
            inside += context.weigher.step(step)
            if by == "steps" and (left or newest) and count in beginnings:
                yield Cut(number, before + count), inside
        gone += context.weigher.turn(turn)


def _beginnings(turn: Turn, newest: bool) -> set[int]:
    """After how many of its steps what is left of a turn may begin.

    Behind a whole turn the next one begins. In the newest, providers want a loop with thoughts to begin with one.
    """
    if not newest:
        return set(range(1, len(turn.steps)))
    thinks = {n for n, step in enumerate(turn.steps) if _is_thought(step.items[0])}
    return (thinks or set(range(1, len(turn.steps)))) | {len(turn.steps)}


def _is_thought(item: object) -> bool:
    return isinstance(item, Opaque) and item.kind == "thought"


def _with_last_step(gist: Gist, view: View, context: PassContext, cut: Cut) -> Gist:
    """Where even the newest step goes, what it did is told: the model would only do it again."""
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
    return replace(gist, text=text, after=context.weigher.entries((Text(text),)))


def _gist(view: View, context: PassContext, cut: Cut, removed: int, share: int) -> Gist:
    hidden = view.hidden(cut)
    ref = ref_of_turns(hidden)
    rules = _within(
        find_standing_rules(hidden, then=view.history.turns[cut.turn :]), _spare(context, removed), context.meter
    )
    text = notice(hidden, ref, context.meter, share, rules)
    weight = context.weigher.entries((Text(text),))
    return Gist(view.key_at(cut), text, ref, before(cut, hidden), "window_full", removed, weight)


def before(cut: Cut, hidden: tuple[Turn, ...]) -> Subject:
    """Name what a gist stands for."""
    return Subject("before_step" if cut.steps else "before_prompt", steps=sum(len(turn.steps) for turn in hidden))


def _spare(context: PassContext, removed: int) -> int:
    """Tokens for the rules of what is hidden: all that the limit leaves, as nothing told here matters more.

    Where it leaves none, something else must be cut after this; beside that they get a small part.
    """
    limit = context.budget.limit
    free = limit - (context.ledger.total - removed + context.weigher.frame.message + NOTICE)
    return free if free >= 0 else min(limit // 10, (limit - context.ledger.fixed) // 4)


def _within(rules: tuple[str, ...], tokens: int, meter: Meter) -> tuple[str, ...]:
    """The newest of them that there is room for."""
    while rules and meter.count(_listed(rules)) > tokens:
        rules = rules[1:]
    return rules


def _listed(rules: tuple[str, ...]) -> str:
    return "".join([f"\n{RULED}", *(f"\n- {rule}" for rule in rules)]) if rules else ""


RULED = "Rules the user set, which still hold:"

NOTICE = 48
"""Tokens; more than a notice weighs without what the user had asked."""


def notice(hidden: tuple[Turn, ...], ref: str, meter: Meter, share: int, rules: tuple[str, ...] = ()) -> str:
    """What was hidden, the rules, and the beginnings of the newest things the user asked, within `share` tokens."""
    prompts = [part.text for turn in hidden for part in turn.prompt if isinstance(part, Text) and not part.by]
    steps = sum(len(turn.steps) for turn in hidden)
    asked = f"{many(len(prompts), 'prompt')}, " if prompts else ""
    text = f"[Earlier conversation folded: {asked}{many(steps, 'step')}; ref={ref}]{_listed(rules)}"
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
