"""The recipes of the five documents: tables of rungs in which each number of a document is a default argument.

Law: where a number cannot work in a small window it scales with it; and where a document knows no further, every
recipe but `chat`, which is to refuse, ends in the same last resort.
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
"""What is newest only when nothing else is left; behind it there is only the refusal."""

ACK = "I have read it and go on from there."
"""What the model is shown to have said to a gist that is a turn of its own."""


def local(share: float = 0.6, ends: int = 50, keep: int = 1) -> Recipe:
    """For a model at home: tool output gets what room there is, and in a small window it is shown once.

    At 90 % old results go first, then history, then what is left is cut by force.
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
    """Whole old turns go until it fits, then old steps of the newest; what is too big by itself is refused.

    Or a summary stands for them: of all that is old, or of what is older than the newest `keep` of it.
    """
    summed = {
        "sliding": (),
        "summary": (Rung("over", summarise(keep=0, model=model), goal="hot"),),
        "hybrid": (Rung("over", summarise(keep=keep, model=model), goal="hot"),),
    }
    if method not in summed:
        raise BadSetting(f"chat has no method {method!r}: use one of {', '.join(summed)}")
    return Recipe(
        "chat" if method == "sliding" else f"chat-{method}",
        (
            *summed[method],
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
    """Tool outputs are kept outside and seen within a budget; at a share of the limit the rest is summed up.

    Without `auto` the summary is made when the user asks. Where the last turns are most of the conversation, as in
    the loop of an agent, their old steps are summed up as well, at 90 %.
    """
    _shares(threshold_ratio=threshold_ratio)
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
    """Old results are cleared silently, near the limit all is summed up, and the files read last come back."""
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
    """When what comes in takes `share` of what remains, all but the newest `keep` becomes a snapshot of the work.

    Only where the history before it is at least `threshold` of the limit.
    """
    _shares(share=share, threshold=threshold, keep=keep)
    return Recipe(
        "snapshot",
        (
            Rung(share, summarise("snapshot", keep, model=model, ack=ACK), "hot", when=hardly_fits(share, threshold)),
            Rung("over", drop_oldest(), goal="hot"),
            *LAST_RESORT,
        ),
    )


def near_the_limit(output: int = 20_000, spare: int = 13_000, share: float = 0.85) -> Callable[[Budget], int]:
    """The window without the reply and something to spare; where that is less than half, a share of the limit."""

    def at(budget: Budget) -> int:
        exact = min(budget.window - min(budget.reserve, output) - spare, budget.limit)
        return exact if exact >= budget.limit // 2 else int(budget.limit * share)

    return at


def hardly_fits(share: float = 0.95, threshold: float = 0.5) -> Callable[[View, PassContext], bool]:
    def when(view: View, context: PassContext) -> bool:
        turns, limit = view.stubbed, context.budget.limit
        if not turns:
            return False
        new = context.ledger.last if turns[-1].steps else context.weigher.entries(turns[-1].prompt)
        before = context.ledger.total - new
        return new > share * (limit - before) and before >= threshold * limit

    return when


def _shares(**given: float) -> None:
    for name, share in given.items():
        if not 0 < share <= 1:
            raise BadSetting(f"{name} is a share, more than 0 and at most 1, not {share!r}")


def _never(budget: Budget) -> int:
    return 1 << 62


DOCUMENTS: dict[str, Callable[..., Recipe]] = {
    "local": local, "chat": chat, "cache": cache, "layers": layers, "snapshot": snapshot,
}  # fmt: skip
