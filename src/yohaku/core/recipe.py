"""Recipes: rungs in order, each a level and the pass that runs there; and what passes are given and may ask for.

A pass looks at a view and proposes folds; it changes nothing. Where it needs a model or a file it is a generator that
yields a `Question` or a `ReadFile` and is sent the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from yohaku.core.budget import At, Budget
from yohaku.core.cache_break_even import CachePrices
from yohaku.core.folds import Fold, Gist, Place
from yohaku.core.meter import Meter
from yohaku.core.model import newest_step
from yohaku.core.view import View
from yohaku.core.weigh import Ledger, Weigher


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass asks a model."""

    purpose: str
    text: str
    """The whole prompt, complete in itself."""
    limit: int
    """Tokens the answer may have."""
    prefill: str = ""
    """What the answer may be made to begin with, by a server that can."""
    stop: tuple[str, ...] = ()
    schema: str = ""
    """JSON schema of an answer that is understood as well, for a server that can hold a model to one."""
    model: str = ""
    """Which model to ask, where the recipe names one."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a pass asks the surface: a file as it is now."""

    path: str


@dataclass(frozen=True, slots=True)
class FoldStarting:
    """Said once before a folding: the surface may add words for it, or refuse it."""

    manual: bool
    """Asked for by the user, or started by the weight."""
    weight: int
    limit: int


Effect: TypeAlias = Question | ReadFile | FoldStarting
"""What a planning yields. It is sent a text: the answer, the file (none: empty), words to add."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the surface wants of a planning beyond the recipe."""

    manual: bool = False
    """Fold now, whatever the weight."""
    words: str = ""
    """What the user wants kept, in their words."""
    drafts: Mapping[str, Gist] = field(default_factory=dict)
    """Gists prepared earlier, by key: a pass that would ask takes one of these instead."""
    model: bool = True
    """Whether somebody is there to answer questions; where nobody is, none need be put together."""
    ahead: int | None = None
    """Steps that are expected to follow; as many as there were so far, where nobody knows."""
    held: frozenset[Place] = frozenset()
    """Places of folds that were undone: they are left open as long as the conversation fits without them."""
    prices: CachePrices = field(default_factory=CachePrices)


@dataclass(frozen=True, slots=True)
class PassContext:
    """What a pass may know beside the view."""

    budget: Budget
    weigher: Weigher
    ledger: Ledger
    """Of the view as it stands."""
    goal: int
    """Tokens to come down to."""
    options: PlanOptions = field(default_factory=PlanOptions)

    @property
    def meter(self) -> Meter:
        return self.weigher.meter

    @property
    def excess(self) -> int:
        return self.ledger.total - self.goal

    def newest_is_too_big(self, view: View) -> bool:
        """Whether it is over the limit whatever is done about what is older."""
        return self.newest(view) > self.budget.limit

    def newest(self, view: View) -> int:
        """What the newest prompt and step weigh with all that no folding can touch."""
        turns = view.stubbed
        step = newest_step(turns)
        prompt = self.weigher.entries(turns[-1].prompt) if turns else 0
        return self.ledger.fixed + prompt + (self.weigher.step(step) if step else 0)


AskingPass: TypeAlias = Generator[Effect, str, "list[Fold]"]
Pass: TypeAlias = Callable[[View, PassContext], "list[Fold] | AskingPass"]


@dataclass(frozen=True, slots=True)
class Rung:
    level: At
    """Fires when the view weighs this much or more."""
    propose: Pass
    goal: At = "warm"
    """Folds down to this, well below its level, so that nothing changes again for many turns."""
    pays: bool = False
    """Only where what it saves is worth the part of the prompt cache it breaks."""
    last: bool = False
    """Fires by what the weight is by now, not by what it was when folding began, as all rungs at "over" do."""
    quiet: bool = False
    """Upkeep that is done at every turn: it is not announced, and so cannot be refused."""
    when: Callable[[View, PassContext], bool] | None = None
    """Fires only where this holds too, unless the user asks."""


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    rungs: tuple[Rung, ...]

    def starts_at(self, budget: Budget, *, quiet: bool = False) -> int:
        """Tokens at which the first rung fires; `quiet`: counting those that work at every turn."""
        levels = (budget.at(rung.level) for rung in self.rungs if quiet or not rung.quiet)
        return min(levels, default=budget.at("over"))
