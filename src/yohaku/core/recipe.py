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

QUESTION_SHARE, OTHER_QUESTION_SHARE = 0.95, 0.8
"""Shares of the window that a question may take, with its answer: asked of the conversation's model, and of another
one, which counts other tokens than our meter."""


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
class ReadReminder:
    """Effect: text of the surface that is to stand in a new gist, such as the model's plan."""


@dataclass(frozen=True, slots=True)
class FoldStarting:
    """Effect, once before a folding: the surface may add instructions for the summary, or refuse to fold."""

    manual: bool
    """Started by the user, not by the weight."""
    weight: int
    limit: int
    """In the same tokens; a session gives both to its hook as the provider counts them."""
    words: str = ""
    """Instructions of the user about what to keep."""
    session: str = ""
    """Key of the conversation in the store; a session fills it in, and the path of the transcript."""
    transcript: str = ""
    """File with everything that was said so far; empty if none is written."""


Effect: TypeAlias = Question | ReadFile | ReadReminder | FoldStarting
"""Requests that a planning yields. It is sent a text, empty if there is none: the answer, the file, the reminder,
instructions."""


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
    unasked: str = "no_model"
    """Code of the reason, where none is asked."""
    summary_model: str = ""
    """Name of the model that answers them, if it is not the conversation's."""
    summary_window: int = 0
    """Tokens that model can hold; 0: as many as the conversation's."""
    summary_share: float = 0.85
    """Share of a chapter that it writes, less for a small model; lines of the conversation have the rest."""
    ahead: int | None = None
    """Steps that are expected to follow; by default as many as there were so far."""
    held: frozenset[Place] = frozenset()
    """Places of undone folds: they stay open as long as the conversation fits without them."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Texts to show in place of originals that do not fit, by their refs: each names the ref and holds notes on it."""
    kept_lines: tuple[str, ...] = ()
    """Lines that stay in the stub of a text that has them, such as a note of the program at the end of a result."""
    prices: CachePrices = field(default_factory=CachePrices)
    made_for: int = 0
    """Limit that new folds are remembered for; by default that of the budget."""


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
    def why_now(self) -> str:
        """Reason of a gist without a model: the user wanted it, or the window is full."""
        manual = self.options.manual and self.ledger.total <= self.budget.limit
        return "by_hand" if manual else "window_full"

    def question_tokens(self, window: int = 0) -> int:
        """Return the tokens for a question and its answer; `window`: of the model asked, where the caller knows it."""
        if other := window or self.options.summary_window:
            return int(other * OTHER_QUESTION_SHARE)
        return int(self.budget.window * QUESTION_SHARE)

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
    of_free: bool = False
    """Apply the goal to what system prompt and tools leave of the window: they may take most of it."""
    pays: bool = False
    """Run only if the saving is worth the part of the prompt cache that it breaks."""
    last: bool = False
    """Test the current size, not the size at the start (always so for "over")."""
    by_hand: bool = False
    """Runs in a manual folding also where it tests the current size."""
    quiet: bool = False
    """Runs at every turn, without `FoldStarting`, and so cannot be refused."""
    forced: bool = False
    """Cuts whatever is visible, also what is newest: users are warned of it."""
    when: Callable[[View, PassContext], bool] | None = None
    """Further condition; ignored in a manual folding."""

    def goal_in(self, budget: Budget, fixed: int) -> int:
        """Return the tokens of the goal, where `fixed` tokens cannot be folded."""
        return fixed + budget.without(fixed).at(self.goal) if self.of_free else budget.at(self.goal)

    @property
    def pass_name(self) -> str:
        """Name of the function that made the pass."""
        return str(getattr(self.propose, "__qualname__", "")).partition(".")[0]


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    rungs: tuple[Rung, ...]

    def starts_at(self, budget: Budget, *, quiet: bool = False) -> int:
        """Return the tokens at which the first rung runs; `quiet`: include rungs that run at every turn."""
        levels = (budget.at(rung.level) for rung in self.rungs if quiet or not rung.quiet)
        return min(levels, default=budget.at("over"))

    def cuts_at(self, budget: Budget) -> int:
        """Return the tokens from which on it cuts by force."""
        return min((budget.at(rung.level) for rung in self.rungs if rung.forced), default=budget.at("over"))
