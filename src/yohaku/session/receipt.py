"""Receipt of one folding for the user: tokens before and after, each fold with its reason, pieces that survived."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from yohaku.analysis.retention import RetentionCounts, count_retained, survey_retention
from yohaku.analysis.secret_formats import hide_formats
from yohaku.analysis.standing_rules import find_standing_rules
from yohaku.core.cache_break_even import CacheBreakEven
from yohaku.core.engine import Outcome
from yohaku.core.folds import Fold, Gist
from yohaku.core.model import ToolUse, Turn
from yohaku.core.verdict import LeftAlone, TooBig, Verdict
from yohaku.summary.request import BY_MODEL, WITHOUT_MODEL


@dataclass(frozen=True, slots=True)
class PieceCounts:
    """Pieces of the conversation: texts, calls, results, images."""

    kept: int
    """Shown unfolded."""
    by_ref: int
    """Hidden, and opened by a ref that is shown; the ref of a thought is shown to the user only."""
    lost: int = 0
    """Hidden with nothing to open them by. Folding never does this."""


MAX_COMPARED_CHARS = 20
"""Characters of the user's words that are looked for in a gist, which may show only their beginning."""


class SummaryOptions(NamedTuple):
    """Options of a planning that decide who writes a gist."""

    words: str = ""
    """The user's, about what to keep."""
    model: str = ""
    """Name of the model that writes summaries."""
    unasked: str = ""
    """Code of the reason, where no model is asked."""


class GistAuthor(NamedTuple):
    """Author of the gist of a folding: a model, or none and why."""

    model: str
    """Name of the model, "a model" if it has none; empty if it was made without one."""
    why: str
    """Code of the reason why it was made without a model (`why.without_model.<code>` of the messages)."""
    detail: str
    words: str
    """The user's words about what to keep."""
    heeded: bool = True
    """False if there were words, but no room for them in a gist without a model."""


@dataclass(frozen=True)
class Receipt:
    outcome: Outcome = field(repr=False)
    limit: int
    exact: bool
    """True if the numbers were counted, False if estimated."""
    meter: str
    billed: Callable[[int], int] = field(default=int, repr=False)
    """Converts a weight to the tokens the provider will bill, as learned from its reports."""
    reused: tuple[Fold, ...] = field(default=(), repr=False)
    """Folds made earlier, here or in another process, that this session shows for the first time."""
    whole: int = field(default=0, repr=False)
    """Weight of the conversation without any fold; 0 if no fold is reused."""
    held_by: str = field(default="", repr=False)
    """Field by which the body leaves earlier turns to the provider; they are in none of the numbers."""
    options: SummaryOptions = field(default=SummaryOptions(), repr=False)

    @property
    def verdict(self) -> Verdict:
        return self.outcome.verdict

    @property
    def before(self) -> int:
        return self.billed(self.outcome.before.total)

    @property
    def after(self) -> int:
        return self.billed(self.outcome.after.total)

    @property
    def unfolded(self) -> int:
        """Tokens of the conversation without any fold; `before` counts those folded earlier as they are shown."""
        return self.billed(self.whole) if self.reused else self.before

    @property
    def payback(self) -> CacheBreakEven | None:
        """Savings and costs of this folding; None if nothing was folded now."""
        return self.outcome.break_even

    @property
    def asks(self) -> int:
        return self.outcome.asks

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """Folds in the request, made now or earlier."""
        return self.outcome.view.shown_folds

    @property
    def author(self) -> GistAuthor | None:
        """Author of the gist that was made now; None if there is none, or if it only says what was left out."""
        gist = next((fold for fold in self.outcome.folds if isinstance(fold, Gist)), None)
        if gist is None:
            return None
        words, model, unasked = self.options
        if gist.why == BY_MODEL:
            return GistAuthor(model or "a model", "", "", words)
        code = gist.why.removeprefix(WITHOUT_MODEL) if gist.why.startswith(WITHOUT_MODEL) else unasked
        heeded = " ".join(words[:MAX_COMPARED_CHARS].split()) in " ".join(gist.text.split())
        return GistAuthor("", code, gist.detail, words, heeded) if code else None

    @cached_property
    def survived(self) -> PieceCounts:
        view = self.outcome.view
        hidden = _count_pieces(view.hidden(view.cut))
        folded = len({(stub.key, stub.slot.where, stub.slot.item) for stub in view.live})
        return PieceCounts(_count_pieces(view.visible()) - folded, hidden + folded)

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The user's rules that still hold, word for word."""
        return find_standing_rules(self.outcome.view.history.turns)

    @cached_property
    def facts(self) -> RetentionCounts:
        """Counts of the most important facts in what is hidden now: kept, by ref, lost."""
        return count_retained(survey_retention(self.outcome.view))

    def report(self) -> dict[str, Any]:
        """Return the receipt as JSON, for scripts."""
        report: dict[str, Any] = {
            "verdict": self.verdict.name,
            "before": self.before,
            "after": self.after,
            "limit": self.limit,
            "exact": self.exact,
            "meter": self.meter,
            "folds": [_build_fold_report(fold) for fold in self.folds],
            "asks": self.asks,
            "survived": {"kept": self.survived.kept, "by_ref": self.survived.by_ref, "lost": self.survived.lost},
        }
        if self.reused:
            report["reused"] = {"refs": [fold.ref for fold in self.reused], "unfolded": self.unfolded}
        if author := self.author:
            by, why = author.model or None, author.why or None
            report["summary"] = {"by": by, "without_model": why, "words": author.words, "heeded": author.heeded}
        if self.payback:
            steps = round(self.payback.steps, 1) if math.isfinite(self.payback.steps) else None
            report["payback"] = {"saved": self.payback.saved, "again": self.payback.again, "steps": steps}
        if isinstance(self.verdict, LeftAlone):
            over = self.verdict.over_limit
            report["left_alone"] = {"why": "server_state", "field": self.verdict.field, "over_limit": over}
        if isinstance(self.verdict, TooBig):
            report["too_big"] = {"what": self.verdict.what, "needs": self.verdict.needs}
        return report


def _build_fold_report(fold: Fold) -> dict[str, Any]:
    """Return a fold as JSON; a command that is named in it may hold a key, which has no place in a report."""
    row = {name: getattr(fold, name) for name in ("kind", "ref", "what", "before", "after", "why")}
    return {
        **row,
        "what": hide_formats(str(fold.what)),
        **({"detail": hide_formats(fold.detail)} if fold.detail else {}),
    }


def _count_pieces(turns: Iterable[Turn]) -> int:
    """Count the pieces; a call and its result are two, and folding parts of one of them folds one."""
    return sum(
        len(turn.prompt) + sum(2 if isinstance(item, ToolUse) else 1 for step in turn.steps for item in step.items)
        for turn in turns
    )
