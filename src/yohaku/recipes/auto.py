"""The recipe `auto`, and all built-in recipes by name. Sizes are shares of the limit, so they suit every window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from yohaku.core.budget import At, Budget
from yohaku.core.errors import UnknownRecipe
from yohaku.core.folds import Fold
from yohaku.core.recipe import AskingPass, Pass, PassContext, Recipe, Rung
from yohaku.core.view import View
from yohaku.passes.clear_largest import clear_largest
from yohaku.passes.digest import digest
from yohaku.passes.drop_oldest import drop_oldest
from yohaku.passes.drop_superseded import drop_superseded
from yohaku.passes.drop_thoughts import drop_thoughts
from yohaku.passes.show_notes import show_notes
from yohaku.passes.shrink_all import shrink_all
from yohaku.passes.shrink_newest import shrink_newest
from yohaku.passes.use_draft import use_draft
from yohaku.recipes.builtin import (
    LAST_RESORT,
    above_limit,
    cache,
    chat,
    layers,
    local,
    recipe_builder,
    snapshot,
    summary_rungs,
    tool_output_rungs,
)
from yohaku.recipes.options import CompactionOptions, RecipeOptions

HIGH_WATER = 0.99
"""Share of the limit at which folding begins. Folding a little at every step would break the prompt cache each time."""
NARROW_WINDOW = 6_000
"""Tokens. In a smaller window most of what is shown is new after every folding, and has to be paid for."""
SCARCE_WINDOW = 12_000
"""Tokens. In a smaller window every line counts."""
WIDE_WINDOW = 24_000
"""Tokens. In a larger window foldings are rare, and a higher target adds few."""
BIG_WINDOW, MIN_SAVED_TOKENS = 64_000, 20_000
"""Tokens of a window in which a folding breaks much of the prompt cache, and tokens it has to save at least there."""


def low_water(budget: Budget) -> int:
    """Target size after folding, as a share of what the conversation may take (reasons in decision 0008)."""
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


def shrink_limit(budget: Budget, share: float) -> Budget:
    """Return the budget with `share` of the limit: a folding that starts there works as it would in that window."""
    return Budget(max(1, int(budget.limit * share)) + budget.reserve, budget.reserve)


def in_share(propose: Pass, share: float) -> Pass:
    """Make a pass that sees only this share of the limit, unless the newest prompt and step need more."""

    def propose_in_share(view: View, context: PassContext) -> list[Fold] | AskingPass:
        window = context.options.summary_window or context.budget.window  # a model may read all of it
        options = replace(context.options, summary_window=window)
        smaller = replace(context, budget=shrink_limit(context.budget, share), options=options)
        return propose(view, context if smaller.newest_is_too_big(view) else smaller)

    return propose_in_share


def shrunk_size(budget: Budget) -> int:
    """Target size after shrinking a newest step that alone is over the limit: the next steps need tokens too."""
    return int(budget.limit * (0.6 if budget.window < NARROW_WINDOW else 0.7))


@recipe_builder("auto")
def auto(options: RecipeOptions) -> Recipe:
    """Recipe that keeps the newest steps whole and makes a gist with selected lines of older ones; the default.

    The last resort is to cut. With `compaction.threshold_ratio` it starts there, and folds further down.
    """
    compaction = options.compaction
    share, goal, summed = HIGH_WATER, low_water, digest_with(compaction)
    if ratio := compaction.threshold_ratio:
        share, goal, summed = ratio, lambda budget: low_water(shrink_limit(budget, ratio)), in_share(summed, ratio)
    level: At = share if compaction.auto else above_limit
    return Recipe(
        "auto",
        (
            *tool_output_rungs(options.cache),
            Rung(level, drop_thoughts(), goal, of_free=True),
            Rung(level, drop_superseded(least=0.02), goal, of_free=True),
            *summary_rungs(compaction, share, use_draft(), goal, of_free=True),
            Rung("over", show_notes(), goal="hot"),
            Rung("over", shrink_newest(share=0.2), goal=shrunk_size),
            *summary_rungs(compaction, share, summed, goal, of_free=True),
            Rung("over", clear_largest("argument", "prompt", keep=0.25, least=0.1), goal="hot"),
            Rung("over", drop_oldest(least=0.1, asked=0.03), goal="hot"),
            Rung("over", shrink_all(prompts=False), goal=shrunk_size),
            *LAST_RESORT,
        ),
    )


def digest_with(options: CompactionOptions) -> Pass:
    return digest(
        recent=0.1,
        least=0.1,
        keep_turns=options.retain_last_turns or 0,
        prompt=options.summary_prompt,
        directives=options.summary_directives,
        retain=options.retain_prompt,
        retain_directives=options.retain_directives,
        model=options.model,
    )


BUILDERS: dict[str, Callable[..., Recipe]] = {
    "auto": auto,
    "local": local,
    "chat": chat,
    "chat-summary": partial(chat, method="summary"),
    "chat-hybrid": partial(chat, method="hybrid"),
    "cache": cache,
    "layers": layers,
    "snapshot": snapshot,
}
"""Built-in recipes by name, each a function of the options."""

RECIPES = {name: build() for name, build in BUILDERS.items()}
AUTO, LOCAL, CHAT, CACHE, LAYERS, SNAPSHOT = (
    RECIPES[name] for name in ("auto", "local", "chat", "cache", "layers", "snapshot")
)


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except KeyError:
        raise UnknownRecipe(name, tuple(RECIPES)) from None
