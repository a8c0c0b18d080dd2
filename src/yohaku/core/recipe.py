"""Recipes (rungs in order, each a level and the pass that runs there), and the input and effects of passes.

A pass reads a view and proposes folds; it changes nothing. If it needs a model or a file it is a generator that yields
a `Question` or a `ReadFile` and is sent the answer.
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
    """Effect: prompt for a model."""

    purpose: str
    text: str
    """The whole prompt, complete in itself."""
    limit: int
    """Tokens the answer may have."""
    prefill: str = ""
    """Beginning of the answer, for servers that can force one."""
    stop: tuple[str, ...] = ()
    schema: str = ""
    """JSON schema that the answer may also follow, for servers that can enforce one."""
    model: str = ""
    """Name of the model, if the recipe has one."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Effect: current content of a file."""

    path: str


@dataclass(frozen=True, slots=True)
class FoldStarting:
    """Effect, once before a folding: the surface may add instructions for the summary, or refuse to fold."""

    manual: bool
    """Started by the user, not by the weight."""
    weight: int
    limit: int


Effect: TypeAlias = Question | ReadFile | FoldStarting
"""Requests that a planning yields. It is sent a text: the answer, the file (empty if there is none), instructions."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of a planning beside the recipe."""

    manual: bool = False
    """Fold now, whatever the weight."""
    words: str = ""
    """Instructions of the user about what to keep, in their words."""
    drafts: Mapping[str, Gist] = field(default_factory=dict)
    """Gists prepared earlier, by key: a pass uses one of these instead of a question."""
    model: bool = True
    """A model answers questions; if there is none, passes do not prepare any."""
    ahead: int | None = None
    """Steps that are expected to follow; by default as many as there were so far."""
    held: frozenset[Place] = frozenset()
    """Places of undone folds: they stay open as long as the conversation fits without them."""
    prices: CachePrices = field(default_factory=CachePrices)


@dataclass(frozen=True, slots=True)
class PassContext:
    """Input of a pass beside the view."""

    budget: Budget
    weigher: Weigher
    ledger: Ledger
    """Tokens of the current view."""
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
        """Test whether the view is over the limit even if everything older were hidden."""
        return self.newest(view) > self.budget.limit

    def newest(self, view: View) -> int:
        """Return the tokens of the newest prompt and step with everything that cannot be folded."""
        turns = view.stubbed
        step = newest_step(turns)
        prompt = self.weigher.entries(turns[-1].prompt) if turns else 0
        return self.ledger.fixed + prompt + (self.weigher.step(step) if step else 0)


AskingPass: TypeAlias = Generator[Effect, str, "list[Fold]"]
Pass: TypeAlias = Callable[[View, PassContext], "list[Fold] | AskingPass"]


@dataclass(frozen=True, slots=True)
class Rung:
    level: At
    """Runs if the view has this many tokens or more."""
    propose: Pass
    goal: At = "warm"
    """Target size, well below the level, so that nothing changes again for many turns."""
    pays: bool = False
    """Run only if the saving is worth the part of the prompt cache that it breaks."""
    last: bool = False
    """Test the current size, not the size at the start (always so for "over")."""
    quiet: bool = False
    """Runs at every turn, without `FoldStarting`, and so cannot be refused."""
    when: Callable[[View, PassContext], bool] | None = None
    """Further condition; ignored in a manual folding."""


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    rungs: tuple[Rung, ...]

    def starts_at(self, budget: Budget, *, quiet: bool = False) -> int:
        """Return the tokens at which the first rung runs; `quiet`: include rungs that run at every turn."""
        levels = (budget.at(rung.level) for rung in self.rungs if quiet or not rung.quiet)
        return min(levels, default=budget.at("over"))
