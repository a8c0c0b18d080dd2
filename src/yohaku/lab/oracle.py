"""The baseline that knows the next reply: an upper bound for what whole steps and results can show."""

from __future__ import annotations

from yohaku.lab.baselines import BaselineInput, units_before
from yohaku.lab.entries import Entry
from yohaku.lab.recorded_session import Target, union


def oracle(given: BaselineInput, target: Target) -> list[Entry]:
    """Take the steps and whole results that hold most of what the next reply needs, per token.

    Results and old prompts not taken become one line. The space left goes to the newest steps, without results.
    """
    if sum(given.recorded.weights[: target.at]) <= given.limit:
        return given.recorded.entries[: target.at]
    pack = _Pack(given, target)
    wanted = [at for at in range(target.at) if at not in pack.full and target.all & given.recorded.seen[at]]
    while pack.missing and wanted:
        best = max(wanted, key=pack.worth)
        wanted.remove(best)
        if pack.worth(best):
            pack.take(best)
    for at in reversed(range(target.at)):
        if given.recorded.entries[at]["role"] == "assistant":
            pack.take(at)
    return pack.entries()


class _Pack:
    """A selection of entries that grows until the limit is reached."""

    def __init__(self, given: BaselineInput, target: Target) -> None:
        self.given, self.at = given, target.at
        units = units_before(given.recorded.entries, target.at)
        self.groups: dict[int, list[list[int]]] = {}
        """By entry: the prompt of its turn and its step. Each is selected whole or not at all."""
        for prompt, steps in zip(units.prompts, units.steps, strict=True):
            self.groups.update((at, [prompt]) for at in prompt)
            self.groups.update((at, [prompt, step]) for step in steps for at in step)
        self.full = {*units.system, *units.prompts[-1]}
        self.light: set[int] = set()
        self.room = given.limit - sum(given.weight(at) for at in self.full)
        self.missing = target.all - union(given.recorded.seen[at] for at in self.full)

    def cost(self, at: int) -> int:
        more = {other for group in self.groups[at] for other in group} - self.full - self.light - {at}
        own = self.given.weight(at) - (self._least(at) if at in self.light else 0)
        return own + sum(map(self._least, more))

    def _least(self, at: int) -> int:
        role = self.given.recorded.entries[at]["role"]
        return self.given.weight(at) if role == "assistant" else self.given.placeholder_weight(at)

    def worth(self, at: int) -> float:
        return len(self.missing & self.given.recorded.seen[at]) / max(1, self.cost(at))

    def take(self, at: int) -> None:
        cost = self.cost(at)
        if at in self.full or cost > self.room:
            return
        self.room -= cost
        for group in self.groups[at]:
            self.light.update(other for other in group if other not in self.full)
        self.light.discard(at)
        self.full.add(at)
        for other in [at, *self.light]:
            if other == at or self.given.recorded.entries[other]["role"] == "assistant":
                self.missing -= self.given.recorded.seen[other]

    def entries(self) -> list[Entry]:
        recorded = self.given.recorded.entries
        return [
            recorded[at] if at in self.full or self._least(at) == self.given.weight(at) else self.given.placeholder(at)
            for at in range(self.at)
            if at in self.full or at in self.light
        ]
