"""Drop the model's thoughts in finished turns: servers do not need them again, so they are not sent.

Law: only thoughts that `droppable_thoughts` yields go, and none of the newest step. The model gets no note of a dropped
thought, since it could do nothing about it; the receipt lists it for the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yohaku.core.folds import Fold, Stub, Subject
from yohaku.core.model import Step, Text
from yohaku.core.originals import Slot, original_of, ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View, droppable_thoughts, thoughts_are_spent
from yohaku.passes.pieces import size_of

WHY = "finished_thought"

THINK_BLOCK = re.compile(r"\s*(<think>.*?</think>)(?:[ \t]*\r?\n)*", re.DOTALL)
"""A thought at the beginning of a text, as plain chat servers pass it on from a local model."""


def drop_thoughts() -> Pass:
    """Make a pass that drops all of them at once: the oldest breaks the prompt cache, the others cost nothing more."""

    def propose(view: View, context: PassContext) -> list[Fold]:
        newest = {step.key for step in view.history.steps[-1:]}
        turns = zip(view.history.turns[view.cut.turn : -1], view.visible(), strict=False)
        steps = [
            step for turn, seen in turns if thoughts_are_spent(turn) for step in seen.steps if step.key not in newest
        ]
        return [
            stub
            for step in steps
            for stub in (*_drop_parts(view, context, step), *_drop_think_blocks(view, context, step))
        ]

    return propose


def _drop_parts(view: View, context: PassContext, step: Step) -> Iterator[Stub]:
    if context.weigher.frame.forgets:
        return  # the server leaves them out by itself, and they weigh nothing
    for index, thought in droppable_thoughts(step):
        slot, weight = Slot("thought", index), context.weigher.part(thought)
        if weight and slot not in view.dropped.get(step.key, ()):
            yield Stub(step.key, slot, "", ref_of(original_of(thought)), Subject("thought"), WHY, weight, 0)


def _drop_think_blocks(view: View, context: PassContext, step: Step) -> Iterator[Stub]:
    """Yield stubs of texts that begin with a thought; a text may be changed, so it gets a note for the model."""
    for index, item in enumerate(step.solid):
        slot = Slot("item", index)
        found = THINK_BLOCK.match(item.text) if isinstance(item, Text) else None
        if not found or not isinstance(item, Text) or slot in view.stubs.get(step.key, ()):
            continue
        rest, ref = item.text[found.end() :], ref_of(item.text)
        text = f"[thought folded: {size_of(found[1])}; ref={ref}]\n{rest}"
        before, after = context.weigher.part(item), context.meter.count(text)
        if rest.strip() and after < before:
            yield Stub(step.key, slot, text, ref, Subject("thought"), WHY, before, after)
