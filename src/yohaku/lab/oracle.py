"""The control that knows what comes next: how much of it could be shown at all, in steps and whole results."""

from __future__ import annotations

from yohaku.lab.baseline_input import BaselineInput, units_before
from yohaku.lab.entries import Entry
from yohaku.lab.recorded_session import Target, union


def oracle(bench: BaselineInput, target: Target) -> list[Entry]:
    """Knows what the next reply needs: takes the steps, and whole results, that hold most of it per token.

    Results and old prompts not taken become one line; what room is left goes to the newest steps without results.
    """
    if sum(bench.recorded.weights[: target.at]) <= bench.limit:
        return bench.recorded.entries[: target.at]
    pack = _Pack(bench, target)
    wanted = [at for at in range(target.at) if at not in pack.full and target.all & bench.recorded.seen[at]]
    while pack.missing and wanted:
        best = max(wanted, key=pack.worth)
        wanted.remove(best)
        if pack.worth(best):
            pack.take(best)
    for at in reversed(range(target.at)):
        if bench.recorded.entries[at]["role"] == "assistant":
            pack.take(at)
    return pack.entries()


class _Pack:
    """A selection of entries that grows while there is room."""

    def __init__(self, bench: BaselineInput, target: Target) -> None:
        self.bench, self.at = bench, target.at
        units = units_before(bench.recorded.entries, target.at)
        self.groups: dict[int, list[list[int]]] = {}
        """By entry: its step, and the prompt of its turn. Whichever of them is there, all of it is."""
        for prompt, steps in zip(units.prompts, units.steps, strict=True):
            self.groups.update((at, [prompt]) for at in prompt)
            self.groups.update((at, [prompt, step]) for step in steps for at in step)
        self.full = {*units.system, *units.prompts[-1]}
        self.light: set[int] = set()
        self.room = bench.limit - sum(bench.weight(at) for at in self.full)
        self.missing = target.all - union(bench.recorded.seen[at] for at in self.full)

    def cost(self, at: int) -> int:
        more = {other for group in self.groups[at] for other in group} - self.full - self.light - {at}
        own = self.bench.weight(at) - (self._least(at) if at in self.light else 0)
        return own + sum(map(self._least, more))

    def _least(self, at: int) -> int:
        role = self.bench.recorded.entries[at]["role"]
        return self.bench.weight(at) if role == "assistant" else self.bench.placeholder_weight(at)

    def worth(self, at: int) -> float:
        return len(self.missing & self.bench.recorded.seen[at]) / max(1, self.cost(at))

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
            if other == at or self.bench.recorded.entries[other]["role"] == "assistant":
                self.missing -= self.bench.recorded.seen[other]

    def entries(self) -> list[Entry]:
        recorded = self.bench.recorded.entries
        return [
            recorded[at] if at in self.full or self._least(at) == self.bench.weight(at) else self.bench.placeholder(at)
            for at in range(self.at)
            if at in self.full or at in self.light
        ]
