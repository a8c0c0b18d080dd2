"""Recipes: tables of rungs. Each number is a share of the window, so none of them breaks on a small or a huge one."""

from __future__ import annotations

from yohaku.core.budget import Budget
from yohaku.core.errors import UnknownRecipe
from yohaku.core.recipe import Recipe, Rung
from yohaku.passes.clear_largest import clear_largest
from yohaku.passes.digest import NARROW_WINDOW, SCARCE_WINDOW, digest
from yohaku.passes.drop_oldest import drop_oldest
from yohaku.passes.drop_superseded import drop_superseded
from yohaku.passes.drop_thoughts import drop_thoughts
from yohaku.passes.shrink_all import shrink_all
from yohaku.passes.shrink_newest import shrink_newest
from yohaku.passes.use_draft import use_draft
from yohaku.recipes.builtin import LAST_RESORT, cache, chat, layers, local, snapshot

HIGH = 0.99
"""High water. Folding a little at every step would break the prompt cache each time."""


WIDE = 24_000
"""Tokens. From there on foldings are rare, so that a higher low water makes few of them more."""
BIG, SAVED = 64_000, 20_000
"""Tokens of a window, and those a folding in it saves at least: what it breaks of the prompt cache is large there."""


def low(budget: Budget) -> int:
    """Low water: lower where what is shown has to be paid for again so soon, or where foldings would be many more."""
    window, limit = budget.window, budget.limit
    if window < WIDE:
        return int(limit * (0.5 if window < NARROW_WINDOW else 0.7 if window < SCARCE_WINDOW else 0.6))
    if window < BIG:
        return int(limit * 0.8)
    return int(max(limit * 0.6, min(limit * 0.8, limit - SAVED)))


def cut(budget: Budget) -> int:
    """What a newest step that is over the limit by itself is cut down to, so that the next ones have room beside it."""
    return int(budget.limit * (0.6 if budget.window < NARROW_WINDOW else 0.7))


AUTO = Recipe(
    "auto",
    (
        Rung(HIGH, drop_thoughts(), goal=low),
        Rung(HIGH, drop_superseded(), goal=low),
        Rung(HIGH, use_draft(), goal=low),
        Rung("over", shrink_newest(), goal=cut),
        Rung(HIGH, digest(), goal=low),
        Rung("over", clear_largest("argument", "prompt"), goal="hot"),
        Rung("over", drop_oldest(), goal="hot"),
        Rung("over", shrink_all(prompts=False), goal=cut),
        *LAST_RESORT,
    ),
)
"""Ours. What is newest stays whole, what is older is told by its lines; only when nothing else is left it is cut."""

LOCAL, CHAT, CACHE, LAYERS, SNAPSHOT = local(), chat(), cache(), layers(), snapshot()

RECIPES = {
    recipe.name: recipe for recipe in (AUTO, LOCAL, CHAT, chat("summary"), chat("hybrid"), CACHE, LAYERS, SNAPSHOT)
}


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except KeyError:
        raise UnknownRecipe(name, tuple(RECIPES)) from None
