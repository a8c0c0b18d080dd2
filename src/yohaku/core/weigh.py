"""Token counts of whole conversations, by what the tokens belong to.

Law: a weight is a sum over parts, so only what is added to a history has to be weighed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from yohaku.core.meter import Meter
from yohaku.core.model import History, Part, Step, Text, Tool, ToolUse, Turn, newest_step


@dataclass(frozen=True, slots=True)
class Ledger:
    """Token counts of one request."""

    system: int
    tools: int
    turns: int
    """Prompts, replies and results."""
    last: int
    """Results of the newest step, also counted in `turns`."""
    request: int

    @property
    def total(self) -> int:
        return self.request + self.system + self.tools + self.turns

    @property
    def fixed(self) -> int:
        """Tokens that cannot be folded."""
        return self.request + self.system + self.tools


class Weigher:
    """Counter of tokens of whole values by a meter; remembers the steps it has weighed."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.frame = meter.frame
        self.reply = meter.frame.message if meter.frame.reply is None else meter.frame.reply
        self._known: dict[int, tuple[Step, int]] = {}
        """Steps with their weights, by id; the reference to the step keeps its id from being used again."""

    def ledger(self, shown: History) -> Ledger:
        newest = newest_step(shown.turns)
        return Ledger(
            system=self.entries(shown.system),
            tools=self.tools(shown.tools, shown.forced),
            turns=self.turns(shown.turns),
            last=self.results(newest) if newest else 0,
            request=self.frame.request,
        )

    def tools(self, tools: tuple[Tool, ...], forced: bool = False) -> int:
        if not tools:
            return 0
        texts = [self.frame.describe(tool.definition) for tool in tools]
        definitions = sum(math.ceil(self.frame.definition * self.meter.count(text)) for text in texts)
        return self.frame.tools + self.frame.forced * forced + self.frame.tool * len(tools) + definitions

    def turns(self, turns: Iterable[Turn]) -> int:
        return sum(map(self.turn, turns))

    def turn(self, turn: Turn) -> int:
        return self.entries(turn.prompt) + sum(map(self.step, turn.steps))

    def step(self, step: Step) -> int:
        known = self._known.get(id(step))
        if known:
            return known[1]
        entries = set()
        total = 0
        for item in step.solid if self.frame.forgets and not step.uses else step.items:
            if isinstance(item, ToolUse):
                if not self.frame.apart:
                    entries.add(item.call.at[:1])
                total += self.use(item)
            else:
                entries.add(item.at[:1])
                total += self.part(item)
        total += self.reply * len(entries)
        if self.frame.parallel and len(step.uses) > 1:
            total += self.frame.parallel * len(step.uses)
        self._known[id(step)] = step, total
        return total

    def results(self, step: Step) -> int:
        return sum(self.parts(use.result.parts) for use in step.uses)

    def use(self, use: ToolUse) -> int:
        call = sum(map(self.meter.count, self.frame.invoke(use.call.name, use.call.arguments)))
        return self.frame.call + call + self.frame.result + self.parts(use.result.parts)

    def entries(self, parts: tuple[Part, ...]) -> int:
        """Return the tokens of parts with the overhead of their entries; parts of one entry share it."""
        return self.parts(parts) + sum(map(self.opening, (None, *parts), parts))

    def opening(self, before: Part | None, part: Part) -> int:
        """Return the overhead a part adds: that of its entry, or less if the part before it has the same entry."""
        together = before is not None and bool(part.at) and before.at[:1] == part.at[:1]
        alike = isinstance(before, Text) and isinstance(part, Text) and (together or before.by == part.by == "")
        if alike and self.frame.joint is not None:
            return self.frame.joint
        if together:
            return 0
        return self.frame.system if part.at and isinstance(part.at[0], str) else self.frame.message

    def parts(self, parts: Iterable[Part]) -> int:
        return sum(map(self.part, parts))

    def part(self, part: Part) -> int:
        return self.meter.count(part.text) if isinstance(part, Text) else self.meter.weigh(part)


def weigh(shown: History, meter: Meter) -> Ledger:
    return Weigher(meter).ledger(shown)
