"""What a control works on: a session as units that may be dropped whole, and shorter forms of its results.

Law: a step goes with all its results, and an old prompt not before its steps: what is left is well formed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from yohaku.core.meter import Meter
from yohaku.lab.entries import Entry
from yohaku.lab.recorded_session import RecordedSession

GONE = "[removed to save room]"


@dataclass
class BaselineInput:
    """What a control may know: the session, where it stands, and what things weigh."""

    recorded: RecordedSession
    meter: Meter
    limit: int
    """Of the entries, without what the request itself costs."""
    _cut: dict[tuple[str, int], str] = field(default_factory=dict)
    _placeholders: dict[int, Entry] = field(default_factory=dict)
    _placeholder_weight: int = 0

    def __post_init__(self) -> None:
        self._placeholder_weight = self.meter.count(GONE) + max(self.meter.frame.result, self.meter.frame.message)

    def weight(self, at: int) -> int:
        return self.recorded.weights[at]

    def placeholder(self, at: int) -> Entry:
        if at not in self._placeholders:
            self._placeholders[at] = {**self.recorded.entries[at], "content": GONE}
        return self._placeholders[at]

    def placeholder_weight(self, at: int) -> int:
        return min(self._placeholder_weight, self.weight(at))

    def capped(self, at: int, cap: int) -> Entry:
        """A result with its middle cut out, so that it takes about `cap` tokens at most."""
        entry = self.recorded.entries[at]
        tokens = self.weight(at) - self.meter.frame.result
        text = entry["content"]
        if tokens <= cap or not isinstance(text, str):
            return entry
        if (text, cap) not in self._cut:
            keep = max(0, int(len(text) * (cap - 4) / tokens))
            for _ in range(6):
                shown = f"{text[: keep // 2]}\n[…]\n{text[len(text) - (keep - keep // 2) :]}" if keep else GONE
                if self.meter.count(shown) <= cap:
                    break
                keep = int(keep * 0.85)
            self._cut[text, cap] = shown
        return {**entry, "content": self._cut[text, cap]}


@dataclass
class Units:
    """The entries before a target as what may be dropped whole: old prompts, and steps with their results."""

    system: list[int]
    prompts: list[list[int]]
    """Of each turn; the newest is last."""
    steps: list[list[list[int]]]
    """Of each turn."""


def units_before(entries: list[Entry], at: int) -> Units:
    units = Units([], [[]], [[]])
    for index in range(at):
        match entries[index]["role"]:
            case "system" if units.prompts == [[]] and units.steps == [[]]:
                units.system.append(index)
            case "assistant":
                units.steps[-1].append([index])
            case "tool":
                units.steps[-1][-1].append(index)
            case _:
                if units.steps[-1]:
                    units.prompts.append([])
                    units.steps.append([])
                units.prompts[-1].append(index)
    return units


def behind(units: Units) -> list[list[int]]:
    """What may still go when only the newest step is left: older prompts, then that step, with its own if it is old."""
    owner = max((turn for turn, steps in enumerate(units.steps) if steps), default=-1)
    if owner < 0:
        return units.prompts[:-1]
    newest = units.steps[owner][-1]
    return [*units.prompts[:owner], newest + (units.prompts[owner] if owner < len(units.prompts) - 1 else [])]
