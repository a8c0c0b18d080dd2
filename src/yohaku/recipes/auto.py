"""The recipe `auto`, and all built-in recipes by name. Sizes are shares of the limit, so they suit every window."""

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

HIGH_WATER = 0.99
"""Share of the limit at which folding begins. Folding a little at every step would break the prompt cache each time."""
WIDE_WINDOW = 24_000
"""Tokens. In a larger window foldings are rare, and a higher target adds few."""
BIG_WINDOW, MIN_SAVED_TOKENS = 64_000, 20_000
"""Tokens of a window in which a folding breaks much of the prompt cache, and tokens it has to save at least there."""


def low_water(budget: Budget) -> int:
    """Target size after folding, as a share of the limit (reasons in decision 0008)."""
    window, limit = budget.window, budget.limit
    if window < NARROW_WINDOW:
        return int(limit * 0.5)
    if window < SCARCE_WINDOW:
        return int(limit * 0.7)
    if window < WIDE_WINDOW:
        return int(limit * 0.6)
    if window < BIG_WINDOW:
        return int(limit * 0.8)
    return int(max(limit * 0.6, min(limit * 0.8, limit - MIN_SAVED_TOKENS)))


def shrunk_size(budget: Budget) -> int:
    """Target size after shrinking a newest step that alone is over the limit: the next steps need tokens too."""
    return int(budget.limit * (0.6 if budget.window < NARROW_WINDOW else 0.7))


AUTO = Recipe(
    "auto",
    (
        Rung(HIGH_WATER, drop_thoughts(), goal=low_water),
        Rung(HIGH_WATER, drop_superseded(least=0.02), goal=low_water),
        Rung(HIGH_WATER, use_draft(), goal=low_water),
        Rung("over", shrink_newest(share=0.2), goal=shrunk_size),
        Rung(HIGH_WATER, digest(recent=0.1, gist=0.08, least=0.1), goal=low_water),
        Rung("over", clear_largest("argument", "prompt", keep=0.25, least=0.1), goal="hot"),
        Rung("over", drop_oldest(least=0.1, asked=0.03), goal="hot"),
        Rung("over", shrink_all(prompts=False), goal=shrunk_size),
        *LAST_RESORT,
    ),
)
"""The default. The newest steps stay whole, older ones become a gist with selected lines; the last resort is to cut."""

LOCAL, CHAT, CACHE, LAYERS, SNAPSHOT = local(), chat(), cache(), layers(), snapshot()

RECIPES = {
    recipe.name: recipe for recipe in (AUTO, LOCAL, CHAT, chat("summary"), chat("hybrid"), CACHE, LAYERS, SNAPSHOT)
}


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except KeyError:
        raise UnknownRecipe(name, tuple(RECIPES)) from None
