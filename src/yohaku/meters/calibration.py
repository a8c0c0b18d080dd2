"""Our counts, calibrated by the usage that the provider reports.

Law: where the provider has reported a prompt's tokens, only what was added since is estimated. A `Calibration` is a
value: learning returns a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

OLD_WEIGHT = 0.9
"""Weight of earlier reports at each new one."""
MIN_RATIO, MAX_RATIO = 0.5, 3.0
"""Bounds of the ratio; beyond them something else is wrong."""
MAX_HIDDEN = 2000
"""Tokens a provider may plausibly add itself (a tool prompt, a system text); a larger first gap means a wrong ratio."""
START_TOKENS = 2000.0
"""Weight of earlier conversations beside the reports of this one."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One report, kept to be shown: the meter's count, our prediction, the reported tokens."""

    weight: int
    said: int
    reported: int
    heeded: bool = True
    """False where the report is too low to be used: a server that cuts the prompt reports the cut one."""

    @property
    def share(self) -> float:
        """Share of the reported tokens; over 0 where our prediction was too low."""
        return (self.reported - self.said) / self.reported if self.reported else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    true: float = 0.0
    """Tokens reported for what was added between reports, older ones fading."""
    weighed: float = 0.0
    """The meter's count for the same."""
    anchor: tuple[int, int] | None = None
    """The last report: the meter's count, and the reported tokens."""
    last: Gap | None = None
    lessons: int = 0
    added: int = 0
    """Tokens that the provider added in earlier conversations, until this one has a report."""

    @classmethod
    def starting(cls, ratio: float, added: int = 0) -> Calibration:
        """Return a calibration from what earlier conversations with the model taught."""
        return cls(true=ratio * START_TOKENS, weighed=START_TOKENS, added=added) if ratio != 1 else cls(added=added)

    @property
    def neutral(self) -> bool:
        """True where nothing has been learned: a prompt is predicted with what it weighs."""
        return not (self.lessons or self.weighed or self.added)

    @property
    def ratio(self) -> float:
        """Reported tokens per weighed one."""
        if self.weighed:
            return clamp(self.true / self.weighed)
        if self.anchor and abs(self.anchor[1] - self.anchor[0]) > MAX_HIDDEN:
            return clamp(self.anchor[1] / max(1, self.anchor[0]))
        return 1.0

    @property
    def hidden(self) -> int:
        """Tokens the provider adds that the meter does not see."""
        if self.anchor is None:
            return self.added
        return min(MAX_HIDDEN, max(-MAX_HIDDEN, round(self.anchor[1] - self.ratio * self.anchor[0])))

    def total(self, weight: int) -> int:
        """Predict the reported tokens of a prompt that weighs this much. One lighter than the last has been folded."""
        if self.anchor and weight >= self.anchor[0]:
            return self.anchor[1] + ceil(self.ratio * (weight - self.anchor[0]))
        return max(0, ceil(self.ratio * weight) + self.hidden)

    def weight(self, total: int) -> int:
        """Return the most a prompt may weigh to be reported with at most `total` tokens."""
        if self.anchor and total >= self.anchor[1]:
            return self.anchor[0] + int((total - self.anchor[1]) / self.ratio)
        most = int((total - self.hidden) / self.ratio)
        return max(0, min(most, self.anchor[0] - 1) if self.anchor else most)

    def learn(self, weight: int, reported: int) -> Calibration:
        """Return the calibration after a prompt that weighed `weight` was reported with `reported` tokens."""
        said = self.total(weight)
        if reported <= 0 or reported < 0.5 * weight:
            return replace(self, last=Gap(weight, said, reported, heeded=False))
        lesson = replace(
            self, anchor=(weight, reported), last=Gap(weight, said, reported), lessons=self.lessons + 1
        )  # fmt: skip
        if self.anchor is None or weight <= self.anchor[0] or reported <= self.anchor[1]:
            return lesson
        added, billed = weight - self.anchor[0], reported - self.anchor[1]
        return replace(lesson, true=OLD_WEIGHT * self.true + billed, weighed=OLD_WEIGHT * self.weighed + added)


def clamp(ratio: float) -> float:
    return min(MAX_RATIO, max(MIN_RATIO, ratio))
