"""Recipes of the five documents: tables of rungs. Each number of a document is a default in `options`.

Law: a number that cannot work in a small window scales with it. Every recipe but `chat`, which has to refuse, ends in
the same last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

from yohaku.core.budget import SHARES, At, Budget, Level
from yohaku.core.recipe import Pass, PassContext, Recipe, Rung
from yohaku.core.view import View
from yohaku.passes.cap_results import cap_results
from yohaku.passes.clear_largest import clear_largest
from yohaku.passes.clear_old_results import clear_old_results
from yohaku.passes.drop_oldest import drop_oldest
from yohaku.passes.limit_tool_output import limit_tool_output
from yohaku.passes.one_line_results import one_line_results
from yohaku.passes.preview_huge_result import preview_huge_result
from yohaku.passes.restore_files import restore_files
from yohaku.passes.show_notes import show_notes
from yohaku.passes.shrink_all import shrink_all
from yohaku.passes.summarise import summarise
from yohaku.passes.trim_new_results import trim_new_results
from yohaku.recipes.options import (
    DEFAULT_OPTIONS,
    CompactionOptions,
    RecipeOptions,
    ToolOutputOptions,
    parse_options,
)
from yohaku.summary.request import SummaryKind


def is_being_answered(view: View, context: PassContext) -> bool:
    """Test for a newest prompt with steps: without the newest of them the model would do the same again and again."""
    return bool(view.history.turns) and bool(view.history.turns[-1].steps)


LAST_RESORT = (
    Rung("over", show_notes(), goal="hot"),
    Rung("over", shrink_all(prompts=False), goal="hot", forced=True),
    Rung("over", shrink_all(), goal="hot", forced=True, when=is_being_answered),
    Rung("over", drop_oldest(newest=True, asked=0), goal="hot"),
    Rung("over", shrink_all(), goal="hot", forced=True),
)
"""Rungs that fold the newest step and prompt, if nothing else is left to fold."""


def refuses(recipe: Recipe) -> bool:
    """Return whether a recipe refuses a newest prompt that does not fit, instead of showing a part of it."""
    return LAST_RESORT[-1] not in recipe.rungs


SUMMING_PASSES = ("summarise", "digest", "restore_files", "in_share")


def sums_up(recipe: Recipe) -> bool:
    """Return whether a recipe sums up what is old, with or without a model, instead of leaving it out."""
    return any(rung.pass_name in SUMMING_PASSES for rung in recipe.rungs)


CACHE_THRESHOLD = 0.8
"""Share of the limit at which `cache` summarises."""
ACK = "I have read it and go on from there."
"""Reply of the model to a gist that is a turn of its own."""


Build: TypeAlias = Callable[[RecipeOptions], Recipe]


def recipe_builder(section: str) -> Callable[[Build], Callable[..., Recipe]]:
    """Let a recipe be built from options, or from values by name: `cache(threshold_ratio=0.7)`."""

    def wrap(build: Build) -> Callable[..., Recipe]:
        @wraps(build)
        def build_from(options: RecipeOptions = DEFAULT_OPTIONS, /, **given: object) -> Recipe:
            return build(parse_options(given, section, options) if given else options)

        return build_from

    return wrap


@recipe_builder("local")
def local(options: RecipeOptions) -> Recipe:
    """Recipe for local models: tool output is limited to the free tokens, and in a small window shown only once.

    At 80 % old results are cleared first, then history is summarised; what is at 90 % even so is cut by force.
    """
    own = options.local
    ratio = options.compaction.threshold_ratio
    level: At = ratio or "hot"
    return Recipe(
        "local",
        (
            *tool_output_rungs(options.cache),
            Rung("calm", trim_new_results(own.tool_output_share, ends=own.outline_lines), goal="calm", quiet=True),
            Rung("calm", one_line_results(own.keep_turns), goal="calm", quiet=True),
            Rung(level, clear_largest("result"), below(level, "warm")),
            *summary_rungs(options.compaction, level, summarise_with(options.compaction), below(level, "warm")),
            Rung(max(ratio or 0, SHARES["full"]), shrink_all(prompts=False), goal="hot", last=True, forced=True),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


@recipe_builder("chat")
def chat(options: RecipeOptions) -> Recipe:
    """Recipe for chats: drop old turns until it fits, then old steps of the newest; refuse what is still too big.

    "summary" summarises everything old first, "hybrid" everything but the newest share `keep_share`.
    """
    method, compaction = options.chat.method, options.compaction
    level: At = compaction.threshold_ratio or above_limit  # a manual folding summarises below it
    keep = {"summary": 0.0, "hybrid": options.chat.keep_share}
    summary = (
        summary_rungs(compaction, level, summarise_with(compaction, keep[method]), below(level, "hot"), by_hand=True)
        if method in keep
        else ()
    )
    return Recipe(
        "chat" if method == "sliding" else f"chat-{method}",
        (
            *tool_output_rungs(options.cache),
            *summary,
            Rung("over", drop_oldest(by="turns"), goal="hot", by_hand=method == "sliding"),
            Rung("over", drop_oldest(by="steps"), goal="hot"),
            Rung("over", drop_oldest(by="turns", newest=True, asked=0), goal="hot"),
        ),
    )


@recipe_builder("cache")
def cache(options: RecipeOptions) -> Recipe:
    """Recipe with a budget for tool outputs, and a summary of the rest at a share of the limit.

    Without `compaction.auto` only a manual folding makes the summary. If the last turns are most of the conversation,
    as in the loop of an agent, their old steps are summarised as well, at 90 %.
    """
    compaction = options.compaction
    ratio, summed = compaction.threshold_ratio or CACHE_THRESHOLD, summarise_with(compaction)
    return Recipe(
        "cache",
        (
            *tool_output_rungs(options.cache, default=True),
            *summary_rungs(compaction, ratio, summed, ratio),
            *summary_rungs(compaction, max(ratio, 0.9), summed, ratio * 0.75, last=True),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


@recipe_builder("layers")
def layers(options: RecipeOptions) -> Recipe:
    """Recipe that clears old results at every turn, summarises near the limit, and shows the files read last again."""
    own, compaction = options.layers, options.compaction
    ratio = compaction.threshold_ratio
    near = near_the_limit(own.max_output, own.buffer_tokens)
    files = (own.restore_files, own.restore_tokens_per_file, own.restore_tokens_total)
    summed = restore_files(summarise_with(compaction, 0, ack=ACK), *files)
    goal: At = ratio * 2 / 3 if ratio else lambda budget: near(budget) * 2 // 3
    return Recipe(
        "layers",
        (
            *tool_output_rungs(options.cache),
            Rung("calm", preview_huge_result(own.huge_output_tokens, own.preview_chars), goal="calm", quiet=True),
            Rung(
                "calm",
                clear_old_results(own.tools, own.keep_recent, own.min_result_tokens, own.min_savings),
                goal="calm",
                quiet=True,
            ),
            *summary_rungs(compaction, ratio or near, summed, goal),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


@recipe_builder("snapshot")
def snapshot(options: RecipeOptions) -> Recipe:
    """Recipe that replaces all but the newest share `keep_share` by a snapshot of the work.

    Runs if new input takes `trigger_share` of the free tokens and the history before it at least `threshold` of the
    limit; with `compaction.threshold_ratio` at that share of the limit instead.
    """
    own, compaction = options.snapshot, options.compaction
    ratio, summed = compaction.threshold_ratio, summarise_with(compaction, own.keep_share, "snapshot", ack=ACK)
    when = None if ratio else hardly_fits(own.trigger_share, own.threshold)
    return Recipe(
        "snapshot",
        (
            *tool_output_rungs(options.cache),
            *summary_rungs(compaction, ratio or own.trigger_share, summed, below(ratio or "", "hot"), when=when),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


# What recipes share


def tool_output_rungs(options: ToolOutputOptions, *, default: bool = False) -> tuple[Rung, ...]:
    """Return the rungs that limit tool outputs; `default`: the recipe has them unless they are switched off."""
    if not options.active(default):
        return ()
    cap = cap_results(options.max_message_bytes, options.max_line_length)
    return (
        Rung("calm", cap, goal="calm", quiet=True),
        Rung("calm", limit_tool_output(options.context_budget_tokens), goal="calm", quiet=True),
    )


def summary_rungs(
    options: CompactionOptions,
    level: At,
    summed: Pass,
    goal: At,
    *,
    of_free: bool = False,
    last: bool = False,
    by_hand: bool = False,
    when: Callable[[View, PassContext], bool] | None = None,
) -> tuple[Rung, ...]:
    """Return the rung of a summary: none where summaries are off, at no weight where only the user starts them."""
    if not options.enabled:
        return ()
    return (Rung(level if options.auto else never, summed, goal, of_free, last=last, by_hand=by_hand, when=when),)


def summarise_with(
    options: CompactionOptions, keep: float = 1, kind: SummaryKind = "summary", *, ack: str = ""
) -> Pass:
    """Make the pass of a summary; `keep` is the recipe's own, unless the options have a number of turns."""
    return summarise(
        kind,
        keep if options.retain_last_turns is None else options.retain_last_turns,
        prompt=options.summary_prompt,
        directives=options.summary_directives,
        retain=options.retain_prompt,
        retain_directives=options.retain_directives,
        model=options.model,
        ack=ack,
    )


