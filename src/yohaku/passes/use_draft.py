"""A gist that was prepared beside the conversation takes its place: the folding waits for nobody.

Law: only where everything it tells of was said, and only if it frees enough; none knows what the user wants kept now.
"""

from __future__ import annotations

from dataclasses import replace

from yohaku.core.folds import Fold, Gist
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.drop_oldest import cuts


def use_draft() -> Pass:
    def propose(view: View, context: PassContext) -> list[Fold]:
        found = draft(view, context)
        return [found] if found else []

    return propose


def draft(view: View, context: PassContext) -> Gist | None:
    """The one that hides most, if it can stand here."""
    drafts = {} if context.options.words else context.options.drafts
    if not drafts:
        return None
    places = [place for place in cuts(view, context, "steps", newest=False) if view.key_at(place[0]) in drafts]
    if not places:
        return None
    cut, removed = places[-1]
    found = drafts[view.key_at(cut)]
    after = context.weigher.turn(found.turn)
    enough = min(context.budget.limit, max(context.goal, context.budget.at("hot")))
    return replace(found, before=removed, after=after) if context.ledger.total - removed + after <= enough else None
