"""Verdicts: results of a planning.

Law: a view over the limit is `TooBig`, names what is too big, and is never sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from yohaku.core.budget import Budget
from yohaku.core.view import View
from yohaku.core.weigh import Ledger


@dataclass(frozen=True, slots=True)
class Fits:
    name = "fits"


@dataclass(frozen=True, slots=True)
class Folded:
    name = "folded"


@dataclass(frozen=True, slots=True)
class Inflated:
    """The proposed folds would have made the view bigger, and were refused."""

    name = "inflated"


@dataclass(frozen=True, slots=True)
class FoldingRefused:
    """The hook before the folding refused it, and the view fits without."""

    name = "refused"


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """It would have been folded, but the provider holds earlier turns of the conversation."""

    field: str
    """Field of the body that names them."""
    over_limit: bool = False
    """True if it is over the limit as it is, so that the provider may refuse it."""
    name = "refused"


@dataclass(frozen=True, slots=True)
class TooBig:
    what: str
    """Code, a key of `TOO_BIG`."""
    needs: int
    """Tokens, folded as far as possible."""
    limit: int
    pin: str = ""
    """Pin to remove, if a pin is too big."""
    origin: str = ""
    """The call or text that is pinned."""
    name = "too_big"

    def __str__(self) -> str:
        what = TOO_BIG.get(self.what, self.what).format(origin=self.origin)
        return (
            f"does not fit: {what} would need {self.needs:,} tokens and the limit is {self.limit:,}; "
            f"{f'unpin {self.pin}' if self.pin else 'shorten it'}, or use a larger window"
        )


TOO_BIG = {
    "empty_request": "even an empty request",
    "system_prompt": "the system prompt",
    "tool_definitions": "the tool definitions",
    "system_prompt_and_tools": "the system prompt with the tool definitions",
    "newest_prompt": "the newest prompt",
    "newest_prompt_beside_system_prompt": "the newest prompt beside the system prompt",
    "newest_prompt_beside_tools": "the newest prompt beside the tool definitions",
    "newest_turn": "the newest turn",
    "newest_turn_beside_system_prompt": "the newest turn beside the system prompt",
    "newest_turn_beside_tools": "the newest turn beside the tool definitions",
    "pinned": "what is pinned ({origin})",
    "unfolded_conversation": "the conversation, which was not to be folded,",
}
"""Everything that can be too big, in English for the message of the exception."""

Verdict: TypeAlias = Fits | Folded | Inflated | FoldingRefused | LeftAlone | TooBig


def judge(view: View, after: Ledger, budget: Budget, folded: bool, inflated: bool) -> Verdict:
    if after.total > budget.limit:
        return too_big(view, after, budget)
    if folded:
        return Folded()
    return Inflated() if inflated else Fits()


def judge_refused(after: Ledger, budget: Budget) -> Verdict:
    """Return the verdict on a view whose folding was refused; quiet rungs may have folded before."""
    fits = after.total <= budget.limit
    return FoldingRefused() if fits else TooBig("unfolded_conversation", after.total, budget.limit)


def too_big(view: View, after: Ledger, budget: Budget) -> TooBig:
    """Return the verdict with the first part over the limit that cannot be folded."""
    limit = budget.limit
    system, tools = after.request + after.system, after.request + after.tools
    if after.fixed > limit:
        if not after.system and not after.tools:
            return TooBig("empty_request", system, limit)
        if system > limit or not after.tools:
            return TooBig("system_prompt", system, limit)
        if tools > limit:
            return TooBig("tool_definitions", tools, limit)
        return TooBig("system_prompt_and_tools", after.fixed, limit)
    newest = "newest_turn" if view.shown.turns and view.shown.turns[-1].steps else "newest_prompt"
    if after.turns > limit:
        return TooBig(newest, after.turns, limit)
    beside = "tools" if after.tools > after.system else "system_prompt"
    return TooBig(f"{newest}_beside_{beside}" if after.fixed > after.request else newest, after.total, limit)