def below(level: object, usual: Level) -> At:
    """Return the goal of a summary that starts at `level`: three quarters of a share, else the usual one."""
    return level * 0.75 if isinstance(level, float) else usual


def near_the_limit(output: int = 20_000, spare: int = 13_000, share: float = 0.85) -> Callable[[Budget], int]:
    """Make a level: the window less output and `spare` tokens, or `share` of the limit if that is less than half."""

    def at(budget: Budget) -> int:
        exact = min(budget.window - min(budget.reserve, output) - spare, budget.limit)
        return exact if exact >= budget.limit // 2 else int(budget.limit * share)

    return at


def hardly_fits(share: float = 0.95, threshold: float = 0.5) -> Callable[[View, PassContext], bool]:
    """Make the condition of `snapshot`."""

    def when(view: View, context: PassContext) -> bool:
        turns, limit = view.stubbed, context.budget.limit
        if not turns:
            return False
        new = context.ledger.last if turns[-1].steps else context.weigher.entries(turns[-1].prompt)
        before = context.ledger.total - new
        return new > share * (limit - before) and before >= threshold * limit

    return when


def above_limit(budget: Budget) -> int:
    """Level of a rung that runs only when nothing fits any more, or in a manual folding."""
    return budget.limit + 1


def never(budget: Budget) -> int:
    """Level of a rung that only a manual folding runs."""
    return 1 << 62
