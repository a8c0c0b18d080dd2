"""Budget: the tokens a request may have, and levels of how full it is.

Law: every number is a function of the window, so the same code is right from 2K to 2M.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from yohaku.core.weigh import Ledger

Level: TypeAlias = Literal["calm", "warm", "hot", "full", "over"]

At: TypeAlias = "Level | float | Callable[[Budget], int]"
"""A number of tokens: the name of a level, a share of the limit, or a function of the budget."""

SHARES: dict[str, float] = {"calm": 0.0, "warm": 0.6, "hot": 0.8, "full": 0.9}


@dataclass(frozen=True, slots=True)
class Budget:
    window: int
    """Tokens the model can hold, prompt and reply together."""
    reserve: int
    """Tokens kept free for the reply."""

    def __post_init__(self) -> None:
        if self.window < 1:
            raise BadSetting(f"a window of {self.window:,} tokens: give a positive number", code="bad_window")
        if not 0 <= self.reserve < self.window:
            raise BadSetting(
                f"a reserve of {self.reserve:,} tokens in a window of {self.window:,}: "
                "give one from 0 to below the window",
                code="bad_reserve",
                reserve=self.reserve,
                window=self.window,
            )

    @classmethod
    def of(cls, window: int, reserve: int | None = None, output_limit: int | None = None) -> Budget:
        if reserve is None:
            reserve = max(0, min(output_limit or window, window // 8))
        return cls(window, reserve)

    @property
    def limit(self) -> int:
        """Tokens a request may have at most."""
        return self.window - self.reserve

    def without(self, tokens: int) -> Budget:
        """Return the budget of what is left beside so many tokens."""
        return Budget(max(self.reserve + 1, self.window - tokens), self.reserve)

    @property
    def margin(self) -> int:
        """Tokens left free for safety when deciding how much more may come in."""
        return self.window // 10

    def at(self, level: At) -> int:
        """Return the tokens at which a level begins."""
        if callable(level):
            return level(self)
        if level == "over":
            return self.limit + 1
        share = SHARES[level] if isinstance(level, str) else level
        return int(self.limit * share)

    def level(self, total: int) -> Level:
        if total > self.limit:
            return "over"
        names: tuple[Level, ...] = ("full", "hot", "warm")
        return next((name for name in names if total >= self.at(name)), "calm")

    def feasible(self, ledger: Ledger) -> bool:
        """Test whether anything is left for the conversation beside the system prompt and the tools."""
        return ledger.fixed <= self.limit

    def remaining(self, ledger: Ledger) -> int:
        return max(0, self.window - ledger.total - self.reserve - self.margin)

    def tool_output(self, ledger: Ledger) -> int:
        """Tokens that one tool may return now: not all that remain, as several tools may run in one step."""
        return int(self.remaining(ledger) * 0.6)
