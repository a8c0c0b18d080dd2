"""Recipes: tables of rungs. Each number is a share of the window, so none of them breaks on a small or a huge one."""

from __future__ import annotations

from yohaku.core.engine import Recipe, Rung
from yohaku.core.errors import UnknownRecipe
from yohaku.core.passes.clear import clear
from yohaku.core.passes.clip import clip_results
from yohaku.core.passes.slide import slide
from yohaku.core.passes.squeeze import squeeze

AUTO = Recipe(
    "auto",
    (
        Rung("full", clip_results()),
        Rung("full", clear("result")),
        Rung("full", clear("argument", "prompt")),
        Rung("full", slide()),
        Rung("over", squeeze(prompts=False), goal="hot"),
        Rung("over", slide(newest=True, asked=0), goal="hot"),
        Rung("over", squeeze(), goal="hot"),
    ),
)
"""Ours. The huge first, then the old and big, then the oldest steps; what is newest only when nothing else is left."""

CHAT = Recipe(
    "chat",
    (
        Rung("over", slide(by="turns"), goal="hot"),
        Rung("over", slide(by="steps"), goal="hot"),
        Rung("over", slide(by="turns", newest=True, asked=0), goal="hot"),
    ),
)
"""Whole old turns go until it fits, then old steps of the newest turn; what is still too big by itself is refused."""

RECIPES = {recipe.name: recipe for recipe in (AUTO, CHAT)}


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except KeyError:
        raise UnknownRecipe(name, tuple(RECIPES)) from None
