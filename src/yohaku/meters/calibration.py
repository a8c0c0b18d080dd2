"""What the provider's own numbers teach about ours.

Law: where the provider has reported a prompt's tokens, only what was added since is estimated. A Scale is a value:
learning gives a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

KEEP = 0.9
"""Of what was learned before, at each new lesson."""
LOW, HIGH = 0.5, 3.0
"""Bounds of the ratio; beyond them the lesson is about something else."""
HIDDEN = 2000
"""Tokens a provider may plausibly add unseen (a tool prompt, a system text); a larger first gap is a wrong ratio."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One lesson, kept to be shown: what the meter weighed, what we said, what was billed."""

    weight: int
    said: int
    reported: int
    heeded: bool = True
    """False when the report was too low to believe: a server that cuts the prompt reports the cut one."""

    @property
    def share(self) -> float:
        """Of the reported tokens; over 0 when we said too little."""
        return (self.reported - self.said) / self.reported if self.reported else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    true: float = 0.0
    """Tokens reported for what was added between reports, older ones fading."""
    weighed: float = 0.0
    """What the meter weighed for the same."""
    anchor: tuple[int, int] | None = None
    """The last report: what the meter weighed, and what was reported."""
    last: Gap | None = None
    lessons: int = 0

    @property
    def ratio(self) -> float:
        """Reported tokens per weighed one."""
        if self.weighed:
            return clamp(self.true / self.weighed)
        if self.anchor and abs(self.anchor[1] - self.anchor[0]) > HIDDEN:
            return clamp(self.anchor[1] / max(1, self.anchor[0]))
        return 1.0

    @property
    def hidden(self) -> int:
        """Tokens the provider adds that the meter does not see."""
        if self.anchor is None:
            return 0
        return min(HIDDEN, max(-HIDDEN, round(self.anchor[1] - self.ratio * self.anchor[0])))

    def total(self, weight: int) -> int:
        """The tokens a prompt of this weight will be billed. One lighter than the last report has been folded."""
        if self.anchor and weight >= self.anchor[0]:
            return self.anchor[1] + ceil(self.ratio * (weight - self.anchor[0]))
        return max(0, ceil(self.ratio * weight) + self.hidden)

    def weight(self, total: int) -> int:
        """The most a prompt may weigh for a bill of at most `total`."""
        if self.anchor and total >= self.anchor[1]:
            return self.anchor[0] + int((total - self.anchor[1]) / self.ratio)
        most = int((total - self.hidden) / self.ratio)
        return max(0, min(most, self.anchor[0] - 1) if self.anchor else most)

    def learn(self, weight: int, reported: int) -> Calibration:
        """After a reply: the meter weighed its prompt so much, the provider reported so many tokens."""
        said = self.total(weight)
        if reported <= 0 or reported < 0.5 * weight:
            return replace(self, last=Gap(weight, said, reported, heeded=False))
        lesson = replace(
            self, anchor=(weight, reported), last=Gap(weight, said, reported), lessons=self.lessons + 1
        )  # fmt: skip
        if self.anchor is None or weight <= self.anchor[0] or reported <= self.anchor[1]:
            return lesson
        added, billed = weight - self.anchor[0], reported - self.anchor[1]
        return replace(lesson, true=KEEP * self.true + billed, weighed=KEEP * self.weighed + added)


def clamp(ratio: float) -> float:
    return min(HIGH, max(LOW, ratio))
