"""Recipes of the five documents: tables of rungs. Each number of a document is a default argument.

Law: a number that cannot work in a small window scales with it. Every recipe but `chat`, which has to refuse, ends in
the same last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from yohaku.core.budget import Budget
from yohaku.core.errors import BadSetting
from yohaku.core.recipe import PassContext, Recipe, Rung
from yohaku.core.view import View
from yohaku.passes.cap_results import cap_results
from yohaku.passes.clear_largest import clear_largest
from yohaku.passes.clear_old_results import TOOLS, clear_old_results
from yohaku.passes.drop_oldest import drop_oldest
from yohaku.passes.limit_tool_output import limit_tool_output
from yohaku.passes.one_line_results import one_line_results
from yohaku.passes.preview_huge_result import preview_huge_result
from yohaku.passes.restore_files import restore_files
from yohaku.passes.shrink_all import shrink_all
from yohaku.passes.summarise import summarise
from yohaku.passes.trim_new_results import trim_new_results
from yohaku.summary.prompts import RETAIN

LAST_RESORT = (
    Rung("over", shrink_all(prompts=False), goal="hot"),
    Rung("over", drop_oldest(newest=True, asked=0), goal="hot"),
    Rung("over", shrink_all(), goal="hot"),
)
"""Rungs that fold the newest step and prompt, if nothing else is left to fold."""

ACK = "I have read it and go on from there."
"""Reply of the model to a gist that is a turn of its own."""


def local(share: float = 0.6, ends: int = 50, keep: int = 1) -> Recipe:
    """Recipe for local models: tool output is limited to the free tokens, and in a small window shown only once.

    At 90 % old results are cleared first, then history is summarised, then everything left is shrunk.
    """
    return Recipe(
        "local",
        (
            Rung("calm", trim_new_results(share, ends=ends), goal="calm", quiet=True),
            Rung("calm", one_line_results(keep), goal="calm", quiet=True),
            Rung("full", clear_largest("result")),
            Rung("full", summarise()),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


def chat(method: Literal["sliding", "summary", "hybrid"] = "sliding", keep: float = 0.5, model: str = "") -> Recipe:
    """Recipe for chats: drop old turns until it fits, then old steps of the newest; refuse what is still too big.

    "summary" summarises everything old first, "hybrid" everything but the newest share `keep`.
    """
    summaries = {
        "sliding": (),
        "summary": (Rung("over", summarise(keep=0, model=model), goal="hot"),),
        "hybrid": (Rung("over", summarise(keep=keep, model=model), goal="hot"),),
    }
    if method not in summaries:
        raise BadSetting(f"chat has no method {method!r}: use one of {', '.join(summaries)}")
    return Recipe(
        "chat" if method == "sliding" else f"chat-{method}",
        (
            *summaries[method],
            Rung("over", drop_oldest(by="turns"), goal="hot"),
            Rung("over", drop_oldest(by="steps"), goal="hot"),
            Rung("over", drop_oldest(by="turns", newest=True, asked=0), goal="hot"),
        ),
    )


def cache(
    enabled: bool = True,
    context_budget: int | None = None,
    max_message_bytes: int = 50 * 1024,
    max_line_length: int = 2_000,
    *,
    compaction: bool = True,
    auto: bool = True,
    threshold_ratio: float = 0.8,
    retain_last_turns: int = 1,
    model: str = "",
    summary_prompt: str = "",
    summary_directives: tuple[str, ...] = (),
    retain_prompt: str | None = RETAIN,
    retain_directives: tuple[str, ...] = (),
) -> Recipe:
    """Recipe with a budget for tool outputs, and a summary of the rest at a share of the limit.

    Without `auto` only a manual folding makes the summary. If the last turns are most of the conversation, as in the
    loop of an agent, their old steps are summarised as well, at 90 %.
    """
    _check_shares(threshold_ratio=threshold_ratio)
    outputs = (
        Rung("calm", cap_results(max_message_bytes, max_line_length), goal="calm", quiet=True),
        Rung("calm", limit_tool_output(context_budget), goal="calm", quiet=True),
    )
    summed = summarise(
        keep=retain_last_turns,
        prompt=summary_prompt,
        directives=summary_directives,
        retain=retain_prompt,
        retain_directives=retain_directives,
        model=model,
    )
    level, later = (threshold_ratio, max(threshold_ratio, 0.9)) if auto else (_never, _never)
    summary = (
        Rung(level, summed, goal=threshold_ratio),
        Rung(later, summed, goal=threshold_ratio * 0.75, last=True),
    )
    last = (Rung("over", drop_oldest(), goal="hot"), *LAST_RESORT)
    return Recipe("cache", (*(outputs if enabled else ()), *(summary if compaction else ()), *last))


def layers(
    tools: tuple[str, ...] = TOOLS,
    keep: int = 3,
    over: int = 1_000,
    least: int = 20_000,
    *,
    output: int = 20_000,
    spare: int = 13_000,
    files: int = 5,
    each: int = 5_000,
    together: int = 50_000,
    huge: int = 40_000,
    shown: int = 2_000,
    model: str = "",
) -> Recipe:
    """Recipe that clears old results at every turn, summarises near the limit, and shows the files read last again."""
    level = near_the_limit(output, spare)
    summed = restore_files(summarise(keep=0, model=model, ack=ACK), files, each, together)
    return Recipe(
        "layers",
        (
            Rung("calm", preview_huge_result(huge, shown), goal="calm", quiet=True),
            Rung("calm", clear_old_results(tools, keep, over, least), goal="calm", quiet=True),
            Rung(level, summed, goal=lambda budget: level(budget) * 2 // 3),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


def snapshot(share: float = 0.95, threshold: float = 0.5, keep: float = 0.3, model: str = "") -> Recipe:
    """Recipe that replaces all but the newest share `keep` by a snapshot of the work.

    Runs if new input takes `share` of the free tokens and the history before it at least `threshold` of the limit.
    """
    _check_shares(share=share, threshold=threshold, keep=keep)
    return Recipe(
        "snapshot",
        (
            Rung(share, summarise("snapshot", keep, model=model, ack=ACK), "hot", when=hardly_fits(share, threshold)),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


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


def _check_shares(**given: float) -> None:
    for name, share in given.items():
        if not 0 < share <= 1:
            raise BadSetting(f"{name} is a share, more than 0 and at most 1, not {share!r}")


def _never(budget: Budget) -> int:
    return 1 << 62


DOCUMENTS: dict[str, Callable[..., Recipe]] = {
    "local": local, "chat": chat, "cache": cache, "layers": layers, "snapshot": snapshot,
}  # fmt: skip
