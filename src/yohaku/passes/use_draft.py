"""Use a gist that was prepared in the background, so that the folding does not wait for a model.

Law: only if all that it covers is in this history, and only if it frees enough. Not if the user gives instructions for
this folding, which no draft can follow.
"""

from __future__ import annotations

from dataclasses import replace

from yohaku.core.folds import Fold, Gist
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.drop_oldest import cuts, weigh_chapters


def use_draft() -> Pass:
    def propose(view: View, context: PassContext) -> list[Fold]:
        found = find_draft(view, context)
        return [found] if found else []

    return propose


def find_draft(view: View, context: PassContext) -> Gist | None:
    """Return the draft that hides most, if it fits here."""
    drafts = {} if context.options.words else context.options.drafts
    if not drafts:
        return None
    places = [place for place in cuts(view, context, "steps", newest=False) if view.key_at(place[0]) in drafts]
    if not places:
        return None
    cut, removed = places[-1]
    found = drafts[view.key_at(cut)]
    removed -= weigh_chapters(view, context) if found.start else 0
    after = context.weigher.turn(found.turn)
    enough = min(context.budget.limit, max(context.goal, context.budget.at("hot")))
    return replace(found, before=removed, after=after) if context.ledger.total - removed + after <= enough else None
